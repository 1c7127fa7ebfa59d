"""What reaches a node on Tencent Cloud: programs before it boots, what its gate asks, and how it tells the answer."""

import base64
import hashlib
import io
import json
import tarfile
from typing import Any

import pytest

from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.user_data import ARCHIVE

from ..recorder import Registered, Rendered
from .helpers import NVLINK, RDMA, SPOT, failures, of_type, rendered, written

WITH_BUCKET: dict[str, Any] = {"checkpoints": {"keep_days": 14}}
POOLS: dict[str, dict[str, Any]] = {"rdma": RDMA, "nvlink": NVLINK, "spot": SPOT}
LARGEST = 16_384


def nodes_of(found: Rendered) -> list[Registered]:
    return [one for one in found if "userData" in one.inputs]


def files_of(found: Rendered) -> dict[str, str]:
    """The files that the pool's nodes get."""
    files = written(nodes_of(found)[0].inputs["userData"])
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(files.pop(ARCHIVE)))) as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None
            files[f"/{member.name}"] = content.read().decode()
    return files


def env_of(found: Rendered) -> dict[str, str]:
    lines = files_of(found)["/etc/gpuyard/node.env"].splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("pool", POOLS)
def test_programs_of_nodes_are_in_the_bucket_before_the_first_node_boots(pool: str):
    found = rendered(POOLS[pool], WITH_BUCKET)
    (made,) = found.all("BucketObject")
    env = env_of(found)
    assert env["GPUYARD_PROGRAMS"] == f"cos://{made.inputs['bucket']}/{made.inputs['key']}"
    assert made.inputs["key"].endswith(".tar.gz.b64")
    content = base64.b64decode(made.inputs["content"], validate=True)
    assert hashlib.sha256(content).hexdigest() == env["GPUYARD_PROGRAMS_SHA256"] == node_programs().sha256
    for node in nodes_of(found):
        assert made.name in node.depends_on
        assert len(node.inputs["userData"]) <= LARGEST
    assert failures(found) == []


@pytest.mark.parametrize("pool", POOLS)
def test_only_a_machine_that_nobody_waits_for_tells_its_health_by_a_tag(pool: str):
    found = rendered(POOLS[pool], WITH_BUCKET)
    single = pool != "spot"
    assert ("GPUYARD_HEALTH_TAG" in env_of(found)) is single
    assert any("tag:TagResources" in one["document"] for one in of_type(found, "Cam/policy")) is single
    assert bool(of_type(found, "As/lifecycleHook")) is not single


def test_without_a_bucket_there_are_neither_programs_nor_a_gate():
    found = rendered(NVLINK)
    assert of_type(found, "Cos/bucketObject") == []
    assert not {"/etc/gpuyard/expected.json", "/opt/gpuyard/parts/90-health.sh"} & set(files_of(found))
    assert not {"GPUYARD_PROGRAMS", "GPUYARD_HEALTH_TAG", "GPUYARD_COSCLI_VERSION"} & set(env_of(found))


def test_the_gate_asks_for_the_gpus_and_the_fabric_of_the_pool():
    train, spot = (
        json.loads(files_of(rendered(pool, WITH_BUCKET))["/etc/gpuyard/expected.json"]) for pool in (RDMA, SPOT)
    )
    assert (train["gpu"]["count"], train["rdma"]["kind"]) == (8, "roce")
    assert (spot["gpu"]["words"], spot["rdma"]) == (["A10"], None)


def test_nccl_is_told_of_the_fabric_by_a_file_and_only_where_there_is_one():
    assert "NCCL_IB_GID_INDEX=" in files_of(rendered(RDMA, WITH_BUCKET))["/etc/nccl.conf"]
    assert "NCCL_IB" not in files_of(rendered(SPOT, WITH_BUCKET)).get("/etc/nccl.conf", "")


def test_no_user_data_holds_a_secret():
    for pool in POOLS.values():
        text = "".join(files_of(rendered(pool, WITH_BUCKET)).values()).lower()
        assert not [word for word in ("secretkey:", "secret_key=", "secret-key") if word in text]
