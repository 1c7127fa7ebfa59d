"""The rules: pure functions from facts to findings."""

from collections.abc import Sequence

from gpuyard_policy.rules import fabric, storage
from gpuyard_policy.rules.rule import Context, Finding, Rule, Verdict

ALL_RULES: Sequence[Rule] = (*fabric.RULES, *storage.RULES)

__all__ = ["ALL_RULES", "Context", "Finding", "Rule", "Verdict"]
