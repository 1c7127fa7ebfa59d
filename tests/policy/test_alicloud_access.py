"""Who reaches what on Alibaba Cloud: security groups, rights, buckets, and disks of an account."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpuyard_policy.facts import Record, StorageFact, Unknown, collect_facts
from gpuyard_policy.facts.model import RoleFact, SecurityGroupFact
from tests.policy.alicloud_programs import (
    BUCKET_ACL,
    BUCKET_POLICY,
    LATER,
    NETWORK,
    RAM_POLICY,
    SECURITY_GROUP,
    SECURITY_RULE,
    allows,
    bucket,
    disk,
    made,
    node,
)

ENTERPRISE = {"securityGroupType": "enterprise", "vpcId": LATER}
ALL = {"ipProtocol": "all", "portRange": "-1/-1"}
OTHER_NETWORK = Unknown("which addresses its network has is not in this stack")


def opened(props: dict[str, Any], *rules: dict[str, Any], cidr: Any = "10.0.0.0/16") -> SecurityGroupFact:
    network = made(NETWORK, "vpc", {"cidrBlock": cidr})
    group = made(SECURITY_GROUP, "g", {"id": "sg-1", **props}, **({} if cidr is None else {"vpcId": network}))
    told = [made(SECURITY_RULE, f"r{place}", {"securityGroupId": "sg-1", **one}) for place, one in enumerate(rules)]
    (found,) = collect_facts([network, group, *told]).security_groups
    return found


@pytest.mark.parametrize(
    ("rule", "cidr", "inside"),
    [
        ({**ALL, "type": "ingress", "cidrIp": "10.0.0.0/8"}, "10.0.0.0/16", True),
        ({**ALL, "type": "ingress", "cidrIp": "10.0.0.0/24"}, "10.0.0.0/16", False),
        ({**ALL, "type": "ingress", "cidrIp": "0.0.0.0/0"}, None, True),
        ({**ALL, "type": "ingress", "cidrIp": "10.0.0.0/8"}, None, OTHER_NETWORK),
        ({**ALL, "type": "ingress", "cidrIp": LATER}, "10.0.0.0/16", LATER),
        ({**ALL, "type": "ingress", "cidrIp": "10.0.0.0/8", "policy": "drop"}, "10.0.0.0/16", False),
        ({"type": "ingress", "ipProtocol": "tcp", "portRange": "22/22", "cidrIp": "0.0.0.0/0"}, "10.0.0.0/16", False),
        ({**ALL, "type": "ingress", "cidrIp": "everywhere"}, "10.0.0.0/16", False),
        ({**ALL, "type": "ingress", "cidrIp": "fd00::/8"}, "10.0.0.0/16", False),
    ],
)
def test_a_rule_of_addresses_opens_an_enterprise_group_that_cannot_name_groups(rule: Any, cidr: Any, inside: Any):
    found = opened(ENTERPRISE, rule, cidr=cidr)
    assert (found.open_to_itself_in, found.open_to_itself_out) == (inside, False)


def test_a_group_that_isolates_its_members_is_opened_by_a_rule_that_names_it():
    apart = {"innerAccessPolicy": "Drop"}
    assert opened(apart).open_to_itself_in is False
    assert opened(apart, {**ALL, "type": "ingress", "sourceSecurityGroupId": "sg-1"}).open_to_itself_in is True
    assert opened(apart, {**ALL, "type": "ingress", "sourceSecurityGroupId": "sg-2"}).open_to_itself_in is False
    assert opened({"innerAccess": False}).open_to_itself_in is False
    out = {**ALL, "type": "egress", "cidrIp": "0.0.0.0/0"}
    assert opened(ENTERPRISE, out).open_to_itself_out is True


def let_in(*records: Record) -> list[tuple[Any, Any]]:
    return [(one.cidr, one.ports) for one in collect_facts(records).ingress]


def test_a_rule_lets_in_what_its_prefix_list_holds():
    entries = [{"cidr": "0.0.0.0/0"}, {"cidr": LATER}]
    offices = made("alicloud:ecs/ecsPrefixList:EcsPrefixList", "offices", {"id": "pl-1", "entries": entries})
    rule = {"type": "ingress", "ipProtocol": "tcp", "portRange": "22/22", "securityGroupId": "sg-1"}
    by_list = made(SECURITY_RULE, "r", {**rule, "prefixListId": "pl-1"})
    assert let_in(offices, by_list) == [("0.0.0.0/0", (22, 22)), (LATER, (22, 22))]
    assert let_in(by_list) == [(Unknown("its prefix list is not in this stack"), (22, 22))]
    assert let_in(made(SECURITY_RULE, "r", {**rule, "sourceSecurityGroupId": "sg-2"})) == []


@pytest.mark.parametrize("key", ["type", "policy"])
def test_a_rule_that_may_be_of_the_other_way_or_refuse_is_open(key: str):
    rule = {"type": "ingress", "ipProtocol": "tcp", "portRange": "1/65535", "cidrIp": "0.0.0.0/0", key: LATER}
    assert let_in(made(SECURITY_RULE, "r", rule)) == [(LATER, None)]


def rights(kind: str, props: dict[str, Any]) -> list[RoleFact]:
    return list(collect_facts([made(kind, "r", props)]).roles)


EVERYTHING_BUT = json.dumps({"Statement": [{"Effect": "Allow", "NotAction": ["ram:*"], "Resource": "*"}]})
ANYBODY = json.dumps({"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"RAM": ["*"]}}]})
NODES = json.dumps(
    {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": ["ecs.aliyuncs.com"]}}]}
)
ROLE = "alicloud:ram/role:Role"
ATTACHED = "alicloud:ram/rolePolicyAttachment:RolePolicyAttachment"
VERSION = "alicloud:resourcemanager/policyVersion:PolicyVersion"


@pytest.mark.parametrize(
    ("kind", "props", "wide"),
    [
        (RAM_POLICY, {"policyDocument": allows("oss:*")}, ("oss:*",)),
        (RAM_POLICY, {"document": allows("*")}, ("*",)),
        (RAM_POLICY, {"policyDocument": EVERYTHING_BUT}, ("everything but ram:*",)),
        (RAM_POLICY, {"statements": [{"effect": "Allow", "actions": ["ecs:*"], "resources": ["*"]}]}, ("ecs:*",)),
        (RAM_POLICY, {"statements": [{"effect": "Deny", "actions": ["ecs:*"], "resources": ["*"]}]}, ()),
        (RAM_POLICY, {"statements": LATER}, LATER),
        (VERSION, {"policyDocument": allows("oss:*"), "isDefaultVersion": True}, ("oss:*",)),
        (ROLE, {"assumeRolePolicyDocument": ANYBODY}, ("sts:AssumeRole for everybody",)),
        (ROLE, {"assumeRolePolicyDocument": NODES}, ()),
        (ROLE, {"document": LATER}, LATER),
        (ATTACHED, {"policyType": "System", "policyName": "AdministratorAccess"}, ("AdministratorAccess",)),
        (ATTACHED, {"policyType": "System", "policyName": "AliyunOSSReadOnlyAccess"}, ()),
        (ATTACHED, {"policyType": "System", "policyName": LATER}, LATER),
    ],
)
def test_rights_by_a_bare_wildcard(kind: str, props: dict[str, Any], wide: Any):
    assert [one.wildcards for one in rights(kind, props)] == [wide]


def test_what_is_judged_elsewhere_is_not_told_twice():
    assert rights(ATTACHED, {"policyType": "Custom", "policyName": "nodes"}) == []
    assert rights(VERSION, {"policyDocument": allows("*"), "isDefaultVersion": False}) == []


def stored(props: dict[str, Any], *others: Record) -> StorageFact:
    (found,) = collect_facts([bucket(**props), *others]).storage
    return found


def beside(kind: str, **props: Any) -> Record:
    return made(kind, "beside", {"bucket": "trial-weights", **props})


def for_all(**more: Any) -> str:
    statement = {"Effect": "Allow", "Principal": ["*"], "Action": ["oss:GetObject"], "Resource": ["*"], **more}
    return json.dumps({"Version": "1", "Statement": [statement]})


BLOCK, ACCOUNT_BLOCK = (
    "oss/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "oss/accountPublicAccessBlock:AccountPublicAccessBlock",
)
INSIDE = {"Condition": {"StringEquals": {"acs:SourceVpc": ["vpc-1"]}}}


@pytest.mark.parametrize(
    ("others", "public"),
    [
        ([beside(BUCKET_ACL, acl="public-read-write")], True),
        ([beside(BUCKET_POLICY, policy=for_all())], True),
        ([beside(BUCKET_POLICY, policy=for_all(**INSIDE))], False),
        ([beside(BUCKET_POLICY, policy=LATER)], LATER),
        ([beside(BUCKET_ACL, acl="public-read"), beside(f"alicloud:{BLOCK}", blockPublicAccess=True)], False),
        ([beside(BUCKET_ACL, acl="public-read"), beside(f"alicloud:{BLOCK}", blockPublicAccess=False)], True),
        ([beside(BUCKET_ACL, acl="public-read"), beside(f"alicloud:{BLOCK}", blockPublicAccess=LATER)], LATER),
        (
            [
                beside(BUCKET_ACL, acl="public-read"),
                made(f"alicloud:{ACCOUNT_BLOCK}", "a", {"blockPublicAccess": True}),
            ],
            False,
        ),
    ],
)
def test_a_bucket_is_public_by_its_acl_or_policy_unless_that_is_blocked(others: list[Record], public: Any):
    assert stored({}, *others).public == public
    assert stored({}).public is False


def test_encryption_may_stand_beside_a_bucket():
    kind = "alicloud:oss/bucketServerSideEncryption:BucketServerSideEncryption"
    assert stored({}, beside(kind, sseAlgorithm="KMS")).encrypted is True
    assert stored({}, beside(kind, sseAlgorithm=LATER)).encrypted == LATER
    assert stored({}, made(kind, "other", {"bucket": "another", "sseAlgorithm": "KMS"})).encrypted is False


@pytest.mark.parametrize(
    ("rule", "expires"),
    [
        ({"enabled": True, "abortMultipartUploads": [{"days": 3.0}]}, True),
        ({"enabled": False, "expirations": [{"days": 3.0}]}, False),
        ({"enabled": True, "transitions": [{"days": 30.0, "storageClass": "IA"}]}, False),
        ({"enabled": LATER, "expirations": [{"days": 3.0}]}, LATER),
        ({"enabled": True, "expirations": LATER}, LATER),
        (LATER, LATER),
    ],
)
def test_one_rule_that_ends_something_is_enough(rule: Any, expires: Any):
    assert stored({"lifecycleRules": [rule]}).expires == expires


def test_a_bucket_whose_tags_are_not_known_may_be_a_replica():
    assert stored({"tags": LATER}).is_replica == LATER
    assert stored({"tags": {"gpuyard:role": LATER}}).is_replica == LATER


def test_a_policy_that_refuses_plain_http_to_some_leaves_it_to_the_others():
    condition = {"Condition": {"Bool": {"acs:SecureTransport": ["false"]}}}
    some = for_all(Effect="Deny", Principal=["20214760404935xxxx"], **condition)
    assert stored({}, beside(BUCKET_POLICY, policy=some)).https_only is False
    assert stored({}, beside(BUCKET_POLICY, policy=for_all(Effect="Deny", **condition))).https_only is True


DEFAULT = "alicloud:ecs/diskEncryptionByDefault:DiskEncryptionByDefault"


@pytest.mark.parametrize(
    ("said", "default", "region", "encrypted"),
    [
        (None, True, "cn-beijing", True),
        (None, False, "cn-beijing", False),
        (None, True, "cn-shanghai", False),
        (None, LATER, "cn-beijing", LATER),
        (False, True, "cn-beijing", False),
    ],
)
def test_an_account_may_encrypt_all_disks_of_a_region(said: Any, default: Any, region: str, encrypted: Any):
    account = made(DEFAULT, "account", {"encrypted": default}, region)
    facts = collect_facts([disk(encrypted=said), node(systemDiskEncrypted=said), account])
    assert facts.disks[0].encrypted == encrypted
    (machine,) = facts.node_pools
    assert not isinstance(machine.disks, Unknown)
    assert machine.disks[0].encrypted == encrypted
