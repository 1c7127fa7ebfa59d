"""``gpuyard checkpoint``: the newest complete checkpoint, whether checkpoints are whole, and removing old ones."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.cli.choice import checked_format

if TYPE_CHECKING:
    from gpuyard.checkpoints.inventory import Pruning
    from gpuyard.checkpoints.store import Store

checkpoint_app = typer.Typer(
    help="Checkpoints in a folder, S3, OSS or COS: which is the newest complete one, are they whole, what can go.",
    no_args_is_help=True,
)

Where = Annotated[
    str, typer.Argument(help="s3://bucket/prefix, oss://bucket/prefix, cos://bucket-appid/prefix, or a folder.")
]
Endpoint = Annotated[str | None, typer.Option(help="Another address of the object storage: https://host.")]
Region = Annotated[str | None, typer.Option(help="The bucket's region; on a node the node's own when left out.")]
Output = Annotated[str, typer.Option("--format", "-f", help="table or json.", metavar="FORMAT")]
_FORMATS = ("table", "json")
_GIB = 1 << 30


@checkpoint_app.command("latest")
def show_latest(where: Where, endpoint: Endpoint = None, region: Region = None, output: Output = "table") -> None:
    """Show the newest complete checkpoint; exit code 1 when there is none."""
    from gpuyard.checkpoints.inventory import latest
    from gpuyard.cli.catalog_output import note, print_facts, print_json

    chosen = checked_format(output, _FORMATS)
    answer = latest(_opened(where, endpoint, region))
    found = answer.checkpoint
    if chosen == "json":
        print_json({"checkpoint": found._asdict() if found else None, "notes": answer.notes})
    else:
        for line in answer.notes:
            note(f"Note: {line}")
        if found:
            size, when = f"{_gib(found.bytes)} in {found.files} files", _when(found.written)
            print_facts(found.name, [("step", found.step), ("size", size), ("when", when), ("where", found.path)])
        else:
            note(f"Nothing complete is in {where}.")
    if not found:
        raise typer.Exit(1)


@checkpoint_app.command("verify")
def show_problems(
    where: Where,
    name: Annotated[str | None, typer.Argument(help="One, such as step-00001200.", show_default="all")] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Read every file and compare its checksum.")] = False,
    endpoint: Endpoint = None,
    region: Region = None,
    output: Output = "table",
) -> None:
    """Compare checkpoints with their manifests; exit code 1 when there is a problem, or no checkpoint at all."""
    from gpuyard.checkpoints.inventory import verify
    from gpuyard.cli.catalog_output import note, print_json, print_table, say

    chosen = checked_format(output, _FORMATS)
    found = verify(_opened(where, endpoint, region), name, deep)
    if chosen == "json":
        print_json(found)
    else:
        rows = [[one, problem] for one, problems in found.items() for problem in problems or ["good"]]
        if rows:
            print_table(["checkpoint", "found"], rows)
            say("Sizes and checksums are compared." if deep else "Sizes are compared; --deep compares checksums too.")
        else:
            note(f"Nothing is in {where}.")
    if not found or any(found.values()):
        raise typer.Exit(1)


@checkpoint_app.command("prune")
def prune(
    where: Where,
    keep: Annotated[int, typer.Option(help="How many of the newest complete ones stay.", min=1)],
    keep_every: Annotated[int, typer.Option(help="Steps that are a multiple of it stay too.", min=0)] = 0,
    older_than_days: Annotated[float, typer.Option(help="Only complete ones older than this go.", min=0)] = 0.0,
    abandoned_hours: Annotated[
        float, typer.Option(help="Unfinished ones go after so many hours without a write.", min=0)
    ] = 24.0,
    apply: Annotated[bool, typer.Option("--apply", help="Remove them; otherwise they are only shown.")] = False,
    endpoint: Endpoint = None,
    region: Region = None,
    output: Output = "table",
) -> None:
    """Remove old and abandoned checkpoints, never the newest complete one nor the one that 'latest' names."""
    from gpuyard.checkpoints.inventory import plan_pruning

    chosen = checked_format(output, _FORMATS)
    store = _opened(where, endpoint, region)
    plan = plan_pruning(store, keep, keep_every, older_than_days, abandoned_hours, time.time())
    if chosen == "table":
        _show(plan)
    for one in plan.removals if apply else ():
        store.remove(one.name)
        if chosen == "table":
            typer.echo(f"{one.name} removed")
    if chosen == "json":
        from gpuyard.cli.catalog_output import print_json

        removals = [{"name": one.name, "bytes": one.bytes, "reason": one.reason} for one in plan.removals]
        print_json({"applied": apply, "removals": removals, "bytes": plan.bytes, "kept": plan.kept})
    elif plan.removals and not apply:
        typer.echo("Nothing was removed: use --apply.")
    elif plan.removals and "://" in where:
        typer.echo("A bucket with versions holds the old ones until its lifecycle rules remove them.")


def _show(plan: "Pruning") -> None:
    from gpuyard.cli.catalog_output import print_table, say

    if plan.removals:
        rows = [[one.name, _gib(one.bytes), one.reason] for one in plan.removals]
        print_table(["checkpoint", "size", "why"], rows, right=["size"])
    say(f"{len(plan.removals)} go, {_gib(plan.bytes)}; {len(plan.kept)} stay.")


def _opened(where: str, endpoint: str | None, region: str | None) -> "Store":
    from gpuyard.checkpoints.places import open_store

    return open_store(where, endpoint, region)


def _gib(size: int) -> str:
    return f"{size / _GIB:.2f} GiB"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
