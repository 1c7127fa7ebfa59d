"""Resources of a stack as a preview of the engine shows them: the JSON of ``pulumi preview --json --show-sames``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gpuyard.spec.problems import Problem, SpecError
from gpuyard_policy.sources.model import Place, Source
from gpuyard_policy.sources.stored import faulty, places_of, read_json, records_of, stack_of

COMMAND = "pulumi preview --json --show-sames"
# Steps after which the resource is no longer there.
_GONE = ("delete", "delete-replaced", "discard", "discard-replaced", "remove-pending-replace")
# A replacement is told in three steps; the one that creates has the new state.
_TWICE = ("replace",)


def read_plan(path: Path) -> Source:
    """The resources that there will be after the update.

    Args:
        path: File with the engine's digest of a preview.

    Returns:
        The resources; values that the engine did not know are Unknown.

    Raises:
        SpecError: The file is no such digest, or leaves out the resources that stay as they are: rules that join
            resources would judge a stack that never is.
    """
    digest = read_json(path)
    steps: Any = digest.get("steps")
    if not isinstance(steps, list):
        remedy = f"Write it with: {COMMAND}"
        raise SpecError([Problem((), "is no preview of the engine: it has no 'steps'.", remedy, str(path), 1)])
    listed = cast(list[Mapping[str, Any]], steps)
    _refuse_failed(digest, path)
    _require_sames(digest, listed, path)
    states: dict[str, Mapping[str, Any]] = {}
    for place, step in enumerate(listed):
        if not isinstance(cast(Any, step), dict):
            raise SpecError([Problem(("steps", place), "is no step.", "", str(path), 1)])
        if step.get("op") in (*_GONE, *_TWICE):
            continue
        state = step.get("newState") or step.get("oldState")
        if faulty(state):
            raise SpecError([Problem(("steps", place), "has no state of a resource.", "", str(path), 1)])
        known = cast(Mapping[str, Any], state)
        states[str(known["urn"])] = known
    config: Any = digest.get("config")
    return Source(
        name=next((stack_of(urn) for urn in states), path.stem),
        records=records_of(states.values(), cast(dict[str, Any], config) if isinstance(config, dict) else {}),
        places=places_of(states.values()),
        place=Place(str(path), 1),
    )


def _refuse_failed(digest: Mapping[str, Any], path: Path) -> None:
    """A preview that failed half-way shows a part of the stack, and a part must not pass for the whole."""
    said: Any = digest.get("diagnostics")
    for one in cast(list[Any], said) if isinstance(said, list) else []:
        if isinstance(one, dict) and cast(dict[str, Any], one).get("severity") == "error":
            text = " ".join(str(cast(dict[str, Any], one).get("message", "")).split())
            message = f"is of a preview that failed: {text[:300]}"
            raise SpecError([Problem((), message, "Mend that first.", str(path), 1)])


def _require_sames(digest: Mapping[str, Any], steps: list[Mapping[str, Any]], path: Path) -> None:
    summary: Any = digest.get("changeSummary")
    counted = cast(dict[str, Any], summary).get("same", 0) if isinstance(summary, dict) else 0
    shown = sum(1 for step in steps if isinstance(cast(Any, step), dict) and step.get("op") == "same")
    if isinstance(counted, int) and counted > shown:
        message = f"leaves out {counted - shown} resources that stay as they are, and rules need all of them."
        raise SpecError([Problem((), message, f"Write it with: {COMMAND}", str(path), 1)])
