"""One raw resource of AWS, or a few, that each rule rejects: through the facts, as in any Pulumi program."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import Any

import pytest

from gpuyard_policy.config import parse_config
from gpuyard_policy.evaluate import evaluate
from gpuyard_policy.facts import Record
from gpuyard_policy.rules import ALL_RULES, Verdict
from tests.policy.resources import BUCKET, INSTANCE, LUSTRE, NODE_GROUP, TEMPLATE, pool, record, with_one_unknown
from tests.policy.rule_cases import PRICED

VOLUME = "aws:ebs/volume:Volume"
POLICY = "aws:dlm/lifecyclePolicy:LifecyclePolicy"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
SIZE = {"gpuyard:model-parameters": "70000000000"}


def node(**props: Any) -> Record:
    """A machine that is fit for training, with changes."""
    tags = {"gpuyard:task": "lora", **props.pop("tags", {})}
    return record(INSTANCE, "node", {"instanceType": "p4d.24xlarge", **props, "tags": tags})


def trainers(instance_type: str = "p4d.24xlarge", **more: Any) -> list[Record]:
    """A scaling group of four nodes on one large job."""
    records = pool(instance_type, nodes=4.0, **more)
    records[0].props["tags"].update(SIZE)  # type: ignore[attr-defined]
    return records


def snapshots(**schedule: Any) -> Record:
    details = {
        "targetTags": {"backup": "daily"},
        "schedules": [{"createRule": {"interval": 24.0}, "retainRule": {"count": 7.0}, **schedule}],
    }
    return record(POLICY, "policy", {"state": "ENABLED", "policyDetails": details})


def with_placement(strategy: str, **market: Any) -> list[Record]:
    near = record(PLACEMENT, "near", {"strategy": strategy, "name": "near"})
    template, group = trainers(placement={"groupName": "near"}, **market)
    return [near, template, group]


TODAY = date(2026, 12, 1)
SPOT = {"instanceMarketOptions": {"marketType": "spot"}}
VOLUMES = record(VOLUME, "data", {"size": 500.0, "type": "gp3", "encrypted": True, "tags": {"backup": "daily"}})
WRONG: dict[str, list[Record]] = {
    "FAB001": [node(instanceType="g5.12xlarge")],
    "FAB002": [node(instanceType="p3.16xlarge", tags=SIZE)],
    "FAB003": [node(instanceType="g6e.48xlarge", tags=SIZE)],
    "FAB004": [node(instanceType="p3.16xlarge", tags=SIZE)],
    "FAB005": [node(instanceType="g4ad.xlarge", tags={"gpuyard:task": "inference"})],
    "FAB006": trainers("p3.16xlarge"),
    "FAB007": trainers(),
    "FAB008": trainers("g4dn.8xlarge"),
    "FAB009": [
        (three := trainers())[0],
        record(three[1].type, "trainers", {**three[1].props, "availabilityZones": ["us-east-1a", "us-east-1d"]},
               three[1].depends_on),
    ],
    "FAB010": trainers(),
    "FAB011": [
        record(GROUP, "efa", {"id": "sg-1", "ingress": [{"self": True, "protocol": "-1", "fromPort": 0, "toPort": 0}],
                              "egress": [{"cidrBlocks": ["0.0.0.0/0"], "protocol": "-1", "fromPort": 0, "toPort": 0}]}),
        *trainers(networkInterfaces=[{"interfaceType": "efa", "securityGroups": ["sg-1"]}]),
    ],
    "FAB012": with_placement("cluster", instanceMarketOptions={"marketType": "capacity-block"}),
    "STO001": [node(), record(BUCKET, "far", {"region": "eu-west-1"})],
    "STO002": [
        node(availabilityZone="us-east-1d"),
        record("aws:efs/fileSystem:FileSystem", "one", {"availabilityZoneName": "us-east-1a", "encrypted": True}),
    ],
    "STO003": trainers(),
    "STO004": [
        node(),
        record(LUSTRE, "slow", {"storageCapacity": 1200.0, "deploymentType": "PERSISTENT_2",
                                "perUnitStorageThroughput": 125.0}),
    ],
    "STO006": [record(VOLUME, "small", {"size": 1.0, "type": "io2"})],
    "STO007": [node(ebsBlockDevices=[{"deviceName": "/dev/sdf", "volumeType": "gp3", "volumeSize": 500.0}])],
    "STO008": [record(VOLUME, "plain", {"size": 10.0})],
    "STO009": [record("aws:efs/fileSystem:FileSystem", "plain", {"encrypted": False})],
    "STO010": [record(LUSTRE, "scratch", {"storageCapacity": 1200.0, "deploymentType": "SCRATCH_2"})],
    "SNP001": [VOLUMES],
    "SNP002": [record(VOLUME, "data", {"size": 500.0, "tags": {"Backup": "daily"}}), snapshots()],
    "SNP004": [VOLUMES, snapshots(retainRule={"interval": 10.0, "intervalUnit": "YEARS"})],
    "SNP005": [VOLUMES, snapshots()],
    "SNP006": [VOLUMES, snapshots(crossRegionCopyRules=[{"target": "us-east-1", "encrypted": True}])],
    "SNP007": [VOLUMES, snapshots(crossRegionCopyRules=[{"target": "us-west-2", "encrypted": True}])],
    "SNP008": [VOLUMES, snapshots(crossRegionCopyRules=[{"target": "us-west-2", "encrypted": False}])],
    "SPT001": [node(**SPOT)],
    "SPT002": trainers(**SPOT),
    "SPT003": [node(**SPOT)],
    "SPT004": trainers(**SPOT),
    "SPT005": with_placement("cluster", **SPOT),
    "SPT006": [
        record(
            "aws:ec2/spotInstanceRequest:SpotInstanceRequest",
            "cheap",
            {"instanceType": PRICED["instance_types"][0], "spotPrice": "0.001", "tags": {"gpuyard:task": "lora"}},
            region=PRICED["region"],
        )
    ],
    "CST001": [
        record("aws:budgets/budget:Budget", "month",
               {"budgetType": "COST", "limitAmount": "1", "limitUnit": "USD", "timeUnit": "MONTHLY"}),
        node(),
    ],
    "CST004": [record(BUCKET, "grows", {})],
    "CST005": [record("aws:shield/protection:Protection", "shield", {"resourceArn": "arn"})],
    "CST006": [record("aws:ec2/vpcPeeringConnection:VpcPeeringConnection", "far", {"peerRegion": "eu-west-1"})],
    "ACC001": [
        record(GROUP, "open", {"ingress": [{"protocol": "tcp", "fromPort": 22.0, "toPort": 22.0,
                                            "cidrBlocks": ["0.0.0.0/0"]}]})
    ],
    "ACC002": [node(associatePublicIpAddress=True)],
    "ACC003": [record(BUCKET, "open", {"acl": "public-read"})],
    "ACC004": [node(metadataOptions={"httpTokens": "optional"})],
    "ACC005": [
        record("aws:iam/rolePolicy:RolePolicy", "wide",
               {"policy": json.dumps({"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})})
    ],
    "ACC006": [node(userData=f"export AWS_ACCESS_KEY_ID=AKIA{'A' * 16}")],
    "ACC007": [record(BUCKET, "plain", {})],
    "OPS001": [node()],
    "OPS002": [node()],
    "OPS004": [record(TEMPLATE, "moves", {"instanceType": "p4d.24xlarge", "imageId": "resolve:ssm:/aws/service/x"})],
    "OPS005": [node(instanceType="p6-b200.48xlarge", userData="pip install torch==2.14.0+cu126")],
    "OPS006": [record(NODE_GROUP, "gpus", {"instanceTypes": ["p4d.24xlarge"]})],
}  # fmt: skip
DEV = {"CST003": [*pool("p4d.24xlarge", nodes=4.0)]}
# Why no resource of AWS alone is wrong by a rule.
NOT_HERE = {
    "FAB013": "it never fails",
    "STO005": "no family of AWS refuses a class",
    "SNP003": "the API of DLM asks for a retention",
    "CST002": "the catalog has no price with a term for AWS; the rule's own cases have one of Alibaba Cloud",
    "OPS003": "it needs what the engine says of protection",
}


@pytest.mark.parametrize("rule", [*WRONG, *DEV])
def test_a_raw_program_on_aws_is_rejected(rule: str) -> None:
    chosen = [one for one in ALL_RULES if one.id == rule]
    config = parse_config({"profile": "dev" if rule in DEV else "prod"})
    found = evaluate({**WRONG, **DEV}[rule], config, today=date(2026, 12, 1), rules=chosen)
    assert [one.verdict for one in found.findings if one.verdict is Verdict.FAIL], found.findings
    assert not found.broken


@pytest.mark.parametrize("rule", [*WRONG, *DEV])
def test_a_rejected_raw_program_on_aws_is_accepted_with_a_reason(rule: str) -> None:
    chosen = [one for one in ALL_RULES if one.id == rule]
    program, profile = {**WRONG, **DEV}[rule], "dev" if rule in DEV else "prod"
    failing = evaluate(program, parse_config({"profile": profile}), today=TODAY, rules=chosen).of(Verdict.FAIL)
    accepted = [{"rule": rule, "resource": one.urn, "reason": "until the move"} for one in failing]
    config = parse_config({"profile": profile, "suppressions": accepted})
    found = evaluate(program, config, today=TODAY, rules=chosen)
    assert not found.of(Verdict.FAIL)
    assert {one.reason for one in found.of(Verdict.SUPPRESSED)} == {"until the move"}


@pytest.mark.parametrize("rule", [*WRONG, *DEV])
def test_no_fault_on_aws_passes_because_a_part_of_a_resource_is_not_known_yet(rule: str) -> None:
    chosen = [one for one in ALL_RULES if one.id == rule]
    program = {**WRONG, **DEV}[rule]
    config = parse_config({"profile": "dev" if rule in DEV else "prod"})
    for place, one in enumerate(program):
        for props in islice(with_one_unknown(one.props), 1, None):
            changed = [*program[:place], replace(one, props=props), *program[place + 1 :]]
            found = evaluate(changed, config, today=TODAY, rules=chosen)
            assert {each.verdict for each in found.findings} - {Verdict.PASS}, props
            assert not found.broken


def test_production_data_without_protection_is_rejected() -> None:
    rules = [one for one in ALL_RULES if one.id == "OPS003"]
    for protect, verdict in ((False, Verdict.FAIL), (True, Verdict.PASS), (None, Verdict.UNDECIDED)):
        plain = record(BUCKET, "data", {})
        one = Record(plain.urn, plain.type, plain.name, plain.props, {}, plain.provider, protect)
        found = evaluate([one], parse_config({"profile": "prod"}), today=date(2026, 12, 1), rules=rules)
        assert [each.verdict for each in found.findings] == [verdict]


def test_every_rule_is_tried_on_aws_or_says_why_not() -> None:
    assert {*WRONG, *DEV, *NOT_HERE} == {rule.id for rule in ALL_RULES}
    assert not {*WRONG, *DEV} & {*NOT_HERE}


def test_br_001_an_egress_rule_by_address_does_not_count_for_efa() -> None:
    rules = [one for one in ALL_RULES if one.id == "FAB011"]
    found = evaluate(WRONG["FAB011"], parse_config({}), today=date(2026, 12, 1), rules=rules)
    failing = found.of(Verdict.FAIL)
    assert len(failing) == 1
    assert "the security group ('efa') of pool 'trainers' lacks an egress self rule" in failing[0].message
