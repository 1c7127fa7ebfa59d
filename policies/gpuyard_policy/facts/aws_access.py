"""Rights on AWS: roles, their policies, and who may take a role."""

from collections.abc import Iterable
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.aws_places import CLOUD
from gpuyard_policy.facts.aws_policies import is_for_everybody, statements_of, wildcards_of
from gpuyard_policy.facts.model import Record, RoleFact, Unknown
from gpuyard_policy.facts.reading import as_list, first_unknown, items_of, read

ROLE = "aws:iam/role:Role"
POLICIES = (
    "aws:iam/policy:Policy",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/userPolicy:UserPolicy",
    "aws:iam/groupPolicy:GroupPolicy",
)
ATTACHMENTS = (
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:iam/userPolicyAttachment:UserPolicyAttachment",
    "aws:iam/groupPolicyAttachment:GroupPolicyAttachment",
    "aws:iam/policyAttachment:PolicyAttachment",
)
# AWS's own policies that are a wildcard by themselves.
# Source: https://docs.aws.amazon.com/aws-managed-policy/latest/reference/about-managed-policy-reference.html
_WIDE = ("AdministratorAccess", "PowerUserAccess")
_ANYBODY = "sts:AssumeRole for everybody"


def roles(record: Record, among: Among) -> Iterable[RoleFact]:
    """The grant of rights that a resource is, if it is one."""
    if record.type == ROLE:
        yield RoleFact(record.urn, record.name, CLOUD, _of_role(record))
    elif record.type in POLICIES:
        yield RoleFact(record.urn, record.name, CLOUD, wildcards_of(record.props.get("policy")))
    elif record.type in ATTACHMENTS:
        named = record.props.get("policyArn")
        if isinstance(named, Unknown) and among.behind(record, "policyArn", *POLICIES):
            # A policy of this stack is judged by itself.
            return
        yield RoleFact(record.urn, record.name, CLOUD, _wide(named))


def _of_role(role: Record) -> tuple[str, ...] | Unknown:
    inline, managed = as_list(role.props.get("inlinePolicies")), as_list(role.props.get("managedPolicyArns"))
    found: list[Any] = [wildcards_of(read(one, "policy")) for one in items_of(inline)]
    # A managed policy of another resource is judged where it is defined, so that one unknown id hides nothing here.
    found += [_wide(one) for one in items_of(managed) if isinstance(one, str)]
    trust = statements_of(role.props.get("assumeRolePolicy"))
    takers = [is_for_everybody(one) for one in items_of(trust)]
    wide = [text for one in found if not isinstance(one, Unknown) for text in one]
    if True in takers:
        wide.append(_ANYBODY)
    return tuple(dict.fromkeys(wide)) or first_unknown(inline, managed, trust, *found, *takers) or ()


def _wide(arn: Any) -> tuple[str, ...] | Unknown:
    if isinstance(arn, Unknown):
        return arn
    name = arn.rsplit("/", 1)[-1] if isinstance(arn, str) and ":aws:policy/" in arn else None
    return (name,) if name in _WIDE else ()
