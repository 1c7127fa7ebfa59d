"""What reaches a node: disks by need, user data with what it is linked to, logs with an end, and rights for them."""

import base64
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from typing import Any

import pytest
from ruamel.yaml import YAML

from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.user_data import ARCHIVE

from ..recorder import UNKNOWN, Rendered, rendered_stack

ProdWith = Callable[[dict[str, Any]], Rendered]
KEY = "arn:aws:kms:us-east-1:123456789012:key/1"


def files_of(rendered: Rendered, pool: str = "train") -> dict[str, str]:
    """The files that a pool's nodes get."""
    packed = base64.b64decode(rendered.of_pool("LaunchTemplate", pool).inputs["userData"])
    config = YAML(typ="safe").load(gzip.decompress(packed).decode())
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


def statements(rendered: Rendered, pool: str = "train") -> dict[str, Any]:
    policy = json.loads(rendered.one("RolePolicy", f"aws-prod-{pool}-node").inputs["policy"])
    return {one["Sid"]: one for one in policy["Statement"]}


def disks(rendered: Rendered) -> dict[str, Any]:
    found = rendered.of_pool("LaunchTemplate").inputs["blockDeviceMappings"]
    return {one["deviceName"]: one["ebs"] for one in found}


def test_a_node_is_told_where_its_data_and_checkpoints_are():
    programs = node_programs()
    assert env_of(rendered_stack("aws-prod", preview=False)) == {
        "GPUYARD_CLOUD": "aws",
        "GPUYARD_POOL": "aws-prod-train",
        "GPUYARD_REGION": "us-east-1",
        "GPUYARD_SCRATCH": "/scratch",
        "GPUYARD_DATA": "/data",
        "GPUYARD_FILE_SYSTEM": "/fsx",
        "GPUYARD_CHECKPOINT_DIR": "/fsx/checkpoints",
        "GPUYARD_PROGRAMS": f"s3://aws-prod-checkpoints-1a2b3c/{programs.key('aws-prod-train')}",
        "GPUYARD_PROGRAMS_SHA256": programs.sha256,
        "GPUYARD_CHECKPOINT_SECONDS": "600",
        "GPUYARD_EFA_VERSION": "1.41.0",
        "GPUYARD_EFA_SHA256": "3506354cdfbe31ff552fe75f5d0d9bb7efd29cf79bd99457347d29c751c38f9f",
        "GPUYARD_LUSTRE_DNS_NAME": "aws-prod-lustre.example",
        "GPUYARD_LUSTRE_MOUNT_NAME": "mnt",
        "GPUYARD_CHECKPOINT_URI": "s3://aws-prod-checkpoints-1a2b3c/checkpoints",
        "GPUYARD_LAUNCH_HOOK": "aws-prod-train-healthy",
    }


def test_an_elastic_pool_knows_its_hook():
    rendered = rendered_stack("aws-prod", preview=False)
    env = env_of(rendered, "prepare")
    assert env["GPUYARD_HOOK"] == rendered.one("LifecycleHook", "aws-prod-prepare-checkpoint").inputs["name"]
    assert env["GPUYARD_CHECKPOINT_SECONDS"] == "120"
    assert "/opt/gpuyard/release-node.sh" in files_of(rendered, "prepare")


@pytest.mark.parametrize(("pool", "seconds"), [("train", 1800), ("prepare", 1800)])
def test_a_node_counts_when_its_health_gate_says_so_and_is_replaced_otherwise(pool: str, seconds: int):
    rendered = rendered_stack("aws-prod", preview=False)
    (hook,) = rendered.of_pool("Group", pool).inputs["initialLifecycleHooks"]
    assert hook == {
        "name": env_of(rendered, pool)["GPUYARD_LAUNCH_HOOK"],
        "lifecycleTransition": "autoscaling:EC2_INSTANCE_LAUNCHING",
        "heartbeatTimeout": seconds,
        "defaultResult": "ABANDON",
    }
    # What a group that was made without it gets by an update.
    later = rendered.one("LifecycleHook", f"aws-prod-{pool}-healthy")
    assert hook.items() <= later.inputs.items()
    assert "initialLifecycleHooks" in rendered.of_pool("Group", pool).request.ignoreChanges


def test_programs_of_nodes_are_in_the_bucket_before_the_first_node_boots():
    rendered = rendered_stack("aws-prod", preview=False)
    made = rendered.one("BucketObjectv2", "aws-prod-train-programs")
    env = env_of(rendered)
    assert env["GPUYARD_PROGRAMS"].endswith(made.inputs["key"])
    assert hashlib.sha256(base64.b64decode(made.inputs["contentBase64"])).hexdigest() == env["GPUYARD_PROGRAMS_SHA256"]
    assert "aws-prod-train-programs" in rendered.of_pool("Group").depends_on


def test_without_a_bucket_nobody_waits_for_a_health_gate_that_is_not_there(prod_with: ProdWith):
    rendered = prod_with({"checkpoints": ..., "node_pools.prepare": ...})
    assert "initialLifecycleHooks" not in rendered.of_pool("Group").inputs
    assert not {"GPUYARD_PROGRAMS", "GPUYARD_LAUNCH_HOOK"} & set(env_of(rendered))
    assert "/opt/gpuyard/parts/90-health.sh" not in files_of(rendered)


