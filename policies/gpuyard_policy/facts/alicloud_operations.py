"""What watches a stack on Alibaba Cloud, what costs by itself in it, and its tags.

There is no budget: the provider has no resource of one.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.alicloud_buckets import BUCKET
from gpuyard_policy.facts.alicloud_disks import DISKS, SCHEDULES
from gpuyard_policy.facts.alicloud_file_systems import FILE_SYSTEM
from gpuyard_policy.facts.alicloud_machines import TEMPLATES
from gpuyard_policy.facts.alicloud_network import NETWORK, SECURITY_GROUP
from gpuyard_policy.facts.alicloud_places import CLOUD, SWITCHES, named_by, region_of
from gpuyard_policy.facts.alicloud_pools import CONFIGURATION, GROUP, INSTANCE, NODE_POOL, SET
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import AlarmFact, Record, ServiceFact, TaggedFact, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_tags, as_text, first_unknown, items_of, merged, read

ALARM = "alicloud:cms/alarm:Alarm"
GROUP_RULE = "alicloud:cms/groupMetricRule:GroupMetricRule"
TEMPLATE = "alicloud:cms/metricRuleTemplate:MetricRuleTemplate"
ALERT_RULE = "alicloud:cms/alertRuleV2:AlertRuleV2"
PROMETHEUS_RULE = "alicloud:arms/prometheusAlertRule:PrometheusAlertRule"
LOG_ALERT = "alicloud:log/alert:Alert"
DASHBOARD = "alicloud:log/dashboard:Dashboard"
# Where each names what it looks at: paths in which every step passes through lists.
# Source: PyPI pulumi_alicloud 4.0.0, modules cms, arms and log
_LOOKS_AT: Mapping[str, tuple[tuple[str, ...], ...]] = {
    ALARM: (
        ("metric",),
        ("compositeExpression", "expressionRaw"),
        ("compositeExpression", "expressionLists", "metricName"),
        ("prometheuses", "promQl"),
    ),
    GROUP_RULE: (("metricName",),),
    TEMPLATE: (("alertTemplates", "metricName"),),
    ALERT_RULE: (
        *(("queryConfig", key) for key in ("metric", "promQl", "expr")),
        ("conditionConfig", "prometheuses", "promQl"),
        ("conditionConfig", "simpleEscalations", "metricName"),
        ("conditionConfig", "compositeEscalations", "escalations", "metricName"),
        ("conditionConfig", "expressEscalations", "rawExpression"),
    ),
    PROMETHEUS_RULE: (("expression",),),
    LOG_ALERT: (("queryLists", "query"),),
    DASHBOARD: (("charList",),),
}
# Names of metrics of a GPU's utilization: of CloudMonitor, of NVIDIA's tools and of DCGM. Memory and heat are none.
# Source: gpuyard.catalog, limit alarm_gpu_metrics;
# https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/feature-overview.html#profiling-metrics
_UTILIZATION = re.compile(
    r"gpu_?(used_?)?util|util\w*gpu|dcgm_fi_prof_(gr_engine|sm|pipe_tensor)_active", re.IGNORECASE
)
# Anti-DDoS that is bought, and resources of an instance of it; thresholds of the basic one cost nothing.
# Source: PyPI pulumi_alicloud 4.0.0, module ddos
_DDOS = ("alicloud:ddos/ddosCooInstance:DdosCooInstance", "alicloud:ddos/ddosBgpInstance:DdosBgpInstance")
_DDOS_PARTS = {
    "alicloud:ddos/bgpIp:BgpIp": "instanceId",
    "alicloud:ddos/port:Port": "instanceId",
    "alicloud:ddos/domainResource:DomainResource": "instanceIds",
}
# Resources that join regions, and the property that names the other one.
# Source: PyPI pulumi_alicloud 4.0.0, modules vpc, expressconnect and cen
_BANDWIDTH = "alicloud:cen/bandwidthLimit:BandwidthLimit"
_JOINS = {
    "alicloud:vpc/peerConnection:PeerConnection": "acceptingRegionId",
    "alicloud:vpc/routerInterface:RouterInterface": "oppositeRegion",
    "alicloud:expressconnect/routerInterface:RouterInterface": "oppositeRegionId",
    "alicloud:cen/transitRouterPeerAttachment:TransitRouterPeerAttachment": "peerTransitRouterRegionId",
    "alicloud:cen/instanceAttachment:InstanceAttachment": "childInstanceRegionId",
    _BANDWIDTH: "regionIds",
}
# Types that take tags and that rules about tags are meant for; others are looked at where they have any.
_TAGGABLE = frozenset(
    (
        *(INSTANCE, SET, GROUP, CONFIGURATION, NODE_POOL, *TEMPLATES, *DISKS, *SCHEDULES),
        *(FILE_SYSTEM, BUCKET, SECURITY_GROUP, NETWORK, *SWITCHES),
    )
)


def alarms(record: Record, among: Among) -> Iterable[AlarmFact]:
    """The alarm or dashboard that a resource is; those of Auto Scaling change sizes and tell nobody."""
    if record.type not in _LOOKS_AT:
        return
    names = [name for path in _LOOKS_AT[record.type] for name in _at(record.props, path)]
    told = any(isinstance(name, str) and _UTILIZATION.search(name) for name in names) or first_unknown(*names) or False
    enabled = as_flag(record.props.get("enabled"))
    watches = False if enabled is False or told is False else first_unknown(enabled) or told
    yield AlarmFact(record.urn, record.name, CLOUD, watches)


def services(record: Record, among: Among) -> Iterable[ServiceFact]:
    """What a resource costs by being there: Anti-DDoS that is bought, or traffic to another region."""
    if record.type in _DDOS:
        yield ServiceFact(record.urn, record.name, CLOUD, "advanced_ddos")
    elif record.type in _DDOS_PARTS:
        # Parts of an instance of this stack are told of once, with the instance.
        if not named_by(record, _DDOS_PARTS[record.type], among, *_DDOS):
            yield ServiceFact(record.urn, record.name, CLOUD, "advanced_ddos")
    elif record.type in _JOINS:
        own, named = region_of(record, among), as_list(record.props.get(_JOINS[record.type]))
        others = [named] if isinstance(named, Unknown) else [as_text(one) for one in named if one != own]
        if others or not named:
            other = next((one for one in others if isinstance(one, str)), others[0] if others else None)
            unknown = own if isinstance(own, Unknown) and record.type != _BANDWIDTH else None
            yield ServiceFact(record.urn, record.name, CLOUD, "cross_region_traffic", unknown or other)


def tagged(record: Record, among: Among) -> Iterable[TaggedFact]:
    """A resource that takes tags; the provider has none of its own that it adds.

    Source: PyPI pulumi_alicloud 4.0.0, ProviderArgs
    """
    if record.type in _TAGGABLE or record.props.get("tags") is not None:
        tags = as_tags(record.props.get("tags"))
        # A launch template has tags of its own beside those that it gives to machines.
        own = as_tags(record.props.get("templateTags"))
        yield TaggedFact(record.urn, record.name, CLOUD, merged(tags, own) if record.type in TEMPLATES else tags)


def _at(value: Any, path: tuple[str, ...]) -> list[Any]:
    """Every value at the end of a path, or what is unknown on the way."""
    if not path or isinstance(value, Unknown):
        return [value]
    return [found for item in items_of(value) for found in _at(read(item, path[0]), path[1:])]
