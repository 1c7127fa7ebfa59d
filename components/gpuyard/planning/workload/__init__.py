"""The planner: from a workload to memory, layout, fabric, storage, time, and the instance types that have it."""

from gpuyard.planning.workload.answer import Candidate, NearMiss, WorkloadPlan
from gpuyard.planning.workload.assumptions import Assumption, all_assumptions
from gpuyard.planning.workload.cost import Cost, PriceSource, PurchaseAdvice, Quote
from gpuyard.planning.workload.layout import Layout, MemoryUse
from gpuyard.planning.workload.plan import plan_workload
from gpuyard.planning.workload.request import WorkloadRequest, parse_request

__all__ = [
    "Assumption",
    "Candidate",
    "Cost",
    "Layout",
    "MemoryUse",
    "NearMiss",
    "PriceSource",
    "PurchaseAdvice",
    "Quote",
    "WorkloadPlan",
    "WorkloadRequest",
    "all_assumptions",
    "parse_request",
    "plan_workload",
]
