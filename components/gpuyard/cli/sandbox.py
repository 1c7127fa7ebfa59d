"""What the sandbox commands do: check first, then show the engine's work as it goes on, then say what it was."""

import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from gpuyard.planning.check import check_stack_file
from gpuyard.planning.plans import ClusterPlan
from gpuyard.sandbox.engine import find_engine
from gpuyard.sandbox.session import Outcome, Session
from gpuyard.sandbox.workspace import Project, Workspace, read_project
from gpuyard.spec.problems import Problem, SpecError
from gpuyard.spec.stack_file import read_stack_file

# Piped output has no width of its own, and cut names would be of no use in a log.
_console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
_POLICY_FOLDER = "policies"
_OWN_PROJECT = "gpuyard"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_UPDATES = ("Updating (", "Refreshing (", "Destroying (")
_SECTIONS = ("Diagnostics:", "Policies:", "Outputs:", "Resources:")
_PARTS = ("network", "node_pool", "file_system", "checkpoints", "snapshots")


def say(line: str) -> None:
    """Tell a person that something takes a while."""
    _console.print(line, style="dim")


def up(root: Path, stack: str, policy_pack: Path | None, folder: Path | None = None) -> int:
    """Create or update a stack; returns the exit code."""
    session, plan = _prepared(root, stack, policy_pack, folder)
    _introduce(stack, plan, session)
    outcome = _run(session, stack, "up", "--yes")
    if _failed(outcome):
        _console.print(f"\nThe update of '{stack}' did not succeed (engine exit code {outcome.code}).", style="red")
        return 1
    _show_tree(session.workspace.state(stack).get("resources", []))
    _closing(stack, plan, session.workspace)
    return 0


def preview(root: Path, stack: str, policy_pack: Path | None, folder: Path | None = None) -> int:
    """Show what an update would do; returns the exit code."""
    session, plan = _prepared(root, stack, policy_pack, folder)
    _introduce(stack, plan, session)
    return int(_failed(_run(session, stack, "preview")))


def refresh(root: Path, stack: str, folder: Path | None = None) -> int:
    """Compare record and simulated cloud; returns the exit code."""
    session = _session(read_project(root), stack, [], folder=folder)
    return int(_failed(_run(session, stack, "refresh", "--yes")))


def destroy(root: Path, stack: str, folder: Path | None = None) -> int:
    """Remove everything of a stack; returns the exit code."""
    session = _session(read_project(root), stack, [], folder=folder)
    if not session.workspace.exists(stack):
        _console.print(f"Stack '{stack}' does not exist in the sandbox: there is nothing to remove.")
        return 0
    protected = [one for one in session.workspace.state(stack).get("resources", []) if one.get("protect")]
    if protected:
        _console.print(
            f"{len(protected)} resources are protected. In the sandbox they hold nothing real, so protection is "
            f"lifted; in the cloud this is up to you: pulumi state unprotect --stack {stack}"
        )
        if _failed(session.run_state(stack, "unprotect", "--all", "--yes")):
            return 1
    if _failed(_run(session, stack, "destroy", "--yes", "--remove")):
        return 1
    _console.print(f"Stack '{stack}' is gone from the sandbox.")
    return 0


def outputs(root: Path, stack: str, folder: Path | None = None) -> int:
    """Print a stack's outputs as JSON; returns the exit code."""
    session = _session(read_project(root), stack, [], folder=folder)
    if not session.workspace.exists(stack):
        raise SpecError([Problem((), f"stack '{stack}' does not exist in the sandbox.", f"Run: gpuyard up {stack}")])
    print(json.dumps(session.outputs(stack), indent=2))
    return 0


@dataclass(frozen=True, slots=True)
class Checked:
    """A stack whose file is right: its project, its plan (None for a program of others), and what judges it."""

    project: Project
    plan: ClusterPlan | None
    packs: tuple[Path, ...]


def checked(root: Path, stack: str, policy_pack: Path | None) -> Checked:
    """A stack, checked before anything is started.

    Args:
        root: Folder of the project.
        stack: The stack.
        policy_pack: Folder of a policy pack; the project's own when left out.

    Returns:
        What is known before any engine runs.

    Raises:
        SpecError: Project, stack file or policy pack cannot be used.
    """
    project = read_project(root)
    path = project.stack_file(stack)
    file = read_stack_file(path, _shown(path))
    # Any other program of Pulumi's runs too; only gpuyard's own cannot do without a description.
    described = file.cluster is not None or project.name == _OWN_PROJECT
    plan = check_stack_file(file, stack) if described else None
    packs = [policy_pack or project.root / _POLICY_FOLDER]
    if policy_pack is not None and not (policy_pack / "PulumiPolicy.yaml").is_file():
        raise SpecError([Problem((), f"{policy_pack} is no policy pack: it has no PulumiPolicy.yaml.")])
    return Checked(project, plan, tuple(pack.resolve() for pack in packs if (pack / "PulumiPolicy.yaml").is_file()))


def _prepared(
    root: Path, stack: str, policy_pack: Path | None, folder: Path | None
) -> tuple[Session, ClusterPlan | None]:
    found = checked(root, stack, policy_pack)
    modules = [] if found.plan is None else [f"gpuyard.clouds.{found.plan.place.cloud}.{part}" for part in _PARTS]
    needed = ["gpuyard.resources.cluster", *modules] if modules else []
    return _session(found.project, stack, found.packs, needed, folder), found.plan


