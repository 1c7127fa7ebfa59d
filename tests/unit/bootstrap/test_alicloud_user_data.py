"""What a node on Alibaba Cloud is told to set up."""

import base64
import json
from typing import Any

import pytest

from gpuyard.bootstrap.alicloud import NfsMount, NodeSetup, node_files, user_data
from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.user_data import ARCHIVE
from gpuyard.planning.plans import SoftwarePlan

from .conftest import EVERYWHERE, WITH_PROGRAMS

FULL = NodeSetup(
    pool="ali-train",
    region="cn-beijing",
    rdma="erdma",
    jumbo_frames=True,
    data_disk=True,
    file_system=NfsMount("cpfs-1-2.cn-beijing.cpfs.aliyuncs.com", "/share"),
    software=SoftwarePlan(
        driver_minimum="525.60.13",
        driver_reason="PyTorch 2.8",
        fabric_manager=True,
        containers=True,
        container_images=("ghcr.io/llm/train:1",),
        jupyter=True,
        gpu_clocks="highest",
        huge_pages_gib=16,
    ),
    scratch=True,
    spot=True,
    nccl={"NCCL_IB_GID_INDEX": "1"},
    programs="oss://bucket/gpuyard-node/ali-train/1.tar.gz.b64",
    checkpoint_uri="oss://bucket/checkpoints",
    scaling_group="asg-1",
    launch_hook="ali-train-healthy",
    hook="ali-train-checkpoint",
    checkpoint_seconds=120,
)
LEAST = NodeSetup(pool="p", region="cn-beijing", own_image=True)


def parts(setup: NodeSetup) -> list[str]:
    return sorted(path.rsplit("/", 1)[1] for path in node_files(setup) if "/parts/" in path)


def environment(setup: NodeSetup) -> dict[str, str]:
    lines = node_files(setup)["/etc/gpuyard/node.env"].content.splitlines()
    return dict(line.split("=", 1) for line in lines if line.startswith("GPUYARD_"))


def test_user_data_is_plain_cloud_config_in_base64():
    text = base64.b64decode(user_data(FULL)).decode()
    assert text.startswith("#cloud-config\n")
    config: Any = json.loads(text.split("\n", 1)[1])
    written = {one["path"] for one in config["write_files"]}
    assert written - {ARCHIVE} == {path for path in node_files(FULL) if not path.startswith("/opt/")}


def test_the_largest_user_data_fits():
    assert len(base64.b64decode(user_data(FULL))) < 32_768


def test_user_data_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="user data of p has .* bytes, and the cloud takes 32768"):
        user_data(NodeSetup(pool="p", region="cn-beijing", checkpoint_uri="oss://" + "x" * 33_000))


def test_a_node_has_only_the_parts_that_it_needs():
    assert parts(LEAST) == sorted([*EVERYWHERE, "05-gpu-driver.sh", "50-monitoring.sh"])
    own = ["01-object-storage.sh", "05-gpu-driver.sh", "30-erdma.sh", "40-mount-nfs.sh", "50-monitoring.sh"]
    shared = ["06-fabric-manager.sh", "09-containers.sh", "10-scratch.sh", "20-data-disk.sh", "55-jupyter.sh"]
    assert parts(FULL) == sorted([*EVERYWHERE, *WITH_PROGRAMS, *own, *shared, "60-images.sh"])
    assert "30-roce.sh" in parts(NodeSetup(pool="p", region="cn-beijing", rdma="roce"))


@pytest.mark.parametrize(("jumbo", "mtu"), [(True, "8500"), (False, "1400")])
def test_erdma_has_the_mtu_that_ll128_needs(jumbo: bool, mtu: str):
    assert environment(NodeSetup(pool="p", region="cn-beijing", rdma="erdma", jumbo_frames=jumbo))["GPUYARD_MTU"] == mtu


def test_jobs_are_told_where_things_are():
    found = environment(FULL)
    assert found["GPUYARD_CHECKPOINT_URI"] == "oss://bucket/checkpoints"
    assert (found["GPUYARD_DATA"], found["GPUYARD_FILE_SYSTEM"]) == ("/data", "/shared")
    assert (found["GPUYARD_SCALING_GROUP"], found["GPUYARD_CHECKPOINT_SECONDS"]) == ("asg-1", "120")
    assert (found["GPUYARD_DRIVER_VERSION"], found["GPUYARD_CUDA_VERSION"]) == ("570.133.20", "12.8.1")


def test_an_image_of_ones_own_brings_its_driver_which_is_looked_at():
    vendor = node_files(NodeSetup(pool="p", region="cn-beijing"))["/opt/gpuyard/parts/05-gpu-driver.sh"].content
    own = node_files(LEAST)["/opt/gpuyard/parts/05-gpu-driver.sh"].content
    assert "GPUYARD_DRIVER_SCRIPT" in vendor
    assert "GPUYARD_DRIVER_SCRIPT" not in own
    for script in (vendor, own):
        assert "\ncheck_driver\n" in script


def test_programs_come_with_what_fetches_them_and_what_they_are_told():
    found = environment(FULL)
    assert found["GPUYARD_PROGRAMS"] == "oss://bucket/gpuyard-node/ali-train/1.tar.gz.b64"
    assert found["GPUYARD_PROGRAMS_SHA256"] == node_programs().sha256
    assert (found["GPUYARD_OSSUTIL_VERSION"], found["GPUYARD_ALIYUN_VERSION"]) == ("2.2.1", "3.3.23")
    assert {len(found[f"GPUYARD_{name}_SHA256"]) for name in ("OSSUTIL", "ALIYUN")} == {64}
    assert (found["GPUYARD_LAUNCH_HOOK"], found["GPUYARD_HOOK"]) == ("ali-train-healthy", "ali-train-checkpoint")
    assert "GPUYARD_HEALTH_TAG" not in found
    assert found["GPUYARD_CUDA_ARCHIVE"] == "http://mirrors.cloud.aliyuncs.com/nvidia-cuda"


def test_a_node_that_nobody_waits_for_tags_itself():
    single = NodeSetup(pool="p", region="cn-beijing", programs="oss://b/p", health_tag=True)
    assert environment(single)["GPUYARD_HEALTH_TAG"] == "1"
    # Nothing that could do it is on a node without programs.
    words = ("PROGRAMS", "OSSUTIL", "ALIYUN", "HEALTH_TAG", "HOOK", "CUDA_ARCHIVE")
    bare = environment(NodeSetup(pool="p", region="cn-beijing", health_tag=True))
    assert not [name for name in bare if any(word in name for word in words)]
