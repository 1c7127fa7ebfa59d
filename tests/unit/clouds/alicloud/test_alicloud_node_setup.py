"""What reaches a node on Alibaba Cloud: programs before it boots, what its gate asks, and who waits for the answer."""

import base64
import hashlib
import io
import json
import tarfile
from typing import Any

import pytest
from ruamel.yaml import YAML

from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.user_data import ARCHIVE

from ..recorder import UNKNOWN, Rendered
from .cluster import SCC, cluster, machine

NO_BUCKET: dict[str, Any] = {"checkpoints": None, "file_system": None, "workload": {"task": "inference"}}
LARGEST = 32_768


def user_data(rendered: Rendered, pool: str = "train") -> bytes:
    found = machine(rendered) if pool == "train" else rendered.one("ScalingConfiguration", f"ali-{pool}-configuration")
    return base64.b64decode(found.inputs["userData"])


def files_of(rendered: Rendered, pool: str = "train") -> dict[str, str]:
    """The files that a pool's nodes get."""
    config = YAML(typ="safe").load(user_data(rendered, pool).decode())
    found = {one["path"]: one["content"] for one in config["write_files"]}
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(found.pop(ARCHIVE)))) as archive:
        for member in archive:
            content = archive.extractfile(member)
            assert content is not None
            found[f"/{member.name}"] = content.read().decode()
    return found


def env_of(rendered: Rendered, pool: str = "train") -> dict[str, str]:
    lines = files_of(rendered, pool)["/etc/gpuyard/node.env"].splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("pool", ["train", "serve"])
def test_programs_of_nodes_are_in_the_bucket_before_the_first_node_boots(pool: str):
    rendered = cluster()
    made, env = rendered.one("BucketObject", f"ali-{pool}-programs"), env_of(rendered, pool)
    assert env["GPUYARD_PROGRAMS"] == f"oss://ali-checkpoints-1a2b3c/{made.inputs['key']}"
    assert made.inputs["key"].endswith(".tar.gz.b64")
    content = base64.b64decode(made.inputs["content"], validate=True)
    assert hashlib.sha256(content).hexdigest() == env["GPUYARD_PROGRAMS_SHA256"] == node_programs().sha256
    node = machine(rendered) if pool == "train" else rendered.one("ScalingConfiguration")
    assert made.name in node.depends_on


def test_a_node_of_a_group_counts_when_its_health_gate_says_so_and_is_released_otherwise():
    rendered = cluster()
    env, hook = env_of(rendered, "serve"), rendered.one("LifecycleHook", "ali-serve-healthy").inputs
    assert hook["name"] == env["GPUYARD_LAUNCH_HOOK"]
    assert env["GPUYARD_SCALING_GROUP"] == hook["scalingGroupId"] == "ali-serve-group-id"
    assert (hook["lifecycleTransition"], hook["defaultResult"]) == ("SCALE_OUT", "ABANDON")
    assert hook["heartbeatTimeout"] == 1800
    # The group starts nodes as soon as it has a configuration.
    assert {"ali-serve-healthy", "ali-serve-checkpoint"} <= set(rendered.one("ScalingConfiguration").depends_on)
    assert env["GPUYARD_HOOK"] == rendered.one("LifecycleHook", "ali-serve-checkpoint").inputs["name"]


def test_bare_metal_which_tests_itself_before_it_boots_is_waited_for_longer():
    rendered = cluster(serve={"gpu": None, "gpus_per_node": None, "instance_type": "ecs.ebmgn7i.32xlarge"})
    assert rendered.one("LifecycleHook", "ali-serve-healthy").inputs["heartbeatTimeout"] == 3600


def test_only_a_machine_that_nobody_waits_for_tells_its_health_by_a_tag():
    rendered = cluster()
    train, serve = env_of(rendered), env_of(rendered, "serve")
    assert train["GPUYARD_HEALTH_TAG"] == "1"
    assert not {"GPUYARD_LAUNCH_HOOK", "GPUYARD_HOOK", "GPUYARD_SCALING_GROUP"} & set(train)
    assert "GPUYARD_HEALTH_TAG" not in serve


def test_without_a_bucket_there_is_no_gate_and_nobody_waits_for_one():
    rendered = cluster(**NO_BUCKET)
    assert rendered.all("BucketObject") == []
    assert [one.name for one in rendered.all("LifecycleHook")] == ["ali-serve-checkpoint"]
    for pool in ("train", "serve"):
        files = files_of(rendered, pool)
        assert not {"/etc/gpuyard/expected.json", "/opt/gpuyard/parts/90-health.sh"} & set(files)
        wanted = {"GPUYARD_PROGRAMS", "GPUYARD_HEALTH_TAG", "GPUYARD_LAUNCH_HOOK", "GPUYARD_OSSUTIL_VERSION"}
        assert not wanted & set(env_of(rendered, pool))


def test_the_gate_asks_for_the_gpus_and_the_fabric_of_the_pool():
    train, serve = (json.loads(files_of(cluster(), pool)["/etc/gpuyard/expected.json"]) for pool in ("train", "serve"))
    assert (train["gpu"]["count"], train["rdma"]["kind"]) == (8, "erdma")
    assert (serve["gpu"]["count"], serve["rdma"]) == (1, None)
    assert serve["driver_minimum"]


def test_nccl_is_told_of_the_fabric_by_a_file_and_only_where_there_is_something_to_tell():
    assert "NCCL_IB_GID_INDEX=1" in files_of(cluster())["/etc/nccl.conf"].splitlines()
    assert "/etc/nccl.conf" not in files_of(cluster(), "serve")
    assert "/etc/nccl.conf" not in files_of(cluster(train={"instance_type": SCC})), "NCCL finds RoCE's by itself"


def test_user_data_is_what_the_cloud_takes_and_holds_no_secret():
    rendered = cluster(train={"data_disk_gib": 500})
    for pool in ("train", "serve"):
        data = user_data(rendered, pool)
        assert len(data) <= LARGEST
        text = "".join(files_of(rendered, pool).values()).lower()
        assert not [word for word in ("accesskeysecret:", "access_key_secret=", "access-key-secret") if word in text]


def test_user_data_waits_for_what_it_names_and_for_nothing_else():
    assert machine(cluster(preview=True)).inputs["userData"] == UNKNOWN
    assert machine(cluster(preview=True, **NO_BUCKET)).inputs["userData"] != UNKNOWN
