"""``gpuyard up``, ``preview``, ``refresh``, ``destroy``, ``outputs`` and ``engine``: stacks in the sandbox."""

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
HERE = Path()


def up(stack: Stack, project: Root = HERE, policy_pack: Policies = None, folder: Folder = None) -> None:
    """Create or update a stack in the sandbox."""
    raise typer.Exit(_sandbox().up(project, stack, policy_pack, folder))


def preview(stack: Stack, project: Root = HERE, policy_pack: Policies = None, folder: Folder = None) -> None:
    """Show what an update would do in the sandbox."""
    raise typer.Exit(_sandbox().preview(project, stack, policy_pack, folder))


def refresh(stack: Stack, project: Root = HERE, folder: Folder = None) -> None:
    """Compare a stack's record with what exists in the simulated cloud."""
    raise typer.Exit(_sandbox().refresh(project, stack, folder))


def destroy(stack: Stack, project: Root = HERE, folder: Folder = None) -> None:
    """Remove everything of a stack from the sandbox."""
    raise typer.Exit(_sandbox().destroy(project, stack, folder))


def outputs(stack: Stack, project: Root = HERE, folder: Folder = None) -> None:
    """Print a stack's outputs as JSON."""
    raise typer.Exit(_sandbox().outputs(project, stack, folder))


def engine() -> None:
    """Find the Pulumi engine, or get one, and print where it is."""
    from gpuyard.sandbox.engine import find_engine

    found = find_engine(typer.echo)
    typer.echo(f"{found.path} (v{found.version}, {found.origin})")


def _sandbox() -> Any:
    """What the commands do; it brings Pulumi with it."""
    return import_module("gpuyard.cli.sandbox")
