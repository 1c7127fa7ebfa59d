"""Who learns on Alibaba Cloud that a machine is about to be taken away."""

from typing import Any

from gpuyard_policy.facts.alicloud_places import region_of
from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import first_unknown, items_of, read, watches_for

HOOK = "alicloud:ess/lifecycleHook:LifecycleHook"
EVENT_RULE = "alicloud:cms/eventRule:EventRule"
BUS_RULE = "alicloud:eventbridge/rule:Rule"
_LEAVING = "SCALE_IN"
# Source: https://www.alibabacloud.com/help/doc-detail/169971.htm
_EVENT = "Instance:PreemptibleInstanceInterruption"
# Source: https://www.alibabacloud.com/help/en/ecs/user-guide/best-practices-for-preemptible-instances/
_NOTICE = "spot/termination-time"


def is_told(pool: Record, user_data: str | None | Unknown, among: Among) -> bool | Unknown:
    """Whether a hook, a rule on the cloud's events, or the machine itself takes notice before a machine goes."""
    hooks = [one.props.get("lifecycleTransition") for one in linked(pool, "scalingGroupId", among, HOOK)]
    if _LEAVING in hooks or watches_for(user_data, _NOTICE):
        return True
    listens: Any = among.once("listens to alicloud interruptions", lambda: _listeners(among))
    here = listens.get(region_of(pool, among), False)
    return here is True or first_unknown(*hooks, here, user_data) or False


def _listeners(among: Among) -> dict[str | Unknown, bool | Unknown]:
    """By region, whether a rule listens to the event: it comes for every spot machine of the region."""
    found: dict[str | Unknown, bool | Unknown] = {}
    for rule in among.of_type(EVENT_RULE, BUS_RULE):
        region, listens = region_of(rule, among), _listens(rule)
        if listens is True:
            found[region] = True
        elif listens is not False:
            found.setdefault(region, listens)
    return found


def _listens(rule: Record) -> bool | Unknown:
    status = rule.props.get("status")
    if status in ("DISABLED", "DISABLE"):
        return False
    if rule.type == BUS_RULE:
        told: list[Any] = [rule.props.get("filterPattern")]
    else:
        pattern = rule.props.get("eventPattern")
        names = read(pattern, "nameLists")
        told = [pattern, names, *items_of(names)]
    named = any(isinstance(one, str) and _EVENT in one for one in told)
    return (first_unknown(status) or True) if named else first_unknown(*told) or False
