"""Checking stacks: each from its source to a report, several at a time in processes of their own."""

import gc
import multiprocessing
import traceback
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Literal

from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of
from gpuyard_policy.config import PackConfig
from gpuyard_policy.evaluate import evaluate
from gpuyard_policy.report.model import StackReport
from gpuyard_policy.rules import ALL_RULES
from gpuyard_policy.sources.model import Source

# What a process that runs a program has loaded before it starts; nothing of a cloud is among it.
_PRELOADED = ["__main__", "gpuyard_policy.checking", "gpuyard_policy.sources.in_process"]


@dataclass(frozen=True)
class Job:
    """One stack to check.

    Attributes:
        name: The stack, or the file for people.
        kind: ``program`` for the stack's own program, ``plan`` for a preview's JSON, ``state`` for an exported stack.
        path: Folder of the project, or the file.
        shown_in: Folder to which the files of a program are named.
    """

    name: str
    kind: Literal["program", "plan", "state"]
    path: Path
    shown_in: Path


def settings_problems(config: PackConfig) -> list[Problem]:
    """What settings name that does not exist: such a setting would do nothing, and nobody would see it."""
    known = {rule.id: rule for rule in ALL_RULES}
    problems: list[Problem] = []
    for rule_id, given in config.rules.items():
        if rule_id not in known:
            problems.append(Problem(("rules", rule_id), *_no_rule(rule_id, known)))
            continue
        names = list(known[rule_id].thresholds)
        problems += [
            Problem(
                ("rules", rule_id, "thresholds", name),
                f"{rule_id} has no threshold '{name}'.",
                f"{did_you_mean(name, names)} Its thresholds: {one_of(names)}.".strip(),
            )
            for name in given.thresholds
            if name not in names
        ]
    problems += [
        Problem(("suppressions", place, "rule"), *_no_rule(one.rule, known))
        for place, one in enumerate(config.suppressions)
        if one.rule not in known
    ]
    return problems


def check_all(jobs: Sequence[Job], config: PackConfig, today: date, processes: int) -> list[StackReport]:
    """Check several stacks.

    Args:
        jobs: The stacks.
        config: What is set.
        today: The day on which suppressions are judged.
        processes: How many run at a time. One stack alone runs in this process; of several, each has a process of its
            own, so that no program sees what another one has imported or set.

    Returns:
        A report for each stack, in their order; one that cannot be judged says why.
    """
    if len(jobs) == 1:
        return [check_one(jobs[0], config, today)]
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    if method == "forkserver" and any(job.kind == "program" for job in jobs):
        context.set_forkserver_preload(_PRELOADED)
    with ProcessPoolExecutor(max(1, min(processes, len(jobs))), context, max_tasks_per_child=1) as pool:
        waiting = [pool.submit(check_one, job, config, today) for job in jobs]
        reports: list[StackReport] = []
        for job, answer in zip(jobs, waiting, strict=True):
            try:
                reports.append(answer.result())
            except BrokenProcessPool as error:
                reports.append(StackReport(job.name, problems=(f"its process ended: {error}",), broken=True))
    return reports


def check_one(job: Job, config: PackConfig, today: date) -> StackReport:
    """Check one stack in this process.

    Args:
        job: The stack.
        config: What is set.
        today: The day on which suppressions are judged.

    Returns:
        Its report. Whatever breaks is told in it, so that the other stacks are checked all the same.
    """
    # SDK classes, records and findings stay to the end: collecting between them only costs time.
    gc.disable()
    try:
        source = _source(job)
        return _judged(source, config, today)
    except SpecError as error:
        return StackReport(job.name, problems=tuple(str(problem) for problem in error.problems))
    except Exception as error:  # noqa: BLE001 - told as gpuyard's own fault, with everything that helps to find it
        # Of an error that was only passed on, the first one says where to look.
        text = "".join(traceback.format_exception(error.__cause__ or error, chain=False))
        return StackReport(job.name, problems=(f"gpuyard itself broke:\n{text}",), broken=True)
    finally:
        gc.freeze()
        gc.enable()


def _source(job: Job) -> Source:
    # Each kind is loaded where it is needed: a plan needs nothing of Pulumi.
    if job.kind == "plan":
        return import_module("gpuyard_policy.sources.plan").read_plan(job.path)
    if job.kind == "state":
        return import_module("gpuyard_policy.sources.state").read_state(job.path)
    project = import_module("gpuyard.sandbox.workspace").read_project(job.path)
    return import_module("gpuyard_policy.sources.in_process").run_stack(project, job.name, job.shown_in)


def _judged(source: Source, config: PackConfig, today: date) -> StackReport:
    evaluation = evaluate(source.records, config, today=today)
    problem = None
    if not evaluation.judged:
        counted = f"of {len(source.records)} resources none is" if source.records else "it has no resources"
        problem = f"nothing was judged, and that is no pass: {counted} of a cloud that the rules know."
    elif not evaluation.rules:
        problem = "nothing was judged, and that is no pass: every rule is disabled."
    if problem is not None:
        return StackReport(source.name, place=source.place, notes=source.notes, problems=(problem,))
    told = {one.urn for one in evaluation.findings if one.urn is not None}
    return StackReport(
        name=source.name,
        evaluation=evaluation,
        places={urn: place for urn, place in source.places.items() if urn in told},
        place=source.place,
        final=source.final,
        notes=source.notes,
    )


def _no_rule(rule_id: str, known: Iterable[str]) -> tuple[str, str]:
    return f"there is no rule '{rule_id}'.", did_you_mean(rule_id, known) or "gpuyard rules lists them."
