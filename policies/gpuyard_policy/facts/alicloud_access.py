"""Rights on Alibaba Cloud: policies of RAM, roles that anybody may take, and policies that are attached."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.alicloud_places import CLOUD
from gpuyard_policy.facts.alicloud_policies import is_for_everybody, is_wildcard, statements_of, wildcards_of
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, RoleFact, Unknown
from gpuyard_policy.facts.reading import as_list, as_text, first_unknown, items_of, read

POLICY = "alicloud:ram/policy:Policy"
ROLE = "alicloud:ram/role:Role"
MANAGER_POLICIES = (
    "alicloud:resourcemanager/policy:Policy",
    "alicloud:resourcemanager/policyVersion:PolicyVersion",
)
ATTACHMENTS = (
    "alicloud:ram/rolePolicyAttachment:RolePolicyAttachment",
    "alicloud:ram/userPolicyAttachment:UserPolicyAttachment",
    "alicloud:ram/groupPolicyAttachment:GroupPolicyAttachment",
    "alicloud:resourcemanager/policyAttachment:PolicyAttachment",
)
# The cloud's own policies that are a wildcard over all services; those of one service, as AliyunOSSFullAccess, are a
# choice of that service.
# Source: https://www.alibabacloud.com/help/en/ram/use-cases/use-ram-to-manage-permissions-of-o-and-m-engineers
_WIDE = ("AdministratorAccess", "PowerUserAccess")
_SYSTEM = "System"
_ANYBODY = "sts:AssumeRole for everybody"


def roles(record: Record, among: Among) -> Iterable[RoleFact]:
    """The grant of rights that a resource is, if it is one."""
    if record.type == POLICY:
        yield _fact(record, _of_policy(record.props))
    elif record.type in MANAGER_POLICIES and record.props.get("isDefaultVersion") is not False:
        yield _fact(record, wildcards_of(record.props.get("policyDocument")))
    elif record.type == ROLE:
        yield _fact(record, _of_role(record.props))
    elif record.type in ATTACHMENTS:
        kind, name = as_text(record.props.get("policyType")), as_text(record.props.get("policyName"))
        # A policy of somebody's own is judged where it is defined.
        if kind == _SYSTEM or isinstance(kind, Unknown):
            yield _fact(
                record, first_unknown(name, kind) or ((name,) if isinstance(name, str) and name in _WIDE else ())
            )


def _fact(record: Record, wildcards: tuple[str, ...] | Unknown) -> RoleFact:
    return RoleFact(record.urn, record.name, CLOUD, wildcards)


def _of_policy(props: Mapping[str, Any]) -> tuple[str, ...] | Unknown:
    document = props.get("policyDocument")
    told = wildcards_of(props.get("document") if document is None else document)
    # An older way to write a policy: statements as properties.
    statements = as_list(props.get("statements"))
    actions = [read(one, "actions") for one in items_of(statements) if read(one, "effect") == "Allow"]
    named = [action for several in actions for action in items_of(several)]
    wide = tuple(action for action in named if isinstance(action, str) and is_wildcard(action))
    return wide or told or first_unknown(statements, *items_of(statements), *actions, *named) or ()


def _of_role(props: Mapping[str, Any]) -> tuple[str, ...] | Unknown:
    document = props.get("assumeRolePolicyDocument")
    trust = statements_of(props.get("document") if document is None else document)
    takers = [is_for_everybody(one) for one in items_of(trust)]
    return (_ANYBODY,) if True in takers else first_unknown(trust, *takers) or ()
