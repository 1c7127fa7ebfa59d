"""Facts of a whole stack, each resource judged on its own."""

from collections import defaultdict
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.jobs import with_jobs
from gpuyard_policy.facts.model import (
    AlarmFact,
    BudgetFact,
    DiskFact,
    Facts,
    IngressFact,
    NodePoolFact,
    Record,
    RoleFact,
    SecurityGroupFact,
    ServiceFact,
    SnapshotScheduleFact,
    StorageFact,
    TaggedFact,
)

# The package in a type token, and the module that reads its resources.
_CLOUDS = {"aws": "aws", "alicloud": "alicloud", "tencentcloud": "tencentcloud"}


def collect_facts(records: Iterable[Record]) -> Facts:
    """All facts of a stack's resources.

    A resource that no fact can be built of, because its shape was not foreseen, is listed with the reason; the others
    are judged all the same. The readers of a cloud are loaded only where the stack has resources of it.

    Args:
        records: Every resource of the stack.

    Returns:
        Facts in the order of the resources.
    """
    among = Among(records)
    found: dict[type, list[Any]] = defaultdict(list)
    problems: list[tuple[str, str]] = []
    judged = 0
    for record in among.values():
        module = _CLOUDS.get(record.type.split(":")[0])
        if module is None:
            continue
        judged += 1
        try:
            for reader in import_module(f"gpuyard_policy.facts.{module}").READERS:
                for fact in reader(record, among):
                    found[type(fact)].append(fact)
        except Exception as error:  # noqa: BLE001 - one odd resource must not silence the judgement of the others
            problems.append((record.urn, f"{type(error).__name__}: {error}"))
    return Facts(
        node_pools=with_jobs(found[NodePoolFact], among),
        storage=tuple(found[StorageFact]),
        disks=tuple(found[DiskFact]),
        schedules=tuple(found[SnapshotScheduleFact]),
        security_groups=tuple(found[SecurityGroupFact]),
        ingress=tuple(found[IngressFact]),
        roles=tuple(found[RoleFact]),
        alarms=tuple(found[AlarmFact]),
        budgets=tuple(found[BudgetFact]),
        services=tuple(found[ServiceFact]),
        tagged=tuple(found[TaggedFact]),
        problems=tuple(problems),
        judged=judged,
    )
