"""What a node on Alibaba Cloud is told to set up."""

import base64
import json
from typing import Any

import pytest

from gpuyard.bootstrap.alicloud import NfsMount, NodeSetup, node_files, user_data

FULL = NodeSetup(
    pool="ali-train",
    region="cn-beijing",
    rdma="erdma",
    jumbo_frames=True,
    data_disk=True,
    file_system=NfsMount("cpfs-1-2.cn-beijing.cpfs.aliyuncs.com", "/share"),
    checkpoint_uri="oss://bucket/checkpoints",
    scaling_group="asg-1",
    checkpoint_seconds=120,
)
LEAST = NodeSetup("p", "cn-beijing", own_image=True)


def parts(setup: NodeSetup) -> list[str]:
    return sorted(path.rsplit("/", 1)[1] for path in node_files(setup) if "/parts/" in path)


def environment(setup: NodeSetup) -> dict[str, str]:
    lines = node_files(setup)["/etc/gpuyard/node.env"].content.splitlines()
    return dict(line.split("=", 1) for line in lines if line.startswith("GPUYARD_"))


def test_user_data_is_plain_cloud_config_in_base64():
    text = base64.b64decode(user_data(FULL)).decode()
    assert text.startswith("#cloud-config\n")
    config: Any = json.loads(text.split("\n", 1)[1])
    assert {one["path"] for one in config["write_files"]} == set(node_files(FULL))


def test_the_largest_user_data_fits():
    assert len(base64.b64decode(user_data(FULL))) < 32_768


def test_user_data_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="user data of p has .* bytes, and the cloud takes 32768"):
        user_data(NodeSetup("p", "cn-beijing", checkpoint_uri="oss://" + "x" * 33_000))


def test_a_node_has_only_the_parts_that_it_needs():
    assert parts(LEAST) == ["50-monitoring.sh"]
    assert parts(FULL) == ["10-driver.sh", "20-data-disk.sh", "30-erdma.sh", "40-mount-nfs.sh", "50-monitoring.sh"]
    assert "30-roce.sh" in parts(NodeSetup("p", "cn-beijing", rdma="roce"))


@pytest.mark.parametrize(("jumbo", "mtu"), [(True, "8500"), (False, "1400")])
def test_erdma_has_the_mtu_that_ll128_needs(jumbo: bool, mtu: str):
    assert environment(NodeSetup("p", "cn-beijing", rdma="erdma", jumbo_frames=jumbo))["GPUYARD_MTU"] == mtu


@pytest.mark.parametrize("rdma", ["roce", None])
def test_without_erdma_neither_mtu_nor_nccl_is_set(rdma: str | None):
    setup = NodeSetup("p", "cn-beijing", rdma=rdma)
    assert "GPUYARD_MTU" not in environment(setup)
    assert "/etc/nccl.conf" not in node_files(setup)


def test_nccl_is_told_of_erdma():
    lines = node_files(FULL)["/etc/nccl.conf"].content.splitlines()
    assert {"NCCL_IB_HCA=erdma", "NCCL_IB_GID_INDEX=1", "NCCL_SOCKET_IFNAME=eth0"} <= set(lines)
    # Bulk traffic over PCIe may damage data on these machines: NVLink stays on.
    assert not any("P2P_DISABLE" in line for line in lines)


def test_jobs_are_told_where_things_are():
    found = environment(FULL)
    assert found["GPUYARD_CHECKPOINT_URI"] == "oss://bucket/checkpoints"
    assert (found["GPUYARD_DATA"], found["GPUYARD_FILE_SYSTEM"]) == ("/data", "/shared")
    assert (found["GPUYARD_SCALING_GROUP"], found["GPUYARD_CHECKPOINT_SECONDS"]) == ("asg-1", "120")
    assert (found["GPUYARD_DRIVER_VERSION"], found["GPUYARD_CUDA_VERSION"]) == ("570.133.20", "12.8.1")


def test_only_a_scaled_node_can_release_itself():
    assert "/opt/gpuyard/release-node.sh" in node_files(FULL)
    assert "/opt/gpuyard/release-node.sh" not in node_files(LEAST)
    assert not {"GPUYARD_SCALING_GROUP", "GPUYARD_CHECKPOINT_SECONDS"} & set(environment(LEAST))
