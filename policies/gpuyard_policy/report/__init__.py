"""Reports of what the rules found: text for people, files for programs."""

from gpuyard_policy.report.model import FailOn, StackReport, exit_code

__all__ = ["FailOn", "StackReport", "exit_code"]
