"""What a node on Tencent Cloud gets as user data: whole, small, readable by cloud-init, and without a secret."""

import base64
import gzip
from pathlib import Path

from ruamel.yaml import YAML

from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.tencentcloud import NodeSetup, TurboMount, hook_command, node_files, user_data
from gpuyard.bootstrap.user_data import cloud_config
from gpuyard.planning.plans import SoftwarePlan

from .conftest import EVERYWHERE, WITH_PROGRAMS

LEAST = NodeSetup(pool="serve", region="ap-beijing")
EVERYTHING = NodeSetup(
    pool="train",
    region="ap-beijing",
    software=SoftwarePlan(driver_branch="580", driver_minimum="450", fabric_manager=True),
    rdma=True,
    scratch=True,
    data_disk=True,
    file_system=TurboMount("10.64.0.7", "d3dcc487/cfs"),
    programs="cos://llm-checkpoints-1250000000/gpuyard-node/train/1.tar.gz.b64",
    health_tag=True,
    nccl={"NCCL_IB_GID_INDEX": "3"},
    checkpoint_bucket="llm-checkpoints-1250000000",
    checkpoint_prefix="checkpoints",
    spot=True,
)
# PyPI tencentcloud_iac_pulumi 0.2.3, docstring of instance.Instance.user_data: base64, up to 16 KB.
LIMIT_BYTES = 16 * 1024


def parts(setup: NodeSetup) -> list[str]:
    return sorted(Path(path).name for path in node_files(setup) if path.startswith("/opt/gpuyard/parts/"))


def test_br_107_user_data_is_under_the_limit_in_base64_and_the_same_for_the_same_setup() -> None:
    packed = user_data(EVERYTHING)
    assert len(packed) < LIMIT_BYTES * 3 / 4
    assert packed == user_data(EVERYTHING)
    assert gzip.decompress(base64.b64decode(packed)).decode() == cloud_config(node_files(EVERYTHING))


def test_cloud_init_reads_it_as_yaml() -> None:
    text = cloud_config(node_files(EVERYTHING))
    assert text.startswith("#cloud-config\n")
    written = {one["path"]: one for one in YAML(typ="safe").load(text)["write_files"]}
    assert written["/etc/gpuyard/node.env"]["permissions"] == "0644"


def test_a_node_gets_the_parts_it_has_and_no_others() -> None:
    assert parts(LEAST) == sorted([*EVERYWHERE, "05-gpu-driver.sh", "50-monitoring.sh"])
    own = [
        "01-object-storage.sh",
        "05-gpu-driver.sh",
        "07-rdma.sh",
        "30-turbo-client.sh",
        "40-mount-turbo.sh",
        "50-monitoring.sh",
    ]
    shared = ["06-fabric-manager.sh", "10-scratch.sh", "20-data-disk.sh"]
    assert parts(EVERYTHING) == sorted([*EVERYWHERE, *WITH_PROGRAMS, *own, *shared])


def test_the_scripts_are_told_what_they_ask_for() -> None:
    told = node_files(EVERYTHING)["/etc/gpuyard/node.env"].content.splitlines()
    assert {
        "GPUYARD_DRIVER_BRANCH=580",
        "GPUYARD_DRIVER_MINIMUM=450",
        "GPUYARD_SCRATCH=/scratch",
        "GPUYARD_SCRATCH_DISKS='^/dev/nvme'",
        "GPUYARD_DATA=/data",
        "GPUYARD_DATA_DISKS=' disk-'",
        "GPUYARD_DATA_TRIES=300",
        "GPUYARD_FILE_SYSTEM=/cfs",
        "GPUYARD_TURBO_ADDRESS=10.64.0.7",
        "GPUYARD_TURBO_TREE=d3dcc487/cfs",
        "GPUYARD_PROGRAMS=cos://llm-checkpoints-1250000000/gpuyard-node/train/1.tar.gz.b64",
        f"GPUYARD_PROGRAMS_SHA256={node_programs().sha256}",
        "GPUYARD_HEALTH_TAG=1",
        "GPUYARD_COSCLI_VERSION=1.0.9",
        "GPUYARD_TCCLI_VERSION=3.1.189.1",
        "GPUYARD_CHECKPOINT_URI=cos://llm-checkpoints-1250000000/checkpoints",
        "GPUYARD_CHECKPOINT_ENDPOINT=https://llm-checkpoints-1250000000.cos.ap-beijing.myqcloud.com",
    } <= set(told)
    least = node_files(LEAST)["/etc/gpuyard/node.env"].content
    assert not [word for word in ("SCRATCH", "DATA", "TURBO", "CHECKPOINT_URI", "MINIMUM", "PROGRAMS") if word in least]


def test_only_a_node_that_tags_itself_needs_the_apis_command() -> None:
    elastic = NodeSetup(pool="serve", region="ap-beijing", programs="cos://b-1/p")
    told = node_files(elastic)["/etc/gpuyard/node.env"].content
    assert "GPUYARD_COSCLI_SHA256" in told
    assert not [word for word in ("TCCLI", "HEALTH_TAG", "HOOK") if word in told]


def test_what_a_hook_runs_is_told_how_long_it_has() -> None:
    lines = hook_command("leave", 885).splitlines()
    assert lines[:2] == ["#!/bin/bash", "export GPUYARD_SECONDS=885"]
    assert 'python3 -m gpuyard.node leave --reason scale_in --seconds "$GPUYARD_SECONDS"' in lines
