"""``gpuyard init``: a stack file for a piece of work, and a project around it where there is none."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpuyard.cli.stacks import HERE, Root

if TYPE_CHECKING:
    from gpuyard.cli.init_answers import Answers


def _option(text: str, metavar: str, default: str) -> Any:
    return typer.Option(help=text, metavar=metavar, show_default=default)


def init(
    name: Annotated[
        str | None, typer.Argument(help="Name of the stack: stacks/Pulumi.<name>.yaml.", show_default="asked")
    ] = None,
    scenario: Annotated[
        str | None, _option("pretrain, finetune, lora, rl, vision or inference.", "NAME", "asked")
    ] = None,
    cloud: Annotated[str | None, _option("aws, alicloud or tencentcloud.", "CLOUD", "asked")] = None,
    region: Annotated[str | None, _option("The region.", "REGION", "that of the zone")] = None,
    zone: Annotated[str | None, _option("Zone of the nodes, such as us-east-1a.", "ZONE", "asked")] = None,
    parameters: Annotated[str | None, _option("Parameters of the model, such as 70e9.", "NUMBER", "asked")] = None,
    nodes: Annotated[str | None, _option("Number of nodes.", "N", "the fewest that do")] = None,
    environment: Annotated[str | None, _option("dev, staging or prod.", "NAME", "dev")] = None,
    second_region: Annotated[
        str | None, _option("Region for copies of checkpoints and snapshots.", "REGION", "none; asked for prod")
    ] = None,
    project: Root = HERE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; what is missing is an error.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a stack file that exists.")] = False,
) -> None:
    """Write a stack file for a piece of work: asks for what is not given, where there is somebody to ask."""
    from gpuyard.cli.init_answers import Answers

    given = Answers(name, scenario, parameters, cloud, region, zone, nodes, environment, second_region)
    asks = not yes and _somebody_is_there()
    try:
        written = _run(project, given, asks=asks, force=force)
    except typer.Abort:
        typer.echo("\nNothing was written.", err=True)
        raise typer.Exit(130) from None
    if not written:
        typer.echo("Nothing was written.", err=True)
        raise typer.Exit(1)


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _run(root: Path, given: "Answers", *, asks: bool, force: bool) -> bool:
    """Write what was asked for; returns whether it was."""
    from dataclasses import replace
    from datetime import UTC, datetime

    from rich.console import Console

    from gpuyard.cli.init_answers import missing, problems_of
    from gpuyard.cli.init_plan import planned, summary, target_of
    from gpuyard.cli.init_project import stack_folder, write_all
    from gpuyard.cli.init_questions import ask
    from gpuyard.cli.plan_write import first_that_can_be_built
    from gpuyard.spec.problems import Problem, SpecError
    from gpuyard.spec.values import positive_count

    console = Console(highlight=False, soft_wrap=True)
    today = datetime.now(tz=UTC).date()
    folder, files = stack_folder(root)
    problems = problems_of(given) if asks else [*missing(given), *problems_of(given)]
    if problems:
        raise SpecError(problems)
    answers = ask(given, today, console) if asks else given
    path = folder / f"Pulumi.{answers.name}.yaml"
    if path.exists() and not force:
        remedy = "Choose another name, or add --force to write over it."
        raise SpecError([Problem(("NAME",), f"'{path}' exists.", remedy)])
    target = target_of(answers, path)
    nodes = None if answers.nodes is None else positive_count(answers.nodes)
    plan = planned(target.narrowed(answers.request()), nodes, today)
    try:
        chosen = first_that_can_be_built(plan, target, today)
    except SpecError as error:
        # There is no option --write here.
        raise SpecError(replace(problem, path=()) for problem in error.problems) from None
    for line in (*chosen.passed_over, f"{summary(chosen.candidate)}."):
        console.print(line, markup=False)
    if asks and not typer.confirm(f"Write {path}?", default=True):
        return False
    write_all({**files, path: chosen.text})
    for made in (*files, path):
        console.print(f"Wrote {made}.", markup=False)
    console.print(f"Look at it, then: gpuyard check {answers.name}; gpuyard up {answers.name}", markup=False)
    return True
