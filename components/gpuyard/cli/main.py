"""The ``gpuyard`` command: what a job needs, what the clouds rent, and stacks in the sandbox on the real engine.

Exit codes: 0 all went well; 1 the engine or a policy said no; 2 bad input; 3 the command could not do its work.
"""

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from gpuyard import __version__
from gpuyard.cli.catalog import catalog_app
from gpuyard.cli.check import check
from gpuyard.cli.plan import plan
from gpuyard.cli.rules import rules
from gpuyard.sandbox.cloud import DamagedError
from gpuyard.sandbox.engine import EngineMissingError, find_engine
from gpuyard.sandbox.workspace import BusyError
from gpuyard.spec.problems import SpecError

app = typer.Typer(
    name="gpuyard",
    help="GPU clusters for large models: what a job needs, what the clouds rent, and stacks in a sandbox.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)
_errors = Console(stderr=True, highlight=False, soft_wrap=True)

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
# Commands that only answer: there is nothing that a mistake could have started.
QUERIES = ("catalog", "check", "plan", "rules")

app.add_typer(catalog_app)
app.command()(plan)
app.command()(check)
app.command()(rules)


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """See the commands' own help."""
    if version:
        typer.echo(f"gpuyard {__version__}")
        raise typer.Exit


@app.command()
def up(stack: Stack, project: Root = HERE, policy_pack: Policies = None, folder: Folder = None) -> None:
    """Create or update a stack in the sandbox."""
    raise typer.Exit(_sandbox().up(project, stack, policy_pack, folder))


@app.command()
def preview(stack: Stack, project: Root = HERE, policy_pack: Policies = None, folder: Folder = None) -> None:
    """Show what an update would do in the sandbox."""
    raise typer.Exit(_sandbox().preview(project, stack, policy_pack, folder))


@app.command()
def refresh(stack: Stack, project: Root = HERE, folder: Folder = None) -> None:
    """Compare a stack's record with what exists in the simulated cloud."""
    raise typer.Exit(_sandbox().refresh(project, stack, folder))


@app.command()
def destroy(stack: Stack, project: Root = HERE, folder: Folder = None) -> None:
    """Remove everything of a stack from the sandbox."""
    raise typer.Exit(_sandbox().destroy(project, stack, folder))


@app.command()
def outputs(stack: Stack, project: Root = HERE, folder: Folder = None) -> None:
    """Print a stack's outputs as JSON."""
    raise typer.Exit(_sandbox().outputs(project, stack, folder))


@app.command()
def engine() -> None:
    """Find the Pulumi engine, or get one, and print where it is."""
    found = find_engine(typer.echo)
    typer.echo(f"{found.path} (v{found.version}, {found.origin})")


def _sandbox() -> Any:
    """The sandbox commands; they bring Pulumi with them, which planner and catalog do without."""
    return import_module("gpuyard.cli.sandbox")


def run() -> None:
    """Run the command; what a person can mend is told in plain words, without a traceback."""
    try:
        app()
    except SpecError as error:
        count = len(error.problems)
        started = "" if sys.argv[1:2] and sys.argv[1] in QUERIES else ", nothing was started"
        _errors.print(f"[red]{count} problem{'s' if count > 1 else ''}{started}:[/red]")
        for problem in error.problems:
            _errors.print(f"  {problem}", markup=False)
        sys.exit(2)
    except (EngineMissingError, BusyError, DamagedError) as error:
        _errors.print(str(error), markup=False)
        sys.exit(3)
    except OSError as error:
        _errors.print(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), markup=False)
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:  # noqa: BLE001 - whatever is left is a fault of gpuyard's own, and must not look like bad input
        _errors.print(traceback.format_exc(), markup=False)
        _errors.print("This is a fault of gpuyard itself. Please report it with the text above.")
        sys.exit(3)


if __name__ == "__main__":
    run()