def _session(
    project: Project, stack: str, packs: Sequence[Path], modules: Sequence[str] = (), folder: Path | None = None
) -> Session:
    project.stack_file(stack)
    return Session(Workspace(project, find_engine(say), folder and folder.resolve()), packs, modules)


def _failed(outcome: Outcome) -> bool:
    """Whether a run failed; what it said unseen, such as that a stack could not be made, is shown then."""
    if outcome.code != 0 and outcome.output:
        print(outcome.output)
    return outcome.code != 0


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _run(session: Session, stack: str, verb: str, *flags: str) -> Outcome:
    """Run a verb of the engine: with live progress on a terminal, else as the engine prints it."""
    flags = (*flags, "--suppress-progress")
    if not is_watched():
        return session.run(stack, verb, *flags)
    from gpuyard.cli.progress import run_with_progress

    colour = [] if "NO_COLOR" in os.environ else ["--color", "always"]
    outcome = run_with_progress(session, stack, verb, *flags, *colour, console=_console)
    if outcome.code == 0:
        # What an update did, progress has shown; what a preview would do is what it was asked for.
        print(outcome.output if verb == "preview" else result_of(outcome.output))
    return outcome


def result_of(output: str) -> str:
    """What the engine says at the end of an update, after the resources: policies, diagnostics, outputs, counts.

    Args:
        output: Everything that it printed, with colours or without.

    Returns:
        The end of it; all of it where no end can be told.
    """
    lines = output.splitlines()
    plain = [_COLOURS.sub("", line) for line in lines]
    began = max((place for place, line in enumerate(plain) if line.startswith(_UPDATES)), default=0)
    ends = [place for place, line in enumerate(plain) if place >= began and line.rstrip() in _SECTIONS]
    return "\n".join(lines[ends[0] :] if ends else lines)


def is_watched() -> bool:
    """Whether somebody looks on, at a terminal that can redraw a line."""
    return sys.stdin.isatty() and _console.is_terminal and not _console.is_dumb_terminal


def _introduce(stack: str, plan: ClusterPlan | None, session: Session) -> None:
    engine = session.workspace.engine
    _console.print(f"[bold]{stack}[/bold] on Pulumi v{engine.version} ({engine.origin}), against simulated providers")
    show_plan(plan)


def show_plan(plan: ClusterPlan | None) -> None:
    """Say what is going to be built, and why so; nothing of a program of others."""
    for pool in () if plan is None else plan.node_pools:
        size = str(pool.max_nodes) if pool.min_nodes == pool.max_nodes else f"{pool.min_nodes} to {pool.max_nodes}"
        types = ", ".join(row.instance_type for row in pool.instance_types)
        _console.print(f"  pool {pool.name}: {size} × {types}. {' '.join(pool.reasons)}", markup=False)
    if plan is not None and plan.file_system is not None:
        _console.print(f"  file system: {' '.join(plan.file_system.reasons)}", markup=False)
    if plan is not None and plan.snapshots is not None:
        _console.print(f"  snapshots: {' '.join(plan.snapshots.reasons)}", markup=False)
    _console.print()


def _show_tree(resources: Sequence[dict[str, Any]]) -> None:
    children: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for resource in resources:
        if not str(resource["type"]).startswith("pulumi:providers:"):
            children[resource.get("parent", "")].append(resource)

    def grow(tree: Tree, urn: str) -> None:
        for resource in sorted(children[urn], key=lambda one: (not children[one["urn"]], one["type"], one["urn"])):
            mark = " [yellow](protected)[/yellow]" if resource.get("protect") else ""
            name = escape(str(resource["urn"]).rsplit("::", 1)[1])
            grow(
                tree.add(f"{escape(_short_type(resource['type']))} [bold]{name}[/bold]{mark}"),
                resource["urn"],
            )

    tree = Tree("Resources")
    grow(tree, "")
    _console.print(tree)


def _short_type(token: str) -> str:
    package, module, name = token.split(":")
    return f"{package}:{module.split('/')[0]}:{name}"


def _closing(stack: str, plan: ClusterPlan | None, workspace: Workspace) -> None:
    cloud = "cloud" if plan is None else plan.place.cloud
    root = _shown(workspace.project.root)
    # Only gpuyard's own project has its Makefile.
    own = plan is not None and workspace.project.name == _OWN_PROJECT
    remove = f"make destroy STACK={stack}" if own else f"gpuyard destroy {stack} -C {escape(root)}"
    _console.print(
        f"\n[green]Done, in the sandbox:[/green] the real Pulumi engine ran '{stack}' against [bold]simulated[/bold] "
        f"{cloud} providers. Nothing exists in any cloud and nothing costs.\n"
        f"State: {escape(_shown(workspace.folder))}\n"
        "To run it against the cloud:\n"
        f"  1. {cloud} credentials in the environment;  2. a backend: pulumi login;  3. pulumi up -s {stack}\n"
        f"     or, with the rules and live progress: gpuyard up {stack} --no-sandbox\n"
        f"Remove it from the sandbox: {remove}"
    )
