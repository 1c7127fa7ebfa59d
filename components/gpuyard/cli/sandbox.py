"""What the sandbox commands do: check first, then let the engine show its own work, then say what it was."""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
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
_PARTS = ("network", "node_pool", "file_system", "checkpoints", "snapshots")


def say(line: str) -> None:
    """Tell a person that something takes a while."""
    _console.print(line, style="dim")


def up(root: Path, stack: str, policy_pack: Path | None, folder: Path | None = None) -> int:
    """Create or update a stack; returns the exit code."""
    session, plan = _prepared(root, stack, policy_pack, folder)
    _introduce(stack, plan, session)
    outcome = session.run(stack, "up", "--yes", *_quiet())
    if _failed(outcome):
        _console.print(f"\nThe update of '{stack}' did not succeed (engine exit code {outcome.code}).", style="red")
        return 1
    if not _interactive():
        # On a terminal the engine has drawn the tree itself.
        _show_tree(session.workspace.state(stack).get("resources", []))
    _closing(stack, plan, session.workspace)
    return 0


def preview(root: Path, stack: str, policy_pack: Path | None, folder: Path | None = None) -> int:
    """Show what an update would do; returns the exit code."""
    session, plan = _prepared(root, stack, policy_pack, folder)
    _introduce(stack, plan, session)
    return int(_failed(session.run(stack, "preview", *_quiet())))


def refresh(root: Path, stack: str, folder: Path | None = None) -> int:
    """Compare record and simulated cloud; returns the exit code."""
    session = _session(read_project(root), stack, [], folder=folder)
    return int(_failed(session.run(stack, "refresh", "--yes", *_quiet())))


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
    if _failed(session.run(stack, "destroy", "--yes", "--remove", *_quiet())):
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


def _prepared(
    root: Path, stack: str, policy_pack: Path | None, folder: Path | None
) -> tuple[Session, ClusterPlan | None]:
    project = read_project(root)
    path = project.stack_file(stack)
    file = read_stack_file(path, _shown(path))
    # Any other program of Pulumi's runs in the sandbox too; only gpuyard's own cannot do without a description.
    described = file.cluster is not None or project.name == _OWN_PROJECT
    plan = check_stack_file(file, stack) if described else None
    packs = [policy_pack or project.root / _POLICY_FOLDER]
    if policy_pack is not None and not (policy_pack / "PulumiPolicy.yaml").is_file():
        raise SpecError([Problem((), f"{policy_pack} is no policy pack: it has no PulumiPolicy.yaml.")])
    packs = [pack.resolve() for pack in packs if (pack / "PulumiPolicy.yaml").is_file()]
    modules = [] if plan is None else [f"gpuyard.clouds.{plan.place.cloud}.{part}" for part in _PARTS]
    return _session(project, stack, packs, ["gpuyard.resources.cluster", *modules] if modules else [], folder), plan


def _session(
    project: Project, stack: str, packs: Sequence[Path], modules: Sequence[str] = (), folder: Path | None = None
) -> Session:
    project.stack_file(stack)
    return Session(Workspace(project, find_engine(say), folder and folder.resolve()), packs, modules)


def _failed(outcome: Outcome) -> bool:
    """Whether a run failed; what it said unseen, such as that a stack could not be made, is shown then."""
    if outcome.code != 0 and outcome.output:
        _console.print(escape(outcome.output))
    return outcome.code != 0


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _quiet() -> list[str]:
    return [] if _interactive() else ["--suppress-progress"]


def _interactive() -> bool:
    """Whether the engine draws a living tree: it asks for a terminal on both sides."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _introduce(stack: str, plan: ClusterPlan | None, session: Session) -> None:
    engine = session.workspace.engine
    _console.print(f"[bold]{stack}[/bold] on Pulumi v{engine.version} ({engine.origin}), against simulated providers")
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
    remove = f"gpuyard destroy {stack} -C {escape(root)}" if plan is None else f"make destroy STACK={stack}"
    _console.print(
        f"\n[green]Done, in the sandbox:[/green] the real Pulumi engine ran '{stack}' against [bold]simulated[/bold] "
        f"{cloud} providers. Nothing exists in any cloud and nothing costs.\n"
        f"State: {escape(_shown(workspace.folder))}\n"
        "To run it against the cloud:\n"
        f"  1. {cloud} credentials in the environment;  2. a backend: pulumi login;  3. pulumi up -s {stack}\n"
        f"Remove it from the sandbox: {remove}"
    )
