"""Facts of a whole stack, each resource judged on its own."""

from collections.abc import Iterable

from gpuyard_policy.facts import aws
from gpuyard_policy.facts.model import Facts, NodePoolFact, Record, StorageFact

_CLOUDS = {"aws": aws}


def collect_facts(records: Iterable[Record]) -> Facts:
    """All facts of a stack's resources.

    A resource that no fact can be built of, because its shape was not foreseen, is listed with the reason; the others
    are judged all the same.

    Args:
        records: Every resource of the stack.

    Returns:
        Facts in the order of the resources.
    """
    among = {record.urn: record for record in records}
    pools: list[NodePoolFact] = []
    storage: list[StorageFact] = []
    problems: list[tuple[str, str]] = []
    for record in among.values():
        cloud = _CLOUDS.get(record.type.split(":")[0])
        if cloud is None:
            continue
        try:
            pools += cloud.node_pools(record, among)
            storage += cloud.storage(record, among)
        except Exception as error:  # noqa: BLE001 - one odd resource must not silence the judgement of the others
            problems.append((record.urn, f"{type(error).__name__}: {error}"))
    return Facts(tuple(pools), tuple(storage), tuple(problems))
