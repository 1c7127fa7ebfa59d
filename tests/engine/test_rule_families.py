"""One rejection per family of rules on the real engine: raw resources in any Pulumi program, and nothing is made."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.engine.conftest import Sandbox

Program = Callable[..., Sandbox]
HEAD = "import json, pulumi, pulumi_aws as aws\n"
TRAINING = "tags={'gpuyard:task': 'lora', 'gpuyard:environment': 'prod'}"
NODE = f"aws.ec2.Instance('node', ami='ami-1', instance_type='p4d.24xlarge', {TRAINING}, "
# A program, and the rule that rejects it with a part of its message.
REJECTED = {
    "fabric": (
        HEAD
        + """group = aws.ec2.SecurityGroup(
    "efa",
    ingress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "self": True}],
    egress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "cidr_blocks": ["0.0.0.0/0"]}],
)
template = aws.ec2.LaunchTemplate(
    "trainers", instance_type="p4d.24xlarge", tags={"gpuyard:task": "pretrain"},
    network_interfaces=[{"device_index": 0, "interface_type": "efa", "security_groups": [group.id]}],
)
aws.autoscaling.Group("trainers", min_size=2, max_size=2, availability_zones=["us-east-1a"],
                      launch_template={"id": template.id, "version": "$Latest"})
""",
        "[FAB011] the security group ('efa') of pool 'trainers' lacks an egress self rule",
    ),
    "storage": (
        HEAD
        + "aws.fsx.LustreFileSystem('fs', subnet_ids='subnet-1', storage_capacity=1200, deployment_type='SCRATCH_2')",
        "[STO010] scratch file system 'fs' is the only home",
    ),
    "snapshots": (
        HEAD
        + """aws.ebs.Volume("data", availability_zone="us-east-1a", size=100, encrypted=True, tags={"Backup": "daily"})
aws.dlm.LifecyclePolicy("daily", description="daily", execution_role_arn="arn:aws:iam::123456789012:role/dlm",
    policy_details={"resource_types": ["VOLUME"], "target_tags": {"backup": "daily"},
        "schedules": [{"name": "daily", "create_rule": {"interval": 24}, "retain_rule": {"count": 7}}]})
""",
        "[SNP002] schedule 'daily' finds disks by backup=daily, and no disk in this stack carries it",
    ),
    "spot": (
        HEAD + f"aws.ec2.SpotInstanceRequest('cheap', ami='ami-1', instance_type='p4d.24xlarge', {TRAINING})",
        "[SPT001] spot pool 'cheap' trains (lora), and nothing beside it outlives a machine",
    ),
    "cost": (
        HEAD
        + "aws.budgets.Budget('month', budget_type='COST', limit_amount='1', limit_unit='USD', time_unit='MONTHLY')\n"
        + f"{NODE} availability_zone='us-east-1a')",
        "[CST001] machines cost at least",
    ),
    "access": (
        HEAD
        + """aws.ec2.SecurityGroup("open",
    ingress=[{"protocol": "tcp", "from_port": 8888, "to_port": 8888, "cidr_blocks": ["0.0.0.0/0"]}])
""",
        "[ACC001] 'open' lets port 8888 in from the internet (0.0.0.0/0): 8888 (Jupyter)",
    ),
    "operations": (
        HEAD + f"{NODE})",
        "[OPS001] nothing in this stack looks at the utilization of the GPUs of pool 'node'",
    ),
}


@pytest.mark.parametrize("family", REJECTED)
def test_a_raw_program_is_rejected_before_anything_exists(program: Program, family: str) -> None:
    text, message = REJECTED[family]
    sandbox = program(text)
    up = sandbox.up("test")
    assert up.code != 0, up.output
    assert message in up.output
    assert "mandatory" in up.output
    assert sandbox.cloud() == [], "nothing may exist after a rejected update"


def test_a_projects_file_sets_levels_and_suppressions(program: Program) -> None:
    text, message = REJECTED["access"]
    sandbox = program(text)
    settings = sandbox.root / "gpuyard-policy.yaml"
    settings.write_text(
        "profile: dev\nsuppressions:\n- {rule: ACC001, resource: open, reason: a test of the sandbox}\n"
    )
    accepted = sandbox.run("test", "preview")
    assert accepted.code == 0, accepted.output
    assert message not in accepted.output
    settings.write_text(
        "profile: dev\nsuppressions:\n- {rule: ACC001, resource: shut, reason: a test of the sandbox}\n"
    )
    refused = sandbox.run("test", "preview")
    assert refused.code != 0
    assert message in refused.output
    assert "the suppression of ACC001 on 'shut' suppresses nothing" in refused.output
