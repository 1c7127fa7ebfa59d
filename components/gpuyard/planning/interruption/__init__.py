"""How likely spot nodes are interrupted: history, rate with a bound, and what to switch to."""

from gpuyard.planning.interruption.advice import (
    Advice,
    Checkpoints,
    Evidence,
    Judged,
    Loss,
    Spot,
    Switch,
    advise,
    expected_loss,
    spot_of,
    spot_of_type,
)
from gpuyard.planning.interruption.advisor import Advisor, ShareRange, read_advisor
from gpuyard.planning.interruption.history import History, read_history
from gpuyard.planning.interruption.rate import Risk, Settings, Tally, risk_at, risk_of, setting_problems, verdict_of
from gpuyard.planning.interruption.stack_edit import with_switch

__all__ = [
    "Advice",
    "Advisor",
    "Checkpoints",
    "Evidence",
    "History",
    "Judged",
    "Loss",
    "Risk",
    "Settings",
    "ShareRange",
    "Spot",
    "Switch",
    "Tally",
    "advise",
    "expected_loss",
    "read_advisor",
    "read_history",
    "risk_at",
    "risk_of",
    "setting_problems",
    "spot_of",
    "spot_of_type",
    "verdict_of",
    "with_switch",
]
