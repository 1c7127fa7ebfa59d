"""Rights of the nodes on Alibaba Cloud, and that every input is one that the SDK and its documents know."""

import json
from typing import Any

import pytest

from gpuyard.sandbox.behaviour import behaviour
from gpuyard.sandbox.check import check_inputs, check_values
from gpuyard.sandbox.schema import resource_schema

from ..recorder import UNKNOWN, Registered, Rendered
from .cluster import SCC, cluster, machine

KEY_ID = "key-bjz0123456789abcdef"
KEY = f"acs:kms:cn-beijing:1234567890123456:key/{KEY_ID}"
FULL: dict[str, Any] = {
    "train": {"data_disk_gib": 500, "alicloud": {"erdma_queue_pairs": 64, "jumbo_frames": True}},
    "serve": {
        "spot_price_limit": 3.5,
        "data_disk_gib": 100,
        "scaling": {"gpu_utilization_percent": 60, "schedule": {"day": {"cron": "0 8 * * *", "min": 1}}},
    },
}
CLUSTERS: dict[str, dict[str, Any]] = {
    "full": FULL,
    "roce": {"train": {"instance_type": SCC}, "serve": {"alicloud": {"multi_az_policy": "COMPOSABLE"}}},
    "bought": {
        "train": {"instance_type": "ecs.ebmgn7i.32xlarge", "interconnect": "none", "purchase": "prepaid"}
        | {"prepaid": {"months": 12}},
        "serve": {"purchase": "reserved", "reservation": {"id": "eap-1"}},
    },
    "closed": {"network": {"egress": "endpoints"}, "access": {"ssh_from": ["10.0.0.0/8"]}},
}


def policy(rendered: Rendered, name: str) -> list[dict[str, Any]]:
    return json.loads(rendered.one("Policy", name).inputs["policyDocument"])["Statement"]


def test_only_machines_take_the_role():
    found = json.loads(cluster().one("Role", "ali-train-role").inputs["assumeRolePolicyDocument"])
    (statement,) = found["Statement"]
    assert statement["Principal"] == {"Service": ["ecs.aliyuncs.com"]}
    assert statement["Action"] == "sts:AssumeRole"


def test_nodes_use_the_checkpoints_and_nothing_else_of_the_bucket():
    rendered = cluster(checkpoints={"keep_days": 14, "prefixes": {"logs": {"keep_days": 7}}})
    listing, using, reading = statements = policy(rendered, "ali-train-checkpoints")
    bucket = "acs:oss:*:*:ali-checkpoints-1a2b3c"
    assert listing["Resource"] == [bucket]
    prefixes = ["checkpoints", "checkpoints/*", "logs", "logs/*", "gpuyard-node", "gpuyard-node/*"]
    assert listing["Condition"] == {"StringLike": {"oss:Prefix": prefixes}}
    assert using["Resource"] == [f"{bucket}/checkpoints/*", f"{bucket}/logs/*"]
    assert not any("*" in action for statement in statements for action in statement["Action"])
    assert (reading["Action"], reading["Resource"]) == (["oss:GetObject"], [f"{bucket}/gpuyard-node/*"]), (
        "no node writes what others run"
    )


def test_a_bucket_of_ones_own_key_needs_the_key():
    statements = policy(cluster(checkpoints={"keep_days": 14, "kms_key": KEY}), "ali-train-checkpoints")
    assert statements[-1] == {
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
        "Resource": [f"acs:kms:cn-beijing:*:key/{KEY_ID}"],
    }


def test_an_elastic_node_releases_itself_from_its_own_group_only():
    (statement,) = policy(cluster(), "ali-serve-release")
    assert statement["Resource"] == ["acs:ess:cn-beijing:*:scalinggroup/ali-serve-group-id"]
    assert "ess:CompleteLifecycleAction" in statement["Action"]
    assert [one.name for one in cluster().all("Policy") if "train-release" in one.name] == []


def test_only_single_machines_tell_their_health_by_a_tag_and_only_those_of_their_pool():
    rendered = cluster()
    (statement,) = policy(rendered, "ali-train-health")
    tags = machine(rendered).inputs["tags"]
    assert statement == {
        "Effect": "Allow",
        "Action": ["ecs:TagResources"],
        "Resource": ["acs:ecs:cn-beijing:*:instance/*"],
        "Condition": {
            "StringEquals": {f"acs:ResourceTag/{key}": tags[key] for key in ("gpuyard:pool", "gpuyard:cluster")}
        },
    }
    assert [one.name for one in rendered.all("Policy") if "serve-health" in one.name] == []


def test_a_pool_without_bucket_has_a_role_without_rights():
    rendered = cluster(checkpoints=None, file_system=None, workload={"task": "inference"})
    assert rendered.all("Policy") == rendered.all("RolePolicyAttachment") == []


def test_each_machine_has_the_role():
    found = {one.name: one.inputs for one in cluster().all("RamRoleAttachment")}
    assert found == {
        f"ali-train-{number}": {"instanceId": f"ali-train-{number}-id", "ramRoleName": "ali-train-role-cn-beijing"}
        for number in (0, 1)
    }
    assert cluster().one("ScalingConfiguration").inputs["roleName"] == "ali-serve-role-cn-beijing"


def test_names_of_roles_and_policies_are_of_one_region_and_short_enough():
    rendered = cluster(name="a" * 32)
    for one in rendered.all("Role"):
        assert one.inputs["roleName"].endswith("-cn-beijing")
        assert len(one.inputs["roleName"]) <= 64
    for one in rendered.all("Policy"):
        assert one.inputs["policyName"].endswith("-cn-beijing")


def inputs_of(one: Registered) -> dict[str, Any]:
    """Inputs without those that are known only after the update, which a preview cannot check."""
    return {key: value for key, value in one.inputs.items() if value != UNKNOWN}


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_input_is_one_that_the_provider_knows(name: str):
    rendered = cluster(**CLUSTERS[name])
    resources = [one for one in rendered if one.type.startswith("alicloud:")]
    assert len(resources) > 20
    for one in resources:
        schema = resource_schema(one.type)
        assert schema is not None, one.type
        assert check_inputs(schema.inputs, one.inputs) == [], one.name
        assert check_values(behaviour(one.type).allowed, one.inputs) == [], one.name


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_preview_registers_what_the_update_does(name: str):
    preview, update = (cluster(preview=flag, **CLUSTERS[name]) for flag in (True, False))
    assert sorted((one.type, one.name) for one in preview) == sorted((one.type, one.name) for one in update)
    known = {(one.type, one.name): one.inputs for one in update}
    for one in preview:
        assert inputs_of(one).keys() <= known[one.type, one.name].keys(), one.name


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_resource_belongs_to_a_component_and_no_output_became_text(name: str):
    rendered = cluster(**CLUSTERS[name])
    components = {one.name for one in rendered if one.type.startswith("gpuyard:")}
    for one in rendered:
        if one.type.startswith("alicloud:"):
            assert one.parent in components, one.name
        assert "Calling __str__" not in json.dumps(one.inputs)


def test_nothing_deprecated_is_set():
    rendered = cluster(**FULL)
    for one in rendered.all("Instance"):
        assert not {"roleName", "allocatePublicIp", "internetMaxBandwidthIn"} & set(one.inputs)
    assert not {"securityGroupId", "instanceIds", "ioOptimized"} & set(rendered.one("ScalingConfiguration").inputs)
