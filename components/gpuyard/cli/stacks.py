"""The commands on stacks: ``gpuyard up``, ``preview``, ``refresh``, ``destroy``, ``outputs``, and ``engine``."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

Stack = Annotated[str, typer.Argument(help="Name of the stack: stacks/Pulumi.<name>.yaml.", show_default=False)]
Root = Annotated[
    Path,
    typer.Option("--project", "-C", help="Folder with Pulumi.yaml.", file_okay=False, show_default="this folder"),
]
Policies = Annotated[
    Path | None,
    typer.Option("--policy-pack", help="Folder of the policy pack.", file_okay=False, show_default="policies"),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--sandbox",
        help="Folder of the sandbox; projects that share one see each other's stacks.",
        file_okay=False,
        show_default=".sandbox in the project",
    ),
]
NoSandbox = Annotated[
    bool, typer.Option("--no-sandbox", help="Use the stack's own backend and the real cloud: it costs money.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing. The sandbox never asks.")]
HERE = Path()


def up(
    stack: Stack,
    project: Root = HERE,
    policy_pack: Policies = None,
    folder: Folder = None,
    no_sandbox: NoSandbox = False,
    yes: Yes = False,
) -> None:
    """Create or update a stack, in the sandbox unless told otherwise."""
    if no_sandbox:
        raise typer.Exit(_real_cloud(folder).run("up", project, stack, policy_pack, yes=yes))
    raise typer.Exit(_sandbox().up(project, stack, policy_pack, folder))


def preview(
    stack: Stack,
    project: Root = HERE,
    policy_pack: Policies = None,
    folder: Folder = None,
    no_sandbox: NoSandbox = False,
) -> None:
    """Show what an update would do, in the sandbox unless told otherwise."""
    if no_sandbox:
        raise typer.Exit(_real_cloud(folder).run("preview", project, stack, policy_pack))
    raise typer.Exit(_sandbox().preview(project, stack, policy_pack, folder))


def refresh(
    stack: Stack, project: Root = HERE, folder: Folder = None, no_sandbox: NoSandbox = False, yes: Yes = False
) -> None:
    """Compare a stack's record with what exists in the simulated cloud, or the real one."""
    if no_sandbox:
        raise typer.Exit(_real_cloud(folder).run("refresh", project, stack, yes=yes))
    raise typer.Exit(_sandbox().refresh(project, stack, folder))


def destroy(
    stack: Stack, project: Root = HERE, folder: Folder = None, no_sandbox: NoSandbox = False, yes: Yes = False
) -> None:
    """Remove everything of a stack, from the sandbox unless told otherwise."""
    if no_sandbox:
        raise typer.Exit(_real_cloud(folder).run("destroy", project, stack, yes=yes))
    raise typer.Exit(_sandbox().destroy(project, stack, folder))


def outputs(stack: Stack, project: Root = HERE, folder: Folder = None, no_sandbox: NoSandbox = False) -> None:
    """Print a stack's outputs as JSON."""
    if no_sandbox:
        raise typer.Exit(_real_cloud(folder).outputs(project, stack))
    raise typer.Exit(_sandbox().outputs(project, stack, folder))


def engine() -> None:
    """Find the Pulumi engine, or get one, and print where it is."""
    from gpuyard.sandbox.engine import find_engine

    found = find_engine(typer.echo)
    typer.echo(f"{found.path} (v{found.version}, {found.origin})")


def _sandbox() -> Any:
    """What the commands do; it brings Pulumi with it."""
    return import_module("gpuyard.cli.sandbox")


def _real_cloud(folder: Path | None) -> Any:
    """What the commands do without the sandbox."""
    if folder is not None:
        from gpuyard.spec.problems import Problem, SpecError

        raise SpecError([Problem(("--sandbox",), "contradicts '--no-sandbox'.", "Leave one of them out.")])
    return import_module("gpuyard.cli.real_cloud")
