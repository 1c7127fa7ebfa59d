"""Builders of requests and jobs for the planner's tests."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from gpuyard.planning.workload import Candidate, NearMiss, WorkloadPlan, plan_workload
from gpuyard.planning.workload.job import Job, job_of
from gpuyard.planning.workload.request import parse_request

TODAY = date(2026, 12, 1)


@dataclass(frozen=True)
class FakeQuote:
    on_demand: float | None
    currency: str = "USD"
    spot: float | None = None
    reserved_1y: float | None = None
    unit: str = "hour"
    date: str | None = "2026-11-01"
    source: str = "a test"

    def is_stale(self, on: date) -> bool:
        return self.date is None or date.fromisoformat(self.date).year < on.year


class FakePrices:
    """Quotes by (cloud, instance type, region)."""

    def __init__(self, quotes: dict[tuple[str, str, str], FakeQuote]) -> None:
        self.quotes = quotes

    def quote(self, cloud: str, item: str, region: str) -> FakeQuote | None:
        return self.quotes.get((cloud, item, region))


def plan(prices: Any = None, **fields: Any) -> WorkloadPlan:
    return plan_workload(parse_request(fields), prices=prices, on=TODAY)


def job(**fields: Any) -> Job:
    return job_of(parse_request(fields))


def candidate(of: WorkloadPlan, instance_type: str) -> Candidate:
    return next(one for one in of.candidates if one.instance_type.instance_type == instance_type)


def miss(of: WorkloadPlan, instance_type: str) -> NearMiss:
    return next(one for one in of.near_misses if one.instance_type.instance_type == instance_type)
