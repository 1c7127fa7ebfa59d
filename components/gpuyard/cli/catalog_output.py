"""Printing the catalog's answers as a table for people, as JSON, or as CSV."""

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from io import StringIO
from typing import Any, Literal, cast, get_args

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from gpuyard.catalog.topology import Part, span
from gpuyard.cli.choice import checked_format

Format = Literal["table", "json", "csv"]
UNKNOWN = "?"
PIPED_WIDTH = 100
TEXT_MAX_WIDTH = 120


def catalog_format(text: str) -> Format:
    """The output format that a person named.

    Raises:
        SpecError: There is no such format.
    """
    formats: tuple[Format, ...] = get_args(Format)
    return checked_format(text, formats)


def console() -> Console:
    """Where tables go: as wide as the terminal, and 100 columns wide when piped, so that a log or a page holds it."""
    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(highlight=False, width=PIPED_WIDTH)


def plain(row: Any) -> dict[str, Any]:
    """A row of the catalog as plain data, in the order of its fields."""
    if not is_dataclass(row):
        raise TypeError(f"{row!r} is no row of the catalog")
    return {field.name: getattr(row, field.name) for field in fields(row)}


def shown(value: Any) -> str:
    """One fact as people read it: ``?`` when it is unknown."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, tuple | list):
        parts = cast(Sequence[Any], value)
        if all(isinstance(part, int) for part in parts):
            return span(parts) or "none"
        return ", ".join(shown(part) for part in parts) or "none"
    return str(value)


def print_json(data: Any) -> None:
    """Print plain data as JSON; unknown is ``null``."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def print_csv(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> None:
    """Print rows as CSV with a head; unknown is an empty cell, an empty list is ``none``."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(columns)
    writer.writerow(names)
    for row in rows:
        writer.writerow(["" if row[name] is None else shown(row[name]) for name in names])
    sys.stdout.write(text.getvalue())


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "", right: Sequence[str] = (), whole: int = 1
) -> None:
    """Print rows as a table.

    Args:
        head: Names of the columns.
        rows: Cells of each row; unknown is shown as ``?``.
        title: Line above the table.
        right: Names of the columns that are set to the right: numbers.
        whole: How many of the first columns are never folded: what a person copies.
    """
    out = console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for number, name in enumerate(head):
        justify = "right" if name in right else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=number < whole)
    for row in rows:
        table.add_row(*(escape(shown(cell)) for cell in row))
    if title:
        out.print(f"\n[bold]{escape(title)}[/bold]")
    out.print(table)


def print_facts(title: str, facts: Iterable[tuple[str, Any]]) -> None:
    """Print names and values under each other, long texts folded beside their name."""
    out = console()
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", max_width=TEXT_MAX_WIDTH)
    for name, value in facts:
        grid.add_row(escape(name), escape(shown(value)))
    out.print(f"\n[bold]{escape(title)}[/bold]")
    out.print(grid)


def print_tree(part: Part) -> None:
    """Draw a node and its parts."""
    console().print(_branch(Tree(escape(part.label)), part))


def say(text: str) -> None:
    """A sentence for people beside a table."""
    console().print(escape(text))


def note(text: str) -> None:
    """A sentence for people that must not get into data that a program reads."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(escape(text))


def _branch(tree: Tree, part: Part) -> Tree:
    for inner in part.parts:
        _branch(tree.add(escape(inner.label)), inner)
    return tree
