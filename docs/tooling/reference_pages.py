"""Reference pages made from what they describe: commands, the stack file's schema, components, catalog."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import typer.cli
import typer.main

import gpuyard
from gpuyard.cli.main import COMMANDS, app_of
from gpuyard.spec.json_schema import stack_schema

DATA = Path(gpuyard.__file__).parent / "catalog" / "data"
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤"}
_COUNTS = {"minItems": "at least {} items", "maxItems": "at most {} items"}


def cli_page() -> str:
    """Every command with its arguments and options, as ``--help`` has them."""
    command = typer.main.get_command(app_of(*sorted(COMMANDS)))
    context = command.make_context("gpuyard", [], resilient_parsing=True)
    text = typer.cli.get_docs_for_click(obj=command, ctx=context, name="gpuyard", title="Commands")
    # Typer cuts what it lists; there is room for the whole sentence.
    for name, group in _groups("gpuyard", command):
        for inner, one in group.commands.items():
            whole = " ".join((one.help or "").split())
            text = text.replace(f"* `{inner}`: {one.get_short_help_str()}\n", f"* `{name} {inner}`: {whole}\n", 1)
    return text


def stack_file_page() -> str:
    """Every key of a stack file with type, default and limits."""
    schema = stack_schema()
    definitions: dict[str, Any] = schema["definitions"]
    lines = [
        "# Keys of a stack file",
        "",
        "Made from the models; `schemas/stack.schema.json` says the same to editors. What a key means on each cloud, "
        "and what a cloud refuses: [AWS](../aws.md), [Alibaba Cloud](../alicloud.md), "
        "[Tencent Cloud](../tencentcloud.md).",
        "",
        'Numbers and flags may also be texts, as `pulumi config set` stores them: `70e9`, `"8"`, `"true"`.',
    ]
    paths = _paths(definitions)
    for name in paths:
        model = definitions[name]
        lines += ["", f"## {_title(paths[name])} {{: #{name.lower()} }}", "", model.get("description", "")]
        lines += ["", "| key | type | default | limits | meaning |", "| --- | --- | --- | --- | --- |"]
        for key, field in model.get("properties", {}).items():
            default = "needed" if key in model.get("required", []) else _default(field)
            cells = (f"`{key}`", _type(field), default, _limits(field), field.get("description", ""))
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def components_page() -> str:
    """The components and their arguments, from their docstrings."""
    names = [name for name in gpuyard.__all__ if f"{name}Args" in gpuyard.__all__]
    names.sort(key=lambda name: name != "TrainingCluster")
    lines = [
        "# Components",
        "",
        "`from gpuyard import TrainingCluster`. Each takes one argument object, a plain dictionary. Other languages "
        "have the same keys in camelCase ([how](../how-to/use-components.md)). The keys of its parts: "
        "[stack file](stack-file.md).",
    ]
    for name in names:
        home = getattr(gpuyard, name).__module__
        arguments = import_module("gpuyard.resources.args").__name__
        lines += ["", f"::: {home}.{name}", "", f"::: {arguments}.{name}Args"]
    return "\n".join(lines) + "\n"


def catalog_page() -> str:
    """The data files of the catalog: what each holds, and how it is to be read."""
    lines = [
        "# Catalog files",
        "",
        "In `components/gpuyard/catalog/data/`. One row has one source and one date. `null` is unknown, never "
        "no. `gpuyard catalog --help` lists, shows and compares them.",
    ]
    for path in sorted(DATA.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = data.get("rows") or data.get("prices")
        keys = list(dict.fromkeys(key for row in _records(rows) for key in row))
        lines += ["", f"## {path.stem}", "", f"{len(rows)} rows. {data['about']}", ""]
        lines += ["Keys: " + ", ".join(f"`{key}`" for key in keys) + "."]
    return "\n".join(lines) + "\n"


def _groups(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if hasattr(command, "commands"):
        yield name, command
        for inner, one in command.commands.items():
            yield from _groups(f"{name} {inner}", one)


def _records(rows: Any) -> Iterator[dict[str, Any]]:
    for row in rows.values() if isinstance(rows, dict) else rows:
        if isinstance(row, dict):
            yield row


def _paths(definitions: dict[str, Any]) -> dict[str, str]:
    """Where each model stands in a file; the first place where it stands in several."""
    found = {"ClusterSpec": ""}
    waiting = ["ClusterSpec"]
    while waiting:
        above = waiting.pop(0)
        for key, field in definitions[above].get("properties", {}).items():
            for named, name in _references(field):
                if name not in found:
                    found[name] = f"{found[above]}.{key}{'.NAME' if named else ''}".lstrip(".")
                    waiting.append(name)
    return found


def _references(field: Any, named: bool = False) -> Iterator[tuple[bool, str]]:
    if isinstance(field, list):
        for one in field:
            yield from _references(one, named)
    elif isinstance(field, dict):
        if "$ref" in field:
            yield named, field["$ref"].rsplit("/", 1)[1]
        for key, inner in field.items():
            yield from _references(inner, named or key in ("additionalProperties", "patternProperties"))


def _title(path: str) -> str:
    return f"`{path}`" if path else "The cluster"


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return " ".join(f"`{word}`" for word in field["enum"] if word is not None)
    if "const" in field:
        return f"`{field['const']}`"
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return f"[group](#{name.lower()})"
    for key in ("anyOf", "allOf"):
        if key in field:
            return " or ".join(dict.fromkeys(_type(one) for one in field[key] if one.get("type") != "null"))
    kinds = [field["type"]] if isinstance(field.get("type"), str) else list(field.get("type", ["any"]))
    kinds = [kind for kind in kinds if kind != "null"]
    if "array" in kinds:
        return f"list of {_type(field.get('items', {}))}"
    if "object" in kinds:
        inner = next(iter(field.get("patternProperties", {}).values()), field.get("additionalProperties"))
        return f"names, each with {_type(inner)}" if isinstance(inner, dict) else "group"
    # The text form of a number is said once, above.
    return next((kind for kind in kinds if kind != "string"), "text")


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "none" if default is None else f"`{json.dumps(default)}`" if not isinstance(default, str) else f"`{default}`"


def _limits(field: dict[str, Any]) -> str:
    """Bounds wherever in the field they stand; a pattern only where it is the whole of the rule."""
    said = [f"{sign} {_number(field[key])}" for key, sign in _BOUNDS.items() if key in field]
    said += [text.format(field[key]) for key, text in _COUNTS.items() if key in field]
    if field.get("maxLength"):
        said.append(f"{field.get('minLength', 0)} to {field['maxLength']} characters")
    inner = [*field.get("anyOf", []), *([field["items"]] if isinstance(field.get("items"), dict) else [])]
    return ", ".join(dict.fromkeys([*said, *filter(None, map(_limits, inner))]))


def _number(value: float) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else f"{value:g}"
