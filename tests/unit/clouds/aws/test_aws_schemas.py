"""What is rendered, held against AWS's resource schemas (PyPI cfn-lint): a second check beside botocore's."""

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from gpuyard.sandbox.behaviour import cloud
from gpuyard.sandbox.schema import resource_schema as sdk_schema

from ..conftest import STACKS
from ..recorder import Registered, Rendered, rendered_stack
from .monitoring_helpers import monitoring
from .schemas import KINDS, WITHOUT_SCHEMA, faults, resource_schema, to_properties
from .test_aws_api import KEY
from .test_aws_api import VARIANTS as COMMON_VARIANTS
from .test_aws_monitoring_api import VARIANTS as MONITORING_VARIANTS

ProdWith = Callable[[dict[str, Any]], Rendered]
REPLICA_KEY = KEY.replace("us-east-1", "us-west-2")
VARIANTS: dict[str, dict[str, Any]] = {
    **COMMON_VARIANTS,
    "no way out": {"network.egress": "endpoints", "access.ssh_from": ["10.0.0.0/8"]},
    "EFA to the files": {
        "file_system": {"capacity_gib": 38_400, "rdma": True, "metadata_iops": 12_000, "compression": False},
        "node_pools": {"train": {"instance_type": "p5.48xlarge", "nodes": 2, "interconnect": "rdma"}},
    },
    "older files": {"file_system.aws": {"deployment": "PERSISTENT_1"}, "file_system.throughput_mb_per_s": 2_400},
    "import alone": {"file_system.bucket_sync": "import"},
    "export alone": {"file_system.bucket_sync": "export"},
    "snapshots by number": {"snapshots": {"hours_utc": [3, 15], "weekdays": ["mon", "fri"], "keep_count": 9}},
    "snapshots by cron": {
        "snapshots": {
            "keep_days": 7,
            "aws": {"cron": "cron(0 3 ? * MON *)", "fast_restore": {"zones": ["us-east-1d"], "count": 2}},
        }
    },
    "copies under a key": {"snapshots.copy_kms_key": REPLICA_KEY, "node_pools.train.kms_key": KEY},
    "every tier": {
        "checkpoints.tiers": {"automatic": 1, "archive": 40, "deep_archive": 200},
        "checkpoints.keep_days": 500,
        "checkpoints.kms_key": KEY,
        "checkpoints.replica_kms_key": REPLICA_KEY,
    },
}
# The schema replaces on these, and the API does not.
CHANGED_IN_PLACE = {
    # CreateTags and DeleteTags take placement groups (PyPI botocore 1.44.8, service model ec2).
    ("aws:ec2/placementGroup:PlacementGroup", "Tags"),
    # CreateNotification and DeleteNotification (PyPI botocore 1.44.8, service model budgets).
    ("aws:budgets/budget:Budget", "NotificationsWithSubscribers"),
    # ReplaceRouteTableAssociation (PyPI botocore 1.44.8, service model ec2).
    ("aws:ec2/routeTableAssociation:RouteTableAssociation", "RouteTableId"),
}
CITED = {
    token: cited[1]
    for token, how in cloud("aws").types.items()
    if (cited := re.match(r"AWS resource schema (AWS::\w+::\w+) in PyPI cfn-lint", how.source))
}


def judged(rendered: Rendered) -> set[str]:
    """Types of the resources that were held against their schema; every one must be without fault."""
    types: set[str] = set()
    for found in rendered:
        if found.type.startswith("gpuyard:") or found.type in WITHOUT_SCHEMA:
            continue
        region = found.inputs.get("region", "us-east-1")
        assert faults(KINDS[found.type].schema, to_properties(found), region) == [], found.name
        types.add(found.type)
    return types


