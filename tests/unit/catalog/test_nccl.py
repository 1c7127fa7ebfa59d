"""What NCCL is told on each fabric."""

from typing import get_args

import pytest

from gpuyard.catalog import instance_types
from gpuyard.catalog.instance_types import CLOUDS_WITH_TYPES
from gpuyard.catalog.nccl import NcclRule, nccl_environment, nccl_variables

FABRICS = sorted(
    {(row.cloud, row.rdma) for cloud in CLOUDS_WITH_TYPES for row in instance_types(cloud).values() if row.has_rdma}
)


@pytest.mark.parametrize(("cloud", "fabric"), FABRICS)
def test_every_fabric_of_the_catalog_has_its_rows(cloud: str, fabric: str) -> None:
    rows = nccl_variables(cloud, fabric)
    assert rows
    assert len({row.variable for row in rows}) == len(rows)
    for row in rows:
        assert row.rule in get_args(NcclRule)
        assert (row.value is not None) is (row.rule == "set"), row
        assert row.variable.startswith(("NCCL_", "FI_"))
        assert row.value is None or row.value.strip() == row.value != ""


def test_efa_is_left_to_its_plugin() -> None:
    # https://github.com/aws/aws-ofi-nccl/blob/master/doc/efa-env-var.md: from plugin 1.7 and libfabric 1.18 on.
    assert nccl_environment("aws", "efa") == {"NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
    left = {row.variable for row in nccl_variables("aws", "efa") if row.rule == "leave_out"}
    assert {"FI_PROVIDER", "FI_EFA_USE_DEVICE_RDMA", "NCCL_PROTO"} <= left


def test_erdma_is_set_as_its_cloud_sets_it() -> None:
    assert nccl_environment("alicloud", "erdma") == {
        "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_IB_GID_INDEX": "1",
        "NCCL_IB_HCA": "erdma",
        "NCCL_IB_QPS_PER_CONNECTION": "8",
        "NCCL_MIN_NCHANNELS": "16",
        "NCCL_NET_PLUGIN": "none",
    }


def test_roce_of_tencent_cloud_asks_the_node_for_its_interface() -> None:
    environment = nccl_environment("tencentcloud", "roce")
    assert environment == {"NCCL_IB_DISABLE": "0", "NCCL_IB_GID_INDEX": "3", "NCCL_NET_GDR_LEVEL": "2"}
    asked = [row.variable for row in nccl_variables("tencentcloud", "roce") if row.rule == "ask_node"]
    assert asked == ["NCCL_SOCKET_IFNAME"]


@pytest.mark.parametrize(
    ("cloud", "fabric"), [("alicloud", "roce"), ("aws", "none"), ("aws", None), ("aws", "erdma"), ("azure", "efa")]
)
def test_where_nothing_is_documented_nothing_is_set(cloud: str, fabric: str | None) -> None:
    assert nccl_environment(cloud, fabric) == {}
