"""Rights on Tencent Cloud: policies of CAM, and presets that are attached to roles, users and groups."""

from collections.abc import Iterable
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, RoleFact, Unknown
from gpuyard_policy.facts.tencentcloud_places import CLOUD
from gpuyard_policy.facts.tencentcloud_policies import wildcards_of

POLICIES = ("tencentcloud:Cam/policy:Policy", "tencentcloud:Cam/policyByName:PolicyByName")
POLICY_VERSION = "tencentcloud:Cam/policyVersion:PolicyVersion"
# Attachments, and the property that names the policy.
# Source: PyPI tencentcloud_iac_pulumi 0.2.3, module cam
ATTACHMENTS = {
    "tencentcloud:Cam/rolePolicyAttachment:RolePolicyAttachment": "policyId",
    "tencentcloud:Cam/rolePolicyAttachmentByName:RolePolicyAttachmentByName": "policyName",
    "tencentcloud:Cam/userPolicyAttachment:UserPolicyAttachment": "policyId",
    "tencentcloud:Cam/groupPolicyAttachment:GroupPolicyAttachment": "policyId",
}
# Presets that are a wildcard over all services, spelled in small letters; those of one service, as
# QcloudCOSFullAccess, are a choice of that service, as AWS's are.
# Source: https://www.tencentcloud.com/document/product/598/50254; Tencent Cloud CDN docs, preset policies
_WIDE = ("administratoraccess", "qcloudresourcefullaccess")
_BY_NUMBER = Unknown("it names its policy by a number, which is not one of this stack")
_NAMELESS = Unknown("it names no policy")


def roles(record: Record, among: Among) -> Iterable[RoleFact]:
    """The grant of rights that a resource is, if it is one."""
    if record.type in POLICIES:
        yield RoleFact(record.urn, record.name, CLOUD, wildcards_of(record.props.get("document")))
    elif record.type == POLICY_VERSION and record.props.get("setAsDefault") is not False:
        yield RoleFact(record.urn, record.name, CLOUD, wildcards_of(record.props.get("policyDocument")))
    elif record.type in ATTACHMENTS:
        key = ATTACHMENTS[record.type]
        named = record.props.get(key)
        # A policy of this stack is judged by itself.
        if not among.behind(record, key, *POLICIES) and not among.called(named, *POLICIES):
            yield RoleFact(record.urn, record.name, CLOUD, _wide(named, key))


def _wide(named: Any, key: str) -> tuple[str, ...] | Unknown:
    if isinstance(named, Unknown):
        return named
    if key == "policyId":
        return _NAMELESS if named is None else _BY_NUMBER
    if not isinstance(named, str):
        return _NAMELESS
    return (named,) if named.lower() in _WIDE else ()
