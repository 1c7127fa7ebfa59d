"""The ``gpuyard`` command: what a job needs, what the clouds rent, and stacks in the sandbox on the real engine.

Exit codes: 0 all went well; 1 the engine or a policy said no; 2 bad input; 3 the command could not do its work.
"""

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

# Every command with its module and its name there. Only the module of the command that was asked for is loaded: all of
# them together take longer than the rules over a stack.
COMMANDS = {
    "catalog": ("gpuyard.cli.catalog", "catalog_app"),
    "plan": ("gpuyard.cli.plan", "plan"),
    "check": ("gpuyard.cli.check", "check"),
    "rules": ("gpuyard.cli.rules", "rules"),
    "checkpoint": ("gpuyard.cli.checkpoint", "checkpoint_app"),
    "node": ("gpuyard.cli.node", "node_app"),
    "init": ("gpuyard.cli.init", "init"),
    "diagram": ("gpuyard.cli.diagram", "diagram"),
    "schema": ("gpuyard.cli.schema", "schema"),
    "risk": ("gpuyard.cli.risk", "risk"),
    "launch": ("gpuyard.cli.launch", "launch"),
    "up": ("gpuyard.cli.stacks", "up"),
    "preview": ("gpuyard.cli.stacks", "preview"),
    "refresh": ("gpuyard.cli.stacks", "refresh"),
    "destroy": ("gpuyard.cli.stacks", "destroy"),
    "outputs": ("gpuyard.cli.stacks", "outputs"),
    "engine": ("gpuyard.cli.stacks", "engine"),
}
# Commands that could have started something, had the input been right.
ACTIONS = ("up", "preview", "refresh", "destroy")


def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """See the commands' own help."""
    if version:
        from gpuyard import __version__

        typer.echo(f"gpuyard {__version__}")
        raise typer.Exit


def app_of(*names: str) -> typer.Typer:
    """The command line with some of its commands.

    Args:
        names: The commands, of :data:`COMMANDS`.

    Returns:
        The application; a command that is not in it does not exist for it.
    """
    app = typer.Typer(
        name="gpuyard",
        help="GPU clusters for large models: what a job needs, what the clouds rent, and stacks in a sandbox.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=True,
    )
    app.callback(invoke_without_command=True)(main)
    for name in names:
        module, attribute = COMMANDS[name]
        command = getattr(import_module(module), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def run() -> None:
    """Run the command; what a person can mend is told in plain words, without a traceback."""
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    try:
        if "_GPUYARD_COMPLETE" in os.environ or asked in ("--install-completion", "--show-completion"):
            import_module("gpuyard.cli.completion").complete()
        app_of(*([asked] if asked in COMMANDS else COMMANDS))()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # noqa: BLE001 - the last place that can say in plain words what went wrong
        sys.exit(_told(error, asked))


def _told(error: Exception, asked: str) -> int:
    """Tell a person what went wrong; returns the exit code."""
    import traceback

    from rich.console import Console

    from gpuyard.sandbox.problems import SandboxError
    from gpuyard.spec.problems import SpecError

    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    if isinstance(error, SpecError):
        count = len(error.problems)
        started = ", nothing was started" if asked in ACTIONS else ""
        errors.print(f"[red]{count} problem{'s' if count > 1 else ''}{started}:[/red]")
        for problem in error.problems:
            errors.print(f"  {problem}", markup=False)
        return 2
    if isinstance(error, SandboxError):
        errors.print(str(error), markup=False)
        return 3
    if isinstance(error, OSError):
        errors.print(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "), markup=False)
        return 3
    # Whatever is left is a fault of gpuyard's own, and must not look like bad input.
    errors.print("".join(traceback.format_exception(error)), markup=False)
    errors.print("This is a fault of gpuyard itself. Please report it with the text above.")
    return 3


if __name__ == "__main__":
    run()