def test_nodes_may_pull_the_images_of_their_own_registry_and_no_others(prod_with: ProdWith):
    images = ["123456789012.dkr.ecr.eu-west-1.amazonaws.com/llm/train:1", "ghcr.io/x/y@sha256:" + "0" * 64]
    found = statements(prod_with({"node_pools.train.software": {"container_images": images}}))
    assert found["PullImages"]["Resource"] == ["arn:aws:ecr:eu-west-1:123456789012:repository/llm/train"]
    assert "PullImages" not in statements(rendered_stack("aws-prod", preview=False))


def test_only_nodes_with_efa_count_its_errors():
    rendered = rendered_stack("aws-prod", preview=False)
    for pool, has_efa in (("train", True), ("prepare", False)):
        agent = json.loads(files_of(rendered, pool)["/etc/gpuyard/cloudwatch-agent.json"])
        assert ("efa" in agent["metrics"]["metrics_collected"]) is has_efa


def test_instance_store_can_be_left_alone():
    rendered = rendered_stack("aws-staging", preview=False)
    assert "GPUYARD_SCRATCH" in env_of(rendered)
    assert "GPUYARD_SCRATCH" not in env_of(rendered, "serve")


def test_no_user_data_holds_a_secret():
    for stack in ("aws-dev", "aws-staging", "aws-prod"):
        for template in rendered_stack(stack, preview=False).all("LaunchTemplate"):
            text = gzip.decompress(base64.b64decode(template.inputs["userData"])).decode().lower()
            assert not [word for word in ("password", "secret_access_key", "aws_access_key_id=") if word in text]


def test_user_data_waits_for_what_it_names_and_for_nothing_else():
    preview = rendered_stack("aws-prod", preview=True).of_pool("LaunchTemplate").inputs
    assert preview["userData"] == UNKNOWN


@pytest.mark.parametrize(
    ("asked", "data"),
    [
        ({}, {"volumeType": "gp3", "throughput": 477}),
        ({"data_disk_mb_per_s": ...}, {"volumeType": "gp3"}),
        ({"data_disk_mb_per_s": 2000}, {"volumeType": "gp3", "throughput": 1908, "iops": 7632}),
        ({"data_disk_mb_per_s": 2300}, {"volumeType": "io2", "iops": 8571}),
    ],
)
def test_the_data_disk_is_bought_by_need(asked: dict[str, Any], data: dict[str, Any], prod_with: ProdWith):
    rendered = prod_with({f"node_pools.train.{key}": value for key, value in asked.items()})
    common = {"encrypted": "true", "deleteOnTermination": "true", "volumeSize": 1000}
    assert disks(rendered)["/dev/sdf"] == {**common, **data}


def test_disks_under_a_key_of_ones_own(prod_with: ProdWith):
    found = disks(prod_with({"node_pools.train.kms_key": KEY}))
    assert {disk["kmsKeyId"] for disk in found.values()} == {KEY}


def test_logs_end():
    rendered = rendered_stack("aws-prod", preview=False)
    groups = {one.name: one.inputs["retentionInDays"] for one in rendered.all("LogGroup") if "-logs" in one.name}
    assert groups == {"aws-prod-train-logs": 30, "aws-prod-prepare-logs": 30}


# --- rights


def test_nodes_send_metrics_of_their_own_kind_and_logs_to_their_own_group():
    found = statements(rendered_stack("aws-prod", preview=False))
    assert found["SendMetrics"]["Condition"] == {"StringEquals": {"cloudwatch:namespace": "gpuyard/nodes"}}
    assert found["SendLogs"]["Resource"] == ["arn:mock:aws-prod-train-logs", "arn:mock:aws-prod-train-logs:*"]
    assert "logs:CreateLogGroup" not in found["SendLogs"]["Action"]


def test_nodes_release_only_themselves():
    rendered = rendered_stack("aws-prod", preview=False)
    release = statements(rendered, "prepare")["ReleaseItself"]
    assert release["Resource"] == "arn:aws:autoscaling:us-east-1:*:autoScalingGroup:*"
    assert release["Condition"] == {
        "StringEquals": {
            "autoscaling:ResourceTag/gpuyard:pool": "aws-prod-prepare",
            "autoscaling:ResourceTag/gpuyard:cluster": "aws-prod",
        }
    }
    tags = {one["key"]: one["value"] for one in rendered.of_pool("Group", "prepare").inputs["tags"]}
    assert tags["gpuyard:pool"] == "aws-prod-prepare"
    assert tags["gpuyard:cluster"] == "aws-prod"


def test_br_008_nodes_may_ask_what_their_file_system_can_do(prod_with: ProdWith):
    found = statements(rendered_stack("aws-prod", preview=False))
    assert found["KnowFileSystem"]["Action"] == "fsx:DescribeFileSystems"
    assert "KnowFileSystem" not in statements(prod_with({"file_system": ...}))
