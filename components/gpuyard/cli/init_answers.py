"""What ``gpuyard init`` has to know, and whether an answer can be right."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from gpuyard.catalog import regions, zone_belongs_to
from gpuyard.catalog.regions import zone_example
from gpuyard.planning.workload import WorkloadRequest, parse_request
from gpuyard.spec.base import Cloud, Environment
from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of
from gpuyard.spec.values import COUNT_MAX, NAME_PATTERN, NAME_RULE, positive_count

SCENARIOS = {
    "pretrain": "pretrain",
    "finetune": "full_finetune",
    "lora": "lora",
    "rl": "rl",
    "vision": "vision",
    "inference": "inference",
}
"""The task of a workload by the word for it."""
CLOUDS: tuple[str, ...] = get_args(Cloud)
ENVIRONMENTS: tuple[str, ...] = get_args(Environment)


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that was asked, as people write it; None where nothing was said."""

    name: str | None = None
    scenario: str | None = None
    parameters: str | None = None
    cloud: str | None = None
    region: str | None = None
    zone: str | None = None
    nodes: str | None = None
    environment: str | None = None
    second_region: str | None = None

    @property
    def needs_copies(self) -> bool:
        """Whether what is kept has to be kept in a second region as well: the policy pack demands it in production."""
        return self.environment == "prod" and self.scenario != "inference"

    def request(self) -> WorkloadRequest:
        """The workload, for every region of the cloud or the one that was named.

        Raises:
            SpecError: Scenario, parameters or cloud are missing or wrong.
        """
        problems = [
            *_missing(self, ("scenario", "parameters", "cloud")),
            *problems_of(Answers(scenario=self.scenario, parameters=self.parameters, cloud=self.cloud)),
        ]
        if problems:
            raise SpecError(problems)
        fields = {
            "task": SCENARIOS[str(self.scenario)],
            "parameters": self.parameters,
            "clouds": [self.cloud],
            "regions": [] if self.region is None else [self.region],
        }
        return parse_request(fields)


def problems_of(answers: Answers) -> list[Problem]:
    """What is wrong with the answers that were given.

    Args:
        answers: Answers, each of which may be missing.

    Returns:
        Problems at the options, each with what would be right.
    """
    return [
        *_name_problems(answers.name),
        *_word_problems("--scenario", answers.scenario, SCENARIOS),
        *_parameter_problems(answers.parameters),
        *_word_problems("--cloud", answers.cloud, CLOUDS),
        *_place_problems(answers),
        *_second_region_problems(answers),
        *_node_problems(answers.nodes),
        *_word_problems("--environment", answers.environment, ENVIRONMENTS),
    ]


def missing(answers: Answers) -> list[Problem]:
    """A problem for each answer that is needed and was not given, with what may be given."""
    needed = ["name", "scenario", "parameters", "cloud", "zone", *(["second_region"] if answers.needs_copies else [])]
    return _missing(answers, needed)


def _missing(answers: Answers, needed: Iterable[str]) -> list[Problem]:
    cloud = answers.cloud if answers.cloud in CLOUDS else "aws"
    known = regions(cloud)
    region = answers.region if answers.region in known else "us-east-1" if cloud == "aws" else next(iter(known))
    remedies = {
        "name": ("NAME", f"Name the stack: {NAME_RULE}."),
        "scenario": ("--scenario", f"Allowed: {one_of(SCENARIOS)}."),
        "parameters": ("--parameters", "Give the number of parameters of the model, such as 70e9."),
        "cloud": ("--cloud", f"Allowed: {one_of(CLOUDS)}."),
        "zone": ("--zone", f"Name one in which you have capacity, written like {zone_example(region, cloud)}."),
        "second_region": (
            "--second-region",
            "In prod, copies of checkpoints and snapshots are kept in a second region.",
        ),
    }
    return [
        Problem((remedies[key][0],), "is missing.", remedies[key][1]) for key in needed if getattr(answers, key) is None
    ]


def _name_problems(name: str | None) -> list[Problem]:
    if name is None or re.fullmatch(NAME_PATTERN, name):
        return []
    return [Problem(("NAME",), f"'{name}' cannot be a name.", f"A name is {NAME_RULE}.")]


def _word_problems(option: str, word: str | None, allowed: Iterable[str]) -> list[Problem]:
    words = list(allowed)
    if word is None or word in words:
        return []
    return [
        Problem(
            (option,), f"'{word}' is not allowed.", f"{did_you_mean(word, words)} Allowed: {one_of(words)}.".strip()
        )
    ]


def _parameter_problems(parameters: str | None) -> list[Problem]:
    if parameters is None:
        return []
    try:
        parse_request({"task": "pretrain", "parameters": parameters})
    except SpecError as error:
        return [Problem(("--parameters",), problem.message, problem.remedy) for problem in error.problems]
    return []


def _place_problems(answers: Answers) -> list[Problem]:
    cloud, region, zone = answers.cloud, answers.region, answers.zone
    if cloud not in CLOUDS:
        return []
    known = regions(cloud)
    if region is not None and region not in known:
        hint = did_you_mean(region, known) or f"Regions: {', '.join(known)}."
        return [Problem(("--region",), f"no region of {cloud} is called '{region}'.", hint)]
    places = known if region is None else [region]
    if zone is None or any(zone_belongs_to(zone, place, cloud) for place in places):
        return []
    remedy = f"A zone is written like {zone_example(next(iter(places)), cloud)}."
    return [Problem(("--zone",), f"'{zone}' is no zone of {region or cloud}.", remedy)]


def _second_region_problems(answers: Answers) -> list[Problem]:
    second = answers.second_region
    if second is None or answers.cloud not in CLOUDS:
        return []
    option, known = ("--second-region",), regions(answers.cloud)
    if second not in known:
        hint = did_you_mean(second, known) or f"Regions: {', '.join(known)}."
        return [Problem(option, f"no region of {answers.cloud} is called '{second}'.", hint)]
    if second == answers.region or (answers.zone and zone_belongs_to(answers.zone, second, answers.cloud)):
        return [
            Problem(option, f"'{second}' is the region of the nodes.", "Name another: what takes a region takes both.")
        ]
    return []


def _node_problems(nodes: str | None) -> list[Problem]:
    if nodes is None:
        return []
    try:
        positive_count(nodes)
    except ValueError:
        message = f"should be a whole number from 1 to {COUNT_MAX:,}, not '{nodes}'."
        return [Problem(("--nodes",), message, "Leave it out for the fewest that do.")]
    return []
