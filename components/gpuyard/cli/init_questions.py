"""Asking a person for what ``gpuyard init`` does not know yet: each answer is checked before the next question."""

from dataclasses import replace
from datetime import date

import typer
from rich.console import Console
from rich.markup import escape

from gpuyard.catalog import zone_belongs_to
from gpuyard.catalog.regions import zone_example
from gpuyard.cli.init_answers import CLOUDS, ENVIRONMENTS, SCENARIOS, Answers, problems_of
from gpuyard.cli.init_plan import planned, summary
from gpuyard.cli.plan_write import DEFAULT_ENVIRONMENT
from gpuyard.planning.workload import Candidate
from gpuyard.spec.problems import one_of

_SHOWN = 3
WORDS = {
    "pretrain": "all weights, from nothing, on many nodes",
    "finetune": "all weights of a model that exists",
    "lora": "small adapters of a model that exists",
    "rl": "reinforcement learning of a model that exists",
    "vision": "images",
    "inference": "a model that serves",
}


def ask(answers: Answers, today: date, console: Console) -> Answers:
    """Ask for everything that is missing.

    Args:
        answers: What is known already, and right as far as it goes.
        today: The day of asking, for prices.
        console: Where the person reads.

    Returns:
        The answers, complete.

    Raises:
        typer.Abort: The person gave up.
        SpecError: Nothing that is rented runs the work.
    """
    if answers.scenario is None:
        for word in SCENARIOS:
            console.print(f"  [bold]{word:<10}[/bold] {WORDS[word]}")
    answers = _asked(answers, "scenario", f"Scenario ({one_of(SCENARIOS)})", None, console)
    answers = _asked(answers, "parameters", "Parameters of the model, such as 70e9", None, console)
    answers = _asked(answers, "cloud", f"Cloud ({one_of(CLOUDS)})", None, console)
    candidates = planned(answers.request(), None, today).candidates
    if candidates and None in (answers.region, answers.zone, answers.nodes):
        console.print("What does it, the best first:")
        for one in candidates[:_SHOWN]:
            console.print(f"  {summary(one)}", markup=False)
    if answers.zone is None:
        answers = _asked(answers, "region", "Region", _likely_region(candidates), console)
        shown = f"Zone, such as {zone_example(str(answers.region), str(answers.cloud))}"
        answers = _asked(answers, "zone", shown, _likely_zone(candidates, answers), console)
    answers = _asked(answers, "nodes", "Nodes", str(candidates[0].layout.nodes) if candidates else "1", console)
    answers = _asked(answers, "environment", f"Environment ({one_of(ENVIRONMENTS)})", DEFAULT_ENVIRONMENT, console)
    if answers.needs_copies:
        answers = _asked(answers, "second_region", "Second region, for copies of what is kept", None, console)
    return _asked(answers, "name", "Name of the stack", f"{answers.cloud}-{answers.environment}", console)


def _asked(answers: Answers, key: str, question: str, default: str | None, console: Console) -> Answers:
    if getattr(answers, key) is not None:
        return answers
    while True:
        given: str = typer.prompt(question, default=default, type=str).strip()
        tried = replace(answers, **{key: given})
        problems = problems_of(tried)
        if not problems:
            return tried
        for problem in problems:
            console.print(f"[yellow]{escape(f'{problem.message} {problem.remedy}'.strip())}[/yellow]")


def _likely_region(candidates: tuple[Candidate, ...]) -> str | None:
    """Where the best candidate is cheapest, or the first region that is known to offer it."""
    for one in candidates[:1]:
        if one.cost is not None:
            return one.cost.region
        return one.regions[0] if one.regions else None
    return None


def _likely_zone(candidates: tuple[Candidate, ...], answers: Answers) -> str | None:
    """A zone of the region in which the catalog knows the best candidate's type to be offered."""
    known = candidates[0].instance_type.zone_ids if candidates else None
    region, cloud = str(answers.region), str(answers.cloud)
    return next((zone for zone in known or () if zone_belongs_to(zone, region, cloud)), None)
