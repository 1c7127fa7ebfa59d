"""How long the catalog takes to load and the planner to rank every instance type: prints figures, asserts nothing.

Run: ``python benchmarks/planner.py``. Loading is measured in fresh interpreters after the import, planning in this one.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from gpuyard.catalog import gpus, instance_types
from gpuyard.catalog.prices import PriceBook
from gpuyard.planning.workload import parse_request, plan_workload

CLOUDS = ("aws", "alicloud", "tencentcloud")
LOAD_BUDGET_MS, RANK_BUDGET_MS = 30, 100
RUNS = 9
LOAD = """
import time
import gpuyard.catalog.prices
import gpuyard.planning.workload
from gpuyard.catalog import gpus, instance_types, regions
from gpuyard.planning.workload.shape import published_models
start = time.perf_counter()
gpus(), published_models(), gpuyard.catalog.prices.PriceBook.load()
for cloud in ("aws", "alicloud", "tencentcloud"):
    instance_types(cloud), regions(cloud)
print((time.perf_counter() - start) * 1000)
"""
WORKLOADS: dict[str, dict[str, Any]] = {
    "pretrain 70 B": {"task": "pretrain", "parameters": 70e9, "tokens": 1e12},
    "pretrain 70 B in 5 days": {"task": "pretrain", "parameters": 70e9, "tokens": 1e12, "target_days": 5},
    "pretrain 70 B without an end": {"task": "pretrain", "parameters": 70e9},
    "pretrain 7 B on 256 GPUs": {"task": "pretrain", "parameters": 7e9, "tokens": 1e12, "gpus": 256},
    "full fine-tuning 13 B": {"task": "full_finetune", "parameters": 13e9, "tokens": 1e9},
    "LoRA 7 B": {"task": "lora", "parameters": 7e9, "tokens": 1e9},
    "inference 7 B": {"task": "inference", "parameters": 7e9},
    "inference 70 B": {"task": "inference", "model": "llama-3-70b"},
}


def median_ms(work: Callable[[], object]) -> float:
    """Median of several runs in milliseconds."""
    times: list[float] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def load_ms() -> float:
    """Median of loading the catalog in fresh interpreters, after the import."""
    command = [sys.executable, "-c", LOAD]
    return statistics.median(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(RUNS)
    )


def main() -> None:
    """Print the figures."""
    print(f"load catalog and prices, fresh interpreter: {load_ms():6.1f} ms (budget {LOAD_BUDGET_MS} ms)")
    prices = PriceBook.load()
    count = sum(len(instance_types(cloud)) for cloud in CLOUDS)
    print(f"rank {count} types with {len(gpus())} GPU models, all clouds (budget {RANK_BUDGET_MS} ms):")
    for name, fields in WORKLOADS.items():
        request = parse_request(fields)
        plan = plan_workload(request, prices=prices)
        took = median_ms(lambda request=request: plan_workload(request, prices=prices))
        print(f"  {name:28} {took:6.1f} ms  {len(plan.candidates):3} candidates, {len(plan.near_misses):3} near misses")


if __name__ == "__main__":
    main()
