"""``gpuyard plan --write``: a stack file for the best candidate that gpuyard can build."""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from gpuyard.catalog import regions, zone_belongs_to
from gpuyard.cli.writing import write_whole
from gpuyard.planning.check import check_stack_file
from gpuyard.planning.workload import Candidate, WorkloadPlan, WorkloadRequest
from gpuyard.planning.workload.stack_file import StackPlace, stack_file_text
from gpuyard.spec.base import Cloud, Environment
from gpuyard.spec.json_schema import editor_line
from gpuyard.spec.problems import Problem, SpecError, did_you_mean, dotted, one_of
from gpuyard.spec.stack_file import read_stack_file
from gpuyard.spec.values import Name

BUILT_CLOUDS: tuple[str, ...] = get_args(Cloud)
DEFAULT_ENVIRONMENT = "dev"
_FILE_NAME = re.compile(r"Pulumi\.([A-Za-z0-9_.-]+)\.yaml")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a stack file goes and what stands in it: ``stack`` is the stack's name, ``name`` the cluster's own.

    ``command`` is the command that writes it; ``second_region`` receives copies, None for none.
    """

    path: Path
    stack: str
    zone: str
    environment: str
    name: str | None
    command: str = "gpuyard plan"
    second_region: str | None = None

    def narrowed(self, request: WorkloadRequest) -> WorkloadRequest:
        """The request for the region of the zone alone, so that what is ranked is what is written.

        Raises:
            SpecError: No region asked for has such a zone.
        """
        asked = request.regions or [region for cloud in request.clouds for region in regions(cloud)]
        found = [
            region
            for region in dict.fromkeys(asked)
            if any(zone_belongs_to(self.zone, region, cloud) for cloud in request.clouds if region in regions(cloud))
        ]
        if not found:
            where = one_of(request.regions) if request.regions else one_of(request.clouds)
            message = f"'{self.zone}' is no zone of {where}."
            raise SpecError([Problem(("--zone",), message, "A zone is written like 'us-east-1a'.")])
        return request.model_copy(update={"regions": found})


@dataclass(frozen=True, slots=True)
class Choice:
    """The best candidate that can be built, its stack file, and what to tell of those before it."""

    candidate: Candidate
    text: str
    passed_over: tuple[str, ...]


def target_of(
    path: Path | None, *, zone: str | None, environment: str | None, name: str | None, force: bool
) -> Target | None:
    """The target that the options name; None without ``--write``.

    Args:
        path: The stack file.
        zone: Zone of the nodes.
        environment: Kind of environment.
        name: Name of the cluster.
        force: Whether a file that exists is written over.

    Returns:
        The checked target.

    Raises:
        SpecError: With every problem of these options.
    """
    if path is None:
        given = {"--zone": zone, "--environment": environment, "--name": name, "--force": force or None}
        problems = [
            Problem((option,), "is only for a stack file that is written.", "Add --write stacks/Pulumi.NAME.yaml.")
            for option, value in given.items()
            if value is not None
        ]
        if problems:
            raise SpecError(problems)
        return None
    environment = environment or DEFAULT_ENVIRONMENT
    problems = [*_path_problems(path, force=force), *_word_problems(environment, name)]
    if zone is None:
        message = "is missing: a stack file names the zone that its nodes are in."
        problems.append(Problem(("--zone",), message, "Name one where you have capacity, such as us-east-1a."))
    stack = _FILE_NAME.fullmatch(path.name)
    if problems or zone is None or stack is None:
        raise SpecError(problems)
    return Target(path, stack[1], zone, environment, name)


def write_stack_file(plan: WorkloadPlan, target: Target, today: date) -> list[str]:
    """Write a stack file for the best candidate that can be built; the file is whole or not there.

    Args:
        plan: The plan.
        target: Where it goes.
        today: The day of asking.

    Returns:
        What to tell a person: candidates that were passed over, and what was written.

    Raises:
        SpecError: No candidate can be built.
    """
    chosen = first_that_can_be_built(plan, target, today)
    place = plan.candidates.index(chosen.candidate) + 1
    write_whole(target.path, chosen.text)
    row, nodes = chosen.candidate.instance_type, chosen.candidate.layout.nodes
    which = f"candidate {place} of {len(plan.candidates)}: {nodes} × {row.instance_type} of {row.cloud}"
    return [*chosen.passed_over, f"Wrote {target.path} for {which}."]


def first_that_can_be_built(plan: WorkloadPlan, target: Target, today: date) -> Choice:
    """The best candidate whose stack file passes the project's own check; nothing is written.

    Args:
        plan: The plan.
        target: Where the file would go.
        today: The day of asking.

    Returns:
        The choice.

    Raises:
        SpecError: No candidate can be built.
    """
    if not plan.candidates:
        nearest = {str(one.instance_type.gpu_model) for one in plan.alternatives}
        remedy = f"The nearest that is rented: --gpu {one_of(sorted(nearest))}." if nearest else "See the plan for why."
        raise SpecError([Problem(("--write",), "nothing fits, so there is nothing to write.", remedy)])
    passed_over: list[str] = []
    problems: list[Problem] = []
    unbuilt: dict[str, int] = {}
    for candidate in plan.candidates:
        row = candidate.instance_type
        if row.cloud not in BUILT_CLOUDS:
            unbuilt[row.cloud] = unbuilt.get(row.cloud, 0) + 1
            continue
        text, wrong = _checked_text(plan, candidate, target, today)
        if not wrong:
            return Choice(candidate, text, (*_unbuilt_words(unbuilt), *passed_over))
        passed_over.append(f"{row.instance_type} is passed over: {wrong[0].message} {wrong[0].remedy}".strip())
        # The best one's problems stand for the others'.
        problems = problems or [
            Problem(("--write",), f"{row.instance_type}: {dotted(one.path[1:])}: {one.message}", one.remedy)
            for one in wrong
        ]
    if problems:
        raise SpecError(problems)
    message = f"no candidate is of {one_of(BUILT_CLOUDS)}, and stack files of other clouds cannot be built yet."
    raise SpecError([Problem(("--write",), message, f"Add --cloud {BUILT_CLOUDS[0]} and a zone of it.")])


def _unbuilt_words(unbuilt: dict[str, int]) -> list[str]:
    built = f"so far gpuyard builds {one_of(BUILT_CLOUDS)} only"
    return [
        f"{count} {'candidates' if count > 1 else 'candidate'} of {cloud} ranked before it: passed over, {built}."
        for cloud, count in unbuilt.items()
    ]


def _checked_text(plan: WorkloadPlan, candidate: Candidate, target: Target, today: date) -> tuple[str, list[Problem]]:
    """The file's text, and what ``gpuyard check`` would say against it."""
    cloud = candidate.instance_type.cloud
    region = next(name for name in plan.request.regions if zone_belongs_to(target.zone, name, cloud))
    place = StackPlace(region, target.zone, target.environment, target.name, target.second_region)
    first = editor_line(target.path)
    text = "" if first is None else f"{first}\n"
    text += stack_file_text(plan, candidate, place, today, target.command)
    with TemporaryDirectory() as folder:
        trial = Path(folder, target.path.name)
        trial.write_text(text, encoding="utf-8")
        try:
            check_stack_file(read_stack_file(trial, str(target.path)), target.stack)
        except SpecError as error:
            return text, list(error.problems)
    return text, []


