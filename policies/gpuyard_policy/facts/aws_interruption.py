"""Who learns on AWS that a machine is about to be taken away."""

from typing import Any

from gpuyard_policy.facts.among import Among, linked
from gpuyard_policy.facts.aws_places import region_of
from gpuyard_policy.facts.model import Record, Unknown
from gpuyard_policy.facts.reading import first_unknown, items_of, read, watches_for

HOOK = "aws:autoscaling/lifecycleHook:LifecycleHook"
EVENT_RULE = "aws:cloudwatch/eventRule:EventRule"
_TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING"
# Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
_EVENTS = ("EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation")
_NOTICES = ("spot/instance-action", "spot/termination-time", "events/recommendations/rebalance")


def is_told(pool: Record, user_data: str | None | Unknown, among: Among) -> bool | Unknown:
    """Whether a hook, a rule on the cloud's notices, or the machine itself takes notice before a machine goes."""
    hooks = [one.props.get("lifecycleTransition") for one in linked(pool, "autoscalingGroupName", among, HOOK)]
    hooks += [read(one, "lifecycleTransition") for one in items_of(pool.props.get("initialLifecycleHooks"))]
    if _TERMINATING in hooks:
        return True
    if watches_for(user_data, *_NOTICES):
        return True
    listens: Any = among.once("listens to interruptions", lambda: _listeners(among)).get(region_of(pool, among), False)
    if listens is True:
        return True
    # What the notices reach may be in the machine's image, but nothing in the stack says so.
    return first_unknown(*hooks, pool.props.get("initialLifecycleHooks"), listens, user_data) or False


def _listeners(among: Among) -> dict[str | Unknown, bool | Unknown]:
    """By region, whether a rule listens to the notices: they come for every spot machine of the region."""
    found: dict[str | Unknown, bool | Unknown] = {}
    for rule in among.of_type(EVENT_RULE):
        pattern, region = rule.props.get("eventPattern"), region_of(rule, among)
        if isinstance(pattern, str) and any(event in pattern for event in _EVENTS):
            found[region] = True
        elif isinstance(pattern, Unknown):
            found.setdefault(region, pattern)
    return found
