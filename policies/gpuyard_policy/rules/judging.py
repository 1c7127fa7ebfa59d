"""How rules judge: each resource on its own, and what is not known ends the judgement of that resource alone."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

from gpuyard.catalog import InstanceType, find_instance_types, instance_type
from gpuyard_policy.facts import Facts, NodePoolFact, StorageFact, Unknown
from gpuyard_policy.facts.reading import read
from gpuyard_policy.rules.rule import Context, Finding, Verdict

CLUSTER_TAG = "gpuyard:cluster"
TRAINING_TASKS = ("pretrain", "full_finetune", "lora", "rl", "vision")
# Work that is one job on all nodes of a pool; the others give each node a job of its own.
ONE_JOB_ON_ALL_NODES = ("pretrain", "full_finetune")
_NAMED = 5
Answer = tuple[Verdict, str] | None
_Value = TypeVar("_Value")
_Summary = TypeVar("_Summary")


class HasTags(Protocol):
    """A fact of something that carries tags."""

    @property
    def cloud(self) -> str:
        """Its cloud."""
        ...

    @property
    def tags(self) -> Mapping[str, Any] | Unknown:
        """Its tags."""
        ...


class Named(Protocol):
    """A fact of one resource."""

    @property
    def urn(self) -> str:
        """Its URN."""
        ...

    @property
    def name(self) -> str:
        """Its logical name."""
        ...


_Fact = TypeVar("_Fact", bound=Named)


class CannotTellError(Exception):
    """What a judgement needs is not known; the text says what and why."""


class UntoldError(Exception):
    """Nobody says what a pool is for: said once for all pools. The texts say what is missing, and how to tell it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


def each(context: Context, facts: Iterable[_Fact], judge: Callable[[Context, _Fact], Answer]) -> Iterable[Finding]:
    """Judge resources one by one.

    Args:
        context: What the rule judges by.
        facts: Facts of the resources.
        judge: Says how one is judged, or None where the rule does not concern it. What it cannot tell, it raises.

    Returns:
        A finding for each resource that the rule concerns. One that the rule breaks on is an error of its own, so that
        the others are judged all the same.
    """
    untold: dict[tuple[str, str], list[str]] = defaultdict(list)
    for fact in facts:
        try:
            answer = judge(context, fact)
        except CannotTellError as error:
            answer = Verdict.UNDECIDED, str(error)
        except UntoldError as error:
            untold[error.what, error.remedy].append(fact.name)
            continue
        except Exception as error:  # noqa: BLE001 - told as the rule's own fault, with the resource
            answer = Verdict.ERROR, f"the rule itself broke: {type(error).__name__}: {error}"
        if answer is not None:
            yield context.finding(answer[0], fact.urn, answer[1])
    for (what, remedy), names in untold.items():
        listed = ", ".join(sorted(names)[:_NAMED]) + (" ..." if len(names) > _NAMED else "")
        yield context.finding(Verdict.UNDECIDED, None, f"{what} for {len(names)} pool(s) ({listed}): {remedy}")


def on_each(
    facts: Callable[[Facts], Iterable[_Fact]], judge: Callable[[Context, _Fact], Answer]
) -> Callable[[Context], Iterable[Finding]]:
    """A rule that judges each of some resources by itself alone.

    Args:
        facts: Picks the facts of the resources.
        judge: Judges one, as for :func:`each`.

    Returns:
        What the rule's ``check`` is.
    """
    return lambda context: each(context, facts(context.facts), judge)


def on_pools(judge: Callable[[Context, NodePoolFact], Answer]) -> Callable[[Context], Iterable[Finding]]:
    """A rule that judges each node pool by itself alone; see :func:`on_each`."""
    return on_each(lambda facts: facts.node_pools, judge)


def known(value: _Value | Unknown, what: str) -> _Value:
    """A value that must be known.

    Raises:
        CannotTellError: It is not.
    """
    if isinstance(value, Unknown):
        raise CannotTellError(f"cannot tell yet {what}: {value.why}.")
    return value


def passed(message: str) -> Answer:
    """Nothing is wrong."""
    return Verdict.PASS, message


def failed(message: str) -> Answer:
    """Something is wrong."""
    return Verdict.FAIL, message


def work_of(context: Context, pool: NodePoolFact) -> str:
    """The work of a pool.

    Raises:
        CannotTellError: It is not known yet.
        UntoldError: Nobody says.
    """
    task = known(context.task_of(pool.tags), f"what pool '{pool.name}' is for")
    if task is None:
        raise UntoldError("no work is known", f"tag them '{context.config.task_tag}', or set 'task' for the pack.")
    return task


