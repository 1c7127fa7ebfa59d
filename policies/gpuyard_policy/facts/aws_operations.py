"""What watches and bills a stack on AWS: alarms, budgets, services that cost by themselves, and tags."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.aws_buckets import BUCKETS
from gpuyard_policy.facts.aws_machines import PLACEMENT_GROUP, SECURITY_GROUPS, TEMPLATE
from gpuyard_policy.facts.aws_places import CLOUD, SUBNETS, region_of, tags_of
from gpuyard_policy.facts.aws_snapshots import PLAN, POLICY, VAULT
from gpuyard_policy.facts.aws_storage import FILE_SYSTEMS, VOLUME
from gpuyard_policy.facts.aws_templates import EKS_NODE_GROUP, FLEET, GROUP, INSTANCE, SPOT_REQUEST
from gpuyard_policy.facts.model import AlarmFact, BudgetFact, Record, ServiceFact, TaggedFact, Unknown
from gpuyard_policy.facts.reading import as_list, as_text, first_unknown, items_of, parsed, read

ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"
DASHBOARD = "aws:cloudwatch/dashboard:Dashboard"
RULE_GROUP = "aws:amp/ruleGroupNamespace:RuleGroupNamespace"
BUDGET = "aws:budgets/budget:Budget"
SHIELD = ("aws:shield/subscription:Subscription", "aws:shield/protection:Protection")
# Resources that join regions, and the property that names the other one.
_JOINS = {
    "aws:ec2/vpcPeeringConnection:VpcPeeringConnection": "peerRegion",
    "aws:ec2transitgateway/peeringAttachment:PeeringAttachment": "peerRegion",
    "aws:ec2/vpcEndpoint:VpcEndpoint": "serviceRegion",
}
# Types that take tags and that rules about tags are meant for; others are looked at where they have any.
_OBJECTS = ("aws:s3/bucketObject:BucketObject", "aws:s3/bucketObjectv2:BucketObjectv2")
_TAGGABLE = frozenset(
    (
        *BUCKETS,
        *FILE_SYSTEMS,
        *SECURITY_GROUPS,
        *SUBNETS,
        VOLUME,
        GROUP,
        FLEET,
        EKS_NODE_GROUP,
        INSTANCE,
        SPOT_REQUEST,
        TEMPLATE,
        PLACEMENT_GROUP,
        POLICY,
        PLAN,
        VAULT,
        ALARM,
        BUDGET,
    )
)
# Names of metrics of a GPU's utilization: of NVIDIA's tools, of DCGM, and of exporters that rename them.
# Source: https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/feature-overview.html#profiling-metrics and
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Agent-NVIDIA-GPU.html
_UTILIZATION = re.compile(r"gpu\w*util|util\w*gpu|dcgm_fi_prof_(gr_engine|sm|pipe_tensor)_active", re.IGNORECASE)
_MONTHS = {"MONTHLY": 1, "QUARTERLY": 3, "ANNUALLY": 12}


def alarms(record: Record, among: Among) -> Iterable[AlarmFact]:
    """The alarm or dashboard that a resource is, if it is one."""
    if record.type == ALARM:
        queries = as_list(record.props.get("metricQueries"))
        names = [record.props.get("metricName"), queries]
        for query in items_of(queries):
            names += [query, read(query, "metric", "metricName"), read(query, "expression")]
    elif record.type == DASHBOARD:
        names = _metrics_in(parsed(record.props.get("dashboardBody")))
    elif record.type == RULE_GROUP:
        names = [record.props.get("data")]
    else:
        return
    watches = any(isinstance(name, str) and _UTILIZATION.search(name) for name in names)
    yield AlarmFact(record.urn, record.name, CLOUD, watches or first_unknown(*names) or False)


def budgets(record: Record, among: Among) -> Iterable[BudgetFact]:
    """The budget of money that a resource is, if it is one; one of a quarter or a year by its month."""
    if record.type != BUDGET or record.props.get("budgetType") not in ("COST", None):
        return
    amount, unit = record.props.get("limitAmount"), as_text(record.props.get("timeUnit"))
    yield BudgetFact(record.urn, record.name, CLOUD, _monthly(amount, unit), as_text(record.props.get("limitUnit")))


def services(record: Record, among: Among) -> Iterable[ServiceFact]:
    """What a resource costs by being there: Shield Advanced, or traffic to another region."""
    if record.type in SHIELD:
        yield ServiceFact(record.urn, record.name, CLOUD, "advanced_ddos")
    elif record.type in _JOINS:
        other = as_text(record.props.get(_JOINS[record.type]))
        if other is not None and other != region_of(record, among):
            yield ServiceFact(record.urn, record.name, CLOUD, "cross_region_traffic", other)


def tagged(record: Record, among: Among) -> Iterable[TaggedFact]:
    """A resource that takes tags; an object of a bucket takes ten at most, and its bucket is what is paid for."""
    if record.type in _OBJECTS:
        return
    if record.type in _TAGGABLE or any(record.props.get(key) is not None for key in ("tags", "tagsAll")):
        yield TaggedFact(record.urn, record.name, CLOUD, tags_of(record))


def _metrics_in(body: Any) -> list[Any]:
    """Texts below the metrics and expressions of a dashboard's widgets; text widgets watch nothing."""
    widgets = read(body, "widgets")
    found: list[Any] = [body, widgets]
    for widget in items_of(widgets):
        found += [widget, *_texts_in(read(widget, "properties", "metrics"))]
        found.append(read(widget, "properties", "query"))
    return found


def _texts_in(value: Any) -> list[Any]:
    if isinstance(value, (str, Unknown)):
        return [value]
    if isinstance(value, Mapping):
        return _texts_in(read(value, "expression"))
    return [text for item in items_of(value) if item is not value for text in _texts_in(item)]


def _monthly(amount: Any, unit: str | None | Unknown) -> float | None | Unknown:
    unknown = first_unknown(amount, unit)
    if unknown is not None:
        return unknown
    months = _MONTHS.get(unit) if isinstance(unit, str) else None
    if months is None:
        return Unknown(f"its time unit '{unit}' is none of a month or more")
    try:
        return None if amount is None else float(amount) / months
    except (TypeError, ValueError):
        return Unknown(f"its limit '{amount}' is no number")
