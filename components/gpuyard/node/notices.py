"""What it means that this node is about to go, and how long it has then."""

import calendar
import json
import time
from typing import Any, NamedTuple, Optional

from gpuyard.node import settings

# No two clocks of the world differ by more: a time that is further off is not of a wrong zone, it is no time.
_ZONES_SECONDS = 14 * 3600


class UnreadableError(ValueError):
    """An answer that is no notice, and is not the answer that there is none."""


class Notice(NamedTuple):
    """That this node may go.

    ``kind``: spot, rebalance, maintenance or scale_in; ``when``: the earliest time that it goes, in seconds since 1970,
    None when that is not said; ``must``: whether it goes for certain; ``detail``: which event it is, the same each time
    that it is read.
    """

    kind: str
    when: Optional[float]
    must: bool
    detail: str


class Rules(NamedTuple):
    """What this node obeys.

    ``notice_seconds``: what its cloud gives a spot machine between notice and end; ``checkpoint_seconds``: what a
    checkpoint takes, and what the scaler's hook waits; ``leaves_on_rebalance``: whether a recommendation is enough;
    ``booted_at``: when the machine began, in seconds since 1970.
    """

    notice_seconds: float
    checkpoint_seconds: float
    margin_seconds: float
    leaves_on_rebalance: bool
    booted_at: float


def checkpoint_seconds() -> float:
    """How long a checkpoint may take: ``GPUYARD_CHECKPOINT_SECONDS`` (120)."""
    return settings.number("CHECKPOINT_SECONDS", 120)


def margin_seconds() -> float:
    """How long before the end the jobs are ended, for what comes after them: ``GPUYARD_MARGIN_SECONDS`` (30)."""
    return settings.number("MARGIN_SECONDS", 30)


def seconds_left(notice: Notice, rules: Rules, now: float) -> Optional[float]:
    """How long the node has when it leaves for this notice now.

    A spot machine's time is believed when it lies within twice the cloud's notice: a clock or a zone may be wrong, the
    notice is not. Maintenance of before the machine began is over, though it may still be listed.

    Args:
        notice: The notice.
        rules: What this node obeys.
        now: Seconds since 1970.

    Returns:
        Seconds, or None when the node stays: the notice is noted, and no more.
    """
    left = 0 if notice.when is None else notice.when - now
    if notice.kind == "spot":
        return left if 0 < left <= 2 * rules.notice_seconds else rules.notice_seconds
    if notice.kind == "scale_in" or (notice.kind == "rebalance" and rules.leaves_on_rebalance):
        return rules.checkpoint_seconds
    if not notice.must or not rules.booted_at <= (notice.when or 0):
        return None
    return max(left, rules.margin_seconds) if left <= rules.checkpoint_seconds + rules.margin_seconds else None


def spot_at(when: float, detail: str) -> Notice:
    """The notice of a cloud that tells nothing but the time; one of another day is unreadable."""
    if abs(when - time.time()) > _ZONES_SECONDS:
        raise UnreadableError(f"{detail} is no time of today")
    return Notice("spot", when, True, detail)


def seconds_of(text: Any, form: str) -> float:
    """A time of UTC as seconds since 1970, unreadable when it has another form."""
    try:
        return calendar.timegm(time.strptime(text, form))
    except (TypeError, ValueError):
        raise UnreadableError(f"{str(text)[:60]!r} is no time") from None


def json_of(text: str, kind: Any = object) -> Any:
    """A document of one kind, unreadable when it is no JSON or another one."""
    try:
        found = json.loads(text)
    except ValueError:
        raise UnreadableError(f"{text[:60]!r} is no JSON") from None
    if not isinstance(found, kind):
        raise UnreadableError(f"{text[:60]!r} is no {kind.__name__}")
    return found
