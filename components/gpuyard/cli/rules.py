"""``gpuyard rules``: what the policy pack demands, and one rule explained."""

from typing import Annotated

import typer

from gpuyard.cli.catalog_output import catalog_format, print_csv, print_json, print_table
from gpuyard.spec.problems import Problem, SpecError, did_you_mean

_COLUMNS = ("id", "name", "family", "severity", "dev", "staging", "prod", "title")
_SHOWN = ("id", "title", "dev", "staging", "prod")


def rules(
    rule: Annotated[str | None, typer.Argument(help="Id or name of a rule.", show_default="all")] = None,
    family: Annotated[
        str | None,
        typer.Option(help="fabric, storage, snapshots, spot, cost, access or operations.", show_default="all"),
    ] = None,
    output: Annotated[str, typer.Option("--format", "-f", help="table, json or csv.", metavar="FORMAT")] = "table",
) -> None:
    """List the rules of the policy pack, or explain one."""
    from gpuyard_policy.docs import page_of
    from gpuyard_policy.rules import ALL_RULES

    chosen = catalog_format(output)
    if rule is not None:
        names = {name: one for one in ALL_RULES for name in (one.id, one.name)}
        found = names.get(rule) or names.get(rule.upper())
        if found is None:
            raise SpecError([Problem((), f"there is no rule '{rule}'.", did_you_mean(rule, names) or _LIST)])
        if chosen == "table":
            typer.echo(page_of(found), nl=False)
            return
        listed = [found]
    else:
        families = list(dict.fromkeys(one.family for one in ALL_RULES))
        if family is not None and family not in families:
            remedy = did_you_mean(family, families) or f"Use {', '.join(families)}."
            raise SpecError([Problem(("--family",), f"there is no family '{family}'.", remedy)])
        listed = [one for one in ALL_RULES if family in (None, one.family)]
    rows = [
        {
            "id": one.id,
            "name": one.name,
            "family": one.family,
            "severity": one.severity,
            "title": one.title,
            **one.levels,
            "rationale": one.rationale,
            "remedy": one.remedy,
            "thresholds": {name: {"default": t.default, "unit": t.unit} for name, t in one.thresholds.items()},
        }
        for one in listed
    ]
    if chosen == "json":
        print_json(rows)
    elif chosen == "csv":
        print_csv(rows, _COLUMNS)
    else:
        print_table(_SHOWN, [[row[name] for name in _SHOWN] for row in rows])
        typer.echo("gpuyard rules ID explains one.")


_LIST = "gpuyard rules lists them."
