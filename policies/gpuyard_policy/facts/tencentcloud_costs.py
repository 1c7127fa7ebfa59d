"""What a stack on Tencent Cloud costs and who pays: services that cost by themselves, and tags."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import BudgetFact, Record, ServiceFact, TaggedFact, Unknown
from gpuyard_policy.facts.reading import as_tags, as_text, first_unknown, items_of, merged, parsed, read
from gpuyard_policy.facts.tencentcloud_kubernetes import NATIVE_POOL, NODE_POOL
from gpuyard_policy.facts.tencentcloud_machines import SECURITY_GROUP, grouped_tags
from gpuyard_policy.facts.tencentcloud_places import CLOUD, SUBNET, region_of
from gpuyard_policy.facts.tencentcloud_pools import CONFIGURATION, GROUP, WORKSPACE
from gpuyard_policy.facts.tencentcloud_storage import BUCKET, DISK, FILE_SYSTEM
from gpuyard_policy.facts.tencentcloud_templates import MACHINE

BUDGET = "tencentcloud:Billing/budget:Budget"
NETWORK = "tencentcloud:Vpc/instance:Instance"
# Resources of an instance of Anti-DDoS that was bought, by its id; the threshold of an alarm may be of basic
# protection, which costs nothing.
# Source: PyPI tencentcloud_iac_pulumi 0.2.3, modules dayu and antiddos
_DDOS = ("tencentcloud:Dayu/", "tencentcloud:Antiddos/")
_DDOS_INSTANCES = ("instanceId", "resourceId", "bgpInstanceId")
_FREE = "tencentcloud:Antiddos/ipAlarmThresholdConfig:IpAlarmThresholdConfig"
# What a machine, a scaling configuration or an address names when it is protected by one that was bought.
_DDOS_PACKAGE = "antiDdosPackageId"
_PEERING = "tencentcloud:Vpc/peerConnectManager:PeerConnectManager"
_BANDWIDTH = "tencentcloud:Ccn/bandwidthLimit:BandwidthLimit"
# Resources that join regions, and the property that names the other one.
_JOINS = {
    _PEERING: "destinationRegion",
    _BANDWIDTH: "dstRegion",
    "tencentcloud:Ccn/attachment:Attachment": "instanceRegion",
    "tencentcloud:Ccn/attachmentV2:AttachmentV2": "instanceRegion",
}
# Types that take tags and that rules about tags are meant for; others are looked at where they have any.
# Source: PyPI tencentcloud_iac_pulumi 0.2.3: a set of machines and a snapshot policy take none.
_TAGGABLE = frozenset(
    (
        *(MACHINE, WORKSPACE, GROUP, CONFIGURATION, NODE_POOL, NATIVE_POOL),
        *(FILE_SYSTEM, BUCKET, DISK, NETWORK, SUBNET, SECURITY_GROUP),
    )
)
# What a budget limits: what is paid, not gifts, vouchers, shares of others or taxes; and months in its cycle.
# Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of billing.Budget (feeType, cycleType, planType, budgetQuota)
_PAID = ("COST", "REAL_COST", "CASH", "AMOUNT_BEFORE_TAX")
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def budgets(record: Record, among: Among) -> Iterable[BudgetFact]:
    """The budget of money that a resource is, if it is one; one of a quarter or a year by its month.

    It names no currency: bills are in CNY on the domestic site, and in USD on the international one.
    """
    fee = record.props.get("feeType")
    if record.type == BUDGET and (fee in _PAID or isinstance(fee, Unknown)):
        yield BudgetFact(record.urn, record.name, CLOUD, _monthly(record.props), None)


def _monthly(props: Mapping[str, Any]) -> float | None | Unknown:
    """What a month may cost; of a plan with an amount for each time the largest."""
    quota, cycle, plan = props.get("budgetQuota"), as_text(props.get("cycleType")), props.get("planType")
    unknown = first_unknown(quota, cycle, plan)
    if unknown is not None:
        return unknown
    months = _MONTHS.get(cycle) if isinstance(cycle, str) else None
    if months is None:
        return Unknown(f"its cycle '{cycle}' is none of a month or more")
    amounts: list[Any] = [read(one, "quota") for one in items_of(parsed(quota))] if plan == "CYCLE" else [quota]
    try:
        return max(map(float, amounts)) / months if amounts else None
    except (TypeError, ValueError):
        return Unknown(f"its quota '{quota}' is no amount")


def services(record: Record, among: Among) -> Iterable[ServiceFact]:
    """What a resource costs by being there: Anti-DDoS that was bought, or traffic to another region."""
    if record.type.startswith(_DDOS) and record.type != _FREE:
        if any(record.props.get(key) is not None for key in _DDOS_INSTANCES):
            yield ServiceFact(record.urn, record.name, CLOUD, "advanced_ddos")
    elif record.props.get(_DDOS_PACKAGE) is not None:
        yield ServiceFact(record.urn, record.name, CLOUD, "advanced_ddos")
    elif record.type in _JOINS:
        other = as_text(record.props.get(_JOINS[record.type]))
        own = as_text(record.props.get("region")) if record.type == _BANDWIDTH else region_of(record, among)
        if other is not None and other != own:
            where = first_unknown(other, own) or other
            yield ServiceFact(record.urn, record.name, CLOUD, "cross_region_traffic", where)


def tagged(record: Record, among: Among) -> Iterable[TaggedFact]:
    """A resource that takes tags; the provider has no tags of its own that it adds.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, ProviderArgs
    """
    if record.type in _TAGGABLE or record.props.get("tags") is not None:
        yield TaggedFact(record.urn, record.name, CLOUD, _tags_of(record))


def _tags_of(record: Record) -> Mapping[str, Any] | Unknown:
    """Tags of a resource: a scaling configuration's with those of its machines; some are in a list of lists."""
    if record.type == CONFIGURATION:
        return merged(as_tags(record.props.get("tags")), as_tags(record.props.get("instanceTags")))
    if record.type == WORKSPACE:
        return grouped_tags(record.props.get("tagSpecifications"))
    if record.type == NATIVE_POOL:
        return grouped_tags(record.props.get("tags"))
    return as_tags(record.props.get("tags"))
