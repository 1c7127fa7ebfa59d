"""Shell completion: names of stacks, pools, rules, clouds, regions and instance types, found when a shell asks."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

import typer
from typer.models import ParameterInfo

from gpuyard.cli.main import COMMANDS, app_of
from gpuyard.spec.problems import SpecError

VARIABLE = "_GPUYARD_COMPLETE"
"""What a shell sets when it asks."""


def complete() -> None:
    """Answer a shell that asks what the word under the cursor may become, in Typer's own protocol; ends the process.

    ``gpuyard --show-completion zsh`` is answered too: without the name, Typer looks which shell it was started from.
    """
    if VARIABLE not in os.environ and len(sys.argv) > 2:
        # Typer takes a name only where it cannot look, and this is its switch for that.
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    asked = _command()
    app = app_of(*([asked] if asked else COMMANDS))
    add_values(app)
    app(prog_name="gpuyard")


def add_values(app: typer.Typer) -> None:
    """Give each parameter whose values can be listed a function that lists them.

    Args:
        app: The command line. A parameter is known by its name in the function of its command, or by what its help
            calls the value.
    """
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_values(group.typer_instance)
    for command in app.registered_commands:
        hints = get_type_hints(command.callback, include_extras=True) if command.callback else {}
        for name, hint in hints.items():
            for info in getattr(hint, "__metadata__", ()):
                values = _VALUES.get(name) or _VALUES.get(getattr(info, "metavar", None) or "")
                if isinstance(info, ParameterInfo) and values is not None:
                    info.autocompletion = _starting(values)


def _command() -> str | None:
    """The command whose words are completed; None while its own name is."""
    first = next((word for word in _finished_words() if not word.startswith("-")), None)
    return first if first in COMMANDS else None


def _finished_words() -> list[str]:
    """The words before the one under the cursor, as each shell passes them."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    words = line.split()
    if "COMP_CWORD" in os.environ:
        return words[1 : int(os.environ["COMP_CWORD"])]
    return words[1:] if line.endswith(" ") else words[1:-1]


def _starting(values: Callable[[typer.Context], Iterable[str]]) -> Callable[[typer.Context, str], list[str]]:
    def matching(ctx: typer.Context, incomplete: str) -> list[str]:
        # A shell shows no message: outside a project, or beside a broken file, there is nothing to propose.
        try:
            return [value for value in values(ctx) if value.startswith(incomplete)]
        except SpecError:
            return []

    return matching


def _stacks(ctx: typer.Context) -> list[str]:
    from gpuyard.sandbox.project import read_project

    return read_project(_project(ctx)).stacks()


def _pools(ctx: typer.Context) -> list[str]:
    from gpuyard.sandbox.project import read_project
    from gpuyard.spec.stack_file import read_stack_file

    project = read_project(_project(ctx))
    # An option that still lacks its value keeps the parser from the arguments before it.
    stack = next((word for word in _finished_words() if word in project.stacks()), None)
    if stack is None:
        return []
    cluster: object = read_stack_file(project.stack_file(stack)).cluster
    pools: object = cast(dict[str, object], cluster).get("node_pools") if isinstance(cluster, dict) else None
    return list(cast(dict[str, object], pools)) if isinstance(pools, dict) else []


def _rules(ctx: typer.Context) -> list[str]:
    from gpuyard_policy.rules import ALL_RULES

    return [rule.id for rule in ALL_RULES]


def _clouds(ctx: typer.Context) -> list[str]:
    from gpuyard.spec.base import Cloud

    return list(get_args(Cloud))


def _regions(ctx: typer.Context) -> list[str]:
    from gpuyard.catalog import regions

    return sorted(name for cloud in _chosen_clouds(ctx) for name in regions(cloud))


def _instance_types(ctx: typer.Context) -> list[str]:
    from gpuyard.catalog import instance_types

    return sorted(name for cloud in _chosen_clouds(ctx) for name in instance_types(cloud))


def _chosen_clouds(ctx: typer.Context) -> list[str]:
    chosen: Any = ctx.params.get("cloud") or ctx.params.get("clouds")
    known = _clouds(ctx)
    given = [chosen] if isinstance(chosen, str) else list(chosen or ())
    return [cloud for cloud in given if cloud in known] or known


def _project(ctx: typer.Context) -> Path:
    return Path(ctx.params.get("project") or ctx.params.get("program") or ".")


_VALUES: dict[str, Callable[[typer.Context], Iterable[str]]] = {
    "stack": _stacks,
    "stacks": _stacks,
    "pool": _pools,
    "rule": _rules,
    "cloud": _clouds,
    "clouds": _clouds,
    "region": _regions,
    "regions": _regions,
    "instance_type": _instance_types,
    "TYPE": _instance_types,
    "TYPE...": _instance_types,
}
