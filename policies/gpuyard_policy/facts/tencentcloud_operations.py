"""What watches a stack on Tencent Cloud: alarms of Cloud Monitor, and of Prometheus that is managed."""

import re
from collections.abc import Iterable
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import AlarmFact, Record, Unknown
from gpuyard_policy.facts.reading import as_number, first_unknown, items_of, read
from gpuyard_policy.facts.tencentcloud_places import CLOUD

ALARM = "tencentcloud:Monitor/alarmPolicy:AlarmPolicy"
PROMETHEUS_RULE = "tencentcloud:Monitor/tmpAlertRule:TmpAlertRule"
PROMETHEUS_GROUP = "tencentcloud:Monitor/tmpAlertGroup:TmpAlertGroup"
PROMETHEUS_TKE = "tencentcloud:Monitor/tmpTkeAlertPolicy:TmpTkeAlertPolicy"
IN_A_TEMPLATE = Unknown("its conditions are in a template, which the stack does not hold")
# Names of metrics of a GPU's utilization: of machines, of TKE, and of DCGM and NVIDIA's tools in Prometheus. Alarms
# spell some with underscores.
# Source: https://cloud.tencent.com/document/api/248/6843 (GpuUtil); Cloud Monitor docs, metrics of TKE, namespace
# QCE/TKE (K8sPodRateGpuUsedNode; stored copy in github tencentyun/intlcloud-documents);
# https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/feature-overview.html#profiling-metrics
_UTILIZATION = re.compile(
    r"gpu_?util|util\w*gpu|rate_?gpu_?used|dcgm_fi_prof_(gr_engine|sm|pipe_tensor)_active", re.IGNORECASE
)
# An alarm policy that is switched off; a rule of Prometheus that is.
# Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstrings of monitor.AlarmPolicy and monitor.TmpAlertGroupRuleArgs
_OFF, _RULE_OFF = 0, 3


def alarms(record: Record, among: Among) -> Iterable[AlarmFact]:
    """The alarm that a resource is, if it is one."""
    readers = {
        ALARM: _of_monitor,
        PROMETHEUS_RULE: _of_rule,
        PROMETHEUS_GROUP: _of_group,
        PROMETHEUS_TKE: _of_tke,
    }
    if record.type in readers:
        yield AlarmFact(record.urn, record.name, CLOUD, readers[record.type](record))


def _of_monitor(record: Record) -> bool | Unknown:
    """Whether an alarm policy watches GPUs: by the names of its metrics, which the cloud is asked for."""
    conditions = record.props.get("conditions")
    template = None if record.props.get("conditonTemplateId") is None else IN_A_TEMPLATE
    rules = read(conditions, "rules")
    watches = _watches(rules, template, *(read(rule, "metricName") for rule in items_of(rules)))
    return _if_on(record.props.get("enable"), _OFF, watches)


def _of_rule(record: Record) -> bool | Unknown:
    return _if_on(record.props.get("ruleState"), _RULE_OFF, _watches(record.props.get("expr")))


def _of_group(record: Record) -> bool | Unknown:
    rules = record.props.get("rules")
    return _any(rules, *(_if_on(read(one, "state"), _RULE_OFF, _watches(read(one, "expr"))) for one in items_of(rules)))


def _of_tke(record: Record) -> bool | Unknown:
    rules = read(record.props.get("alertRule"), "rules")
    return _watches(rules, *(read(rule, "rule") for rule in items_of(rules)))


def _watches(*names: Any) -> bool | Unknown:
    """Whether one of some names or expressions is of a GPU's utilization."""
    found = any(isinstance(name, str) and _UTILIZATION.search(name) for name in names)
    return True if found else first_unknown(*names) or False


def _any(*answers: Any) -> bool | Unknown:
    return True if any(one is True for one in answers) else first_unknown(*answers) or False


def _if_on(state: Any, off: int, watches: bool | Unknown) -> bool | Unknown:
    """What something watches while it is switched on; it is where it does not say."""
    known = as_number(state)
    if known == off or watches is False:
        return False
    return known if isinstance(known, Unknown) else watches
