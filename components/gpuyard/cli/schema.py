"""``gpuyard schema``: the JSON Schema of a stack file, for editors and other tools."""

from pathlib import Path
from typing import Annotated, get_args

import typer


def schema(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write it to this file.", dir_okay=False, show_default="standard output"),
    ] = None,
) -> None:
    """Print the JSON Schema of a stack file, or write it where editors look for it: schemas/stack.schema.json."""
    from gpuyard.cli.catalog_output import note
    from gpuyard.cli.writing import write_whole

    text = schema_text()
    if output is None:
        typer.echo(text, nl=False)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, text)
    note(f"Wrote {output}.")


def schema_text() -> str:
    """The schema as a file holds it, with the catalog's GPUs and regions for an editor to propose."""
    import json

    from gpuyard.catalog import gpus, regions
    from gpuyard.spec.base import Cloud
    from gpuyard.spec.json_schema import stack_schema

    places = list(dict.fromkeys(region for cloud in get_args(Cloud) for region in regions(cloud)))
    proposed = {"gpu": list(gpus()), "region": places, "copy_to": places, "replicate_to": places}
    return json.dumps(stack_schema(proposed), indent=2, ensure_ascii=False) + "\n"
