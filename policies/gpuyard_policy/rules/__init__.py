"""The rules: pure functions from facts to findings."""

from collections.abc import Sequence

from gpuyard_policy.rules import access, cost, fabric, operations, snapshots, spot, storage
from gpuyard_policy.rules.rule import Context, Finding, Rule, Verdict

ALL_RULES: Sequence[Rule] = (
    *fabric.RULES,
    *storage.RULES,
    *snapshots.RULES,
    *spot.RULES,
    *cost.RULES,
    *access.RULES,
    *operations.RULES,
)

__all__ = ["ALL_RULES", "Context", "Finding", "Rule", "Verdict"]