def _path_problems(path: Path, *, force: bool) -> list[Problem]:
    at = ("--write",)
    if not _FILE_NAME.fullmatch(path.name):
        return [Problem(at, f"'{path.name}' is no name of a stack file.", "Write it like stacks/Pulumi.aws-dev.yaml.")]
    if not path.parent.is_dir():
        return [Problem(at, f"there is no folder '{path.parent}'.", "Make it, or name another.")]
    if path.is_dir():
        return [Problem(at, f"'{path}' is a folder.", "Name a file.")]
    if path.exists() and not force:
        return [Problem(at, f"'{path}' exists.", "Name another file, or add --force to write over it.")]
    return []


def _word_problems(environment: str, name: str | None) -> list[Problem]:
    problems: list[Problem] = []
    allowed = get_args(Environment)
    if environment not in allowed:
        hint = f"{did_you_mean(environment, allowed)} Allowed: {one_of(allowed)}.".strip()
        problems.append(Problem(("--environment",), f"'{environment}' is not allowed.", hint))
    if name is not None:
        try:
            TypeAdapter[str](Name).validate_python(name)
        except ValidationError:
            remedy = "Use lower-case letters, digits and hyphens, at most 32, beginning with a letter."
            problems.append(Problem(("--name",), f"'{name}' cannot be a name.", remedy))
    return problems