def parameters_of(context: Context, pool: NodePoolFact) -> float:
    """The size of the model that a pool works on.

    Raises:
        CannotTellError: It is not known yet.
        UntoldError: Nobody says.
    """
    size = known(context.parameters_of(pool.tags), f"how large the model of pool '{pool.name}' is")
    if size is None:
        remedy = f"tag them '{context.config.model_parameters_tag}', or set 'model_parameters' for the pack."
        raise UntoldError("no size of the model is known", remedy)
    return size


def is_one_job_on_several_nodes(context: Context, pool: NodePoolFact) -> bool:
    """Whether a pool's nodes work on one job together."""
    return work_of(context, pool) in ONE_JOB_ON_ALL_NODES and nodes_max_of(pool) > 1


def nodes_max_of(pool: NodePoolFact) -> int:
    """The most nodes that may work on the job of a pool."""
    if pool.job_nodes is not None:
        return pool.job_nodes
    nodes = known(pool.nodes_max, f"how many nodes pool '{pool.name}' has")
    if nodes is None:
        raise CannotTellError(f"cannot tell how many nodes pool '{pool.name}' has: the resource does not say.")
    return nodes


def is_alone(pool: NodePoolFact) -> bool:
    """Whether a pool is known to be one node that works by itself."""
    return (pool.job_nodes or pool.nodes_max) == 1


def types_of(pool: NodePoolFact) -> tuple[str, ...]:
    """Instance types of a pool."""
    return known(pool.instance_types, f"what machines pool '{pool.name}' has")


def row_of(pool: NodePoolFact, name: str) -> InstanceType:
    """What the catalog knows of one type."""
    row = instance_type(pool.cloud, name)
    if row is None:
        raise CannotTellError(f"cannot tell: pool '{pool.name}' has {name}, which the catalog does not know.")
    return row


def fault_of(pool: NodePoolFact, fault: Callable[[InstanceType], str | None]) -> str | None:
    """What is wrong with the worst of a pool's types.

    Args:
        pool: The pool.
        fault: What is wrong with one type; None where nothing is.

    Returns:
        The first fault; None where no type has one.

    Raises:
        CannotTellError: No type is known to have one, and of one it cannot be told.
    """
    open_questions: list[str] = []
    for name in types_of(pool):
        try:
            found = fault(row_of(pool, name))
        except CannotTellError as error:
            open_questions.append(str(error))
            continue
        if found is not None:
            return found
    if open_questions:
        raise CannotTellError(" ".join(open_questions))
    return None


def stated(value: _Value | None, row: InstanceType, what: str) -> _Value:
    """A fact of the catalog that must be there."""
    if value is None:
        raise CannotTellError(f"cannot tell: the catalog does not know {what} of {row.instance_type}.")
    return value


def has_gpus(pool: NodePoolFact) -> bool:
    """Whether machines of a pool have GPUs, as far as the catalog knows its types."""
    return any(instance_type(pool.cloud, name) is not None for name in types_of(pool))


def is_lasting(store: StorageFact) -> bool:
    """Whether storage surely keeps its data when one of its servers fails."""
    return store.kind == "bucket" or store.scratch is False


@cache
def better_type(cloud: str, fits: Callable[[InstanceType], bool]) -> str:
    """A type of a cloud that would be right, in words; nothing where the catalog knows none.

    ``fits`` is a function of a module: answers are kept for each.
    """
    names = [row.instance_type for row in find_instance_types(cloud) if fits(row)]
    return f", such as {names[0]}" if names else ""


class Neighbours(Generic[_Summary]):
    """What stands beside a resource: that of the same cluster where both carry its tag, else all of the same cloud.

    Args:
        facts: Facts of everything that may stand there.
        summary: What is made of those that stand together; asked once for each cluster and cloud.
    """

    def __init__(self, facts: Iterable[Any], summary: Callable[[Sequence[Any]], _Summary]) -> None:
        self._groups: dict[tuple[str, str | None], list[Any]] = defaultdict(list)
        self._summary = summary
        self._summaries: dict[tuple[str, str | None], _Summary] = {}
        for fact in facts:
            self._groups[fact.cloud, None].append(fact)
            cluster = read(fact.tags, CLUSTER_TAG)
            if isinstance(cluster, str):
                self._groups[fact.cloud, cluster].append(fact)

    def of(self, fact: HasTags) -> _Summary:
        """What stands beside a resource."""
        cluster = read(fact.tags, CLUSTER_TAG)
        key = (fact.cloud, cluster if isinstance(cluster, str) else None)
        if key not in self._groups:
            key = (fact.cloud, None)
        if key not in self._summaries:
            self._summaries[key] = self._summary(self._groups.get(key, ()))
        return self._summaries[key]