def test_what_the_stacks_render_is_what_the_schemas_take():
    types = {kind for name in STACKS for kind in judged(rendered_stack(name, preview=False))}
    assert types == set(KINDS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_renders_what_the_schemas_take(variant: str, prod_with: ProdWith):
    assert "aws:ec2/launchTemplate:LaunchTemplate" in judged(prod_with(VARIANTS[variant]))


@pytest.mark.parametrize("variant", MONITORING_VARIANTS)
def test_every_variant_of_monitoring_renders_what_the_schemas_take(variant: str):
    assert "aws:cloudwatch/metricAlarm:MetricAlarm" in judged(monitoring(MONITORING_VARIANTS[variant]))


def wrong(found: Registered, dotted: str, value: Any) -> list[str]:
    """The faults of a resource with one input changed; ``...`` takes it out."""
    inputs: Any = copy.deepcopy(found.inputs)
    *above, last = [int(part) if part.isdigit() else part for part in dotted.split(".")]
    at = reduce(getitem, above, inputs)
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return faults(KINDS[found.type].schema, to_properties(replace(found, inputs=inputs)))


@pytest.mark.parametrize(
    ("kind", "name", "dotted", "value", "fault"),
    [
        ("PlacementGroup", "train", "strategy", "close", r"^Strategy: 'close' is not one of \["),
        ("LogGroup", "train", "retentionInDays", 31.0, r"^RetentionInDays: 31 is not one of \[1, 3, 5,"),
        (
            "LifecyclePolicy",
            "",
            "policyDetails.schedules.0.createRule.intervalUnit",
            "DAYS",
            r"^PolicyDetails\.Schedules\.0\.CreateRule\.IntervalUnit: 'DAYS' is not one of \['HOURS'\]",
        ),
        (
            "BucketLifecycleConfiguration",
            "checkpoints",
            "rules.1.transitions.0.storageClass",
            "COLD",
            r"^LifecycleConfiguration\.Rules\.1\.Transitions\.0\.StorageClass: 'COLD' is not one of \[",
        ),
        ("DataRepositoryAssociation", "", "fileSystemId", "filesystem-1", r"^FileSystemId: .* does not match "),
        ("LifecyclePolicy", "", "executionRoleArn", "dlm", r"^ExecutionRoleArn: 'dlm' does not match "),
        ("Queue", "", "messageRetentionSeconds", "a day", r"^MessageRetentionPeriod: 'a day' is not of type 'integer'"),
        ("LustreFileSystem", "", "storageCapacity", 600.0, r"^StorageCapacity: 600 is less than the minimum of 1200"),
        ("MetricAlarm", "train-xid", "period", 45.0, r"^Period: 45 is not one of \[10, 30, 60\]"),
        (
            "LifecyclePolicy",
            "",
            "policyDetails.schedules.0.retainRule.count",
            1_001.0,
            r"RetainRule\.Count: 1001 is greater than the maximum of 1000",
        ),
        ("Vpc", "", "cidrBlock", "10.64.0.0/99", r"^CidrBlock: '10.64.0.0/99' is not a 'ipv4-network'"),
        ("LifecycleHook", "", "lifecycleTransition", ..., r"^: 'LifecycleTransition' is a required property"),
        ("LustreFileSystem", "", "efaEnable", True, r"^LustreConfiguration\.efaEnable: Additional properties"),
        ("LaunchTemplate", "train", "metadataOptions.httpToken", "required", r"\.httpToken: Additional properties"),
    ],
)
def test_the_judge_sees_a_wrong_enumeration_pattern_range_and_name(
    kind: str, name: str, dotted: str, value: Any, fault: str
):
    found = next(one for one in rendered_stack("aws-prod", preview=False).all(kind) if name in one.name)
    (message,) = wrong(found, dotted, value)
    assert re.search(fault, message), message


def sdk_name(token: str, schema_name: str, known: set[str]) -> str | None:
    """The provider's input that is a property of the schema, None where the resource has none like it."""
    names = {new.lower(): old for old, new in KINDS[token].names.items()} if token in KINDS else {}
    inputs = {name.lower(): name for name in known}
    return inputs.get(names.get(schema_name.lower(), schema_name).lower())


@pytest.mark.parametrize("token", CITED)
def test_the_sandbox_replaces_on_what_the_schema_says_cannot_change(token: str):
    how, schema = cloud("aws").types[token], sdk_schema(token)
    assert schema is not None
    known = set(schema.inputs.properties)
    fixed = [path.rsplit("/", 1)[1] for path in resource_schema(CITED[token]).get("createOnlyProperties", [])]
    ours = {
        name
        for one in fixed
        if (token, one) not in CHANGED_IN_PLACE and (name := sdk_name(token, one, known)) is not None
    }
    assert ours <= set(how.replace_on)


def test_the_schemas_are_cited_for_most_types_and_fix_something():
    assert len(CITED) > 25
    assert {token for token, kind in KINDS.items() if token in CITED and kind.schema != CITED[token]} == set()
    fixed = {token for token, name in CITED.items() if resource_schema(name).get("createOnlyProperties")}
    assert {"aws:fsx/lustreFileSystem:LustreFileSystem", "aws:ec2/subnet:Subnet", "aws:s3/bucket:Bucket"} <= fixed


def test_exceptions_are_still_needed():
    for token, name in CHANGED_IN_PLACE:
        fixed = {path.rsplit("/", 1)[1] for path in resource_schema(CITED[token])["createOnlyProperties"]}
        assert name in fixed
