"""``gpuyard diagram``: the topology of a stack as a picture, from its plan alone."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from gpuyard.cli.stacks import HERE, Root, Stack

Format = Literal["svg", "mermaid"]
_ENDINGS: dict[str, Format] = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid"}


def diagram(
    stack: Stack,
    output_format: Annotated[
        str | None,
        typer.Option("--format", "-f", help="svg or mermaid.", metavar="FORMAT", show_default="by --output, or svg"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write it to this file.", dir_okay=False, show_default="standard output"),
    ] = None,
    project: Root = HERE,
) -> None:
    """Draw the topology of a stack: pools, fabric, storage, copies and what flows between them."""
    from gpuyard.cli.catalog_output import note
    from gpuyard.cli.choice import checked_format
    from gpuyard.cli.writing import write_whole
    from gpuyard.diagram import mermaid_text, svg_text, topology_of
    from gpuyard.planning.check import check_stack_file
    from gpuyard.sandbox.workspace import read_project
    from gpuyard.spec.problems import Problem, SpecError
    from gpuyard.spec.stack_file import read_stack_file

    formats: tuple[Format, ...] = get_args(Format)
    by_ending = _ENDINGS.get(output.suffix.lower()) if output is not None else "svg"
    if output_format is None and by_ending is None:
        remedy = f"End it with {', '.join(_ENDINGS)}, or add --format."
        raise SpecError([Problem(("--output",), f"'{output}' does not tell a format.", remedy)])
    chosen = by_ending if output_format is None else checked_format(output_format, formats)
    path = read_project(project).stack_file(stack)
    shown = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
    topology = topology_of(check_stack_file(read_stack_file(path, shown), stack))
    text = svg_text(topology) if chosen == "svg" else mermaid_text(topology)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_whole(output, text)
    note(f"Wrote {output}.")
