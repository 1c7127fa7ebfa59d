"""``gpuyard check --diff``: what another commit of the project has as well is left out."""

import io
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from gpuyard.spec.problems import Problem, SpecError
from gpuyard_policy.checking import Job, check_all
from gpuyard_policy.config import PackConfig
from gpuyard_policy.known import without_known
from gpuyard_policy.report.model import StackReport


def compared(
    jobs: Sequence[Job], config: PackConfig, today: date, processes: int, base_ref: str, program: Path
) -> list[StackReport]:
    """Check stacks here and as they are in another commit.

    The other commit's programs and stack files are judged by the rules and with the libraries that are installed now.

    Args:
        jobs: The stacks here, of programs.
        config: What is set.
        today: The day on which suppressions are judged.
        processes: How many stacks run at a time.
        base_ref: A commit, branch or tag of the project's repository.
        program: Folder of the project, in a working tree of git.

    Returns:
        Reports of the stacks here without what the other commit has as well. A stack that cannot be judged there is
        reported in full, and says so.

    Raises:
        SpecError: The project is not in a repository, or that has no such commit.
    """
    top, prefix = _repository(program, base_ref)
    with TemporaryDirectory(prefix="gpuyard-check-") as folder:
        _extract(top, base_ref, Path(folder))
        root = Path(folder) / prefix
        known = [job for job in jobs if _has_stack(root, job)]
        there = [replace(job, path=root, shown_in=Path(folder)) for job in known]
        reports = check_all([*jobs, *there], config, today, processes)
    before = dict(zip((job.name for job in known), reports[len(jobs) :], strict=True))
    return [_only_new(one, before.get(one.name), base_ref) for one in reports[: len(jobs)]]


def _only_new(here: StackReport, there: StackReport | None, base_ref: str) -> StackReport:
    if here.evaluation is None:
        return here
    if there is None:
        return replace(here, notes=(*here.notes, f"{base_ref} has no such stack: everything is shown."))
    if there.evaluation is None:
        why = " ".join(there.problems)
        note = f"{base_ref} could not be judged, so everything is shown: {why}"
        return replace(here, notes=(*here.notes, note))
    evaluation, same, gone = without_known(here.name, here.evaluation, there.evaluation.findings)
    note = f"compared with {base_ref}: {same} findings are the same there and left out, {gone} of there are gone."
    return replace(here, evaluation=evaluation, notes=(*here.notes, note))


def _has_stack(root: Path, job: Job) -> bool:
    from gpuyard.sandbox.workspace import read_project

    if not (root / "Pulumi.yaml").is_file():
        return False
    stacks = read_project(root).stacks()
    return job.name in stacks or not stacks


def _repository(program: Path, base_ref: str) -> tuple[Path, str]:
    """The top of the working tree, and the project's folder below it; the commit is there."""
    found = _git(program, "rev-parse", "--show-toplevel", "--show-prefix")
    if found is None:
        raise SpecError([Problem(("--diff",), f"{program.resolve()} is in no git repository.")])
    top, _, prefix = found.decode().rstrip("\n").partition("\n")
    # The check for the dash keeps git from taking the name for an option.
    if base_ref.startswith("-") or _git(program, "rev-parse", "--verify", "--quiet", f"{base_ref}^{{commit}}") is None:
        remedy = "In a shallow clone, fetch it first: actions/checkout with 'fetch-depth: 0'."
        raise SpecError([Problem(("--diff",), f"the repository has no commit '{base_ref}'.", remedy)])
    return Path(top), prefix


def _extract(top: Path, base_ref: str, folder: Path) -> None:
    # An archive leaves the repository as it is, where a worktree would be registered in it.
    packed = _git(top, "archive", "--format=tar", base_ref)
    if packed is None:
        raise SpecError([Problem(("--diff",), f"git cannot read the files of '{base_ref}'.")])
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def _git(folder: Path, *arguments: str) -> bytes | None:
    try:
        # Which git it is, is up to whoever runs this.
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, check=False)  # noqa: S607
    except FileNotFoundError:
        raise SpecError([Problem(("--diff",), "git is not installed.")]) from None
    return done.stdout if done.returncode == 0 else None
