"""``gpuyard launch``: the commands and files that start a job on all nodes of a pool."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of

if TYPE_CHECKING:
    from gpuyard.planning.launch import Launcher, LaunchJob
    from gpuyard.planning.plans import NodePoolPlan

_HOST = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")


def launch(
    stack: Annotated[str, typer.Argument(help="Name of a stack, or its file.", show_default=False)],
    pool: Annotated[
        str | None, typer.Option("--pool", help="The pool.", show_default="the one that can run such a job")
    ] = None,
    launcher: Annotated[str, typer.Option("--with", help="torchrun, accelerate, deepspeed or mpi.")] = "torchrun",
    hosts: Annotated[
        str | None, typer.Option("--hosts", help="Names or addresses: a,b,c.", show_default="HOST0, HOST1 ...")
    ] = None,
    hosts_file: Annotated[
        Path | None, typer.Option("--hosts-file", help="A file of them, one a line.", dir_okay=False)
    ] = None,
    script: Annotated[
        str, typer.Option("--script", help="The training script with its arguments, as one text.")
    ] = "train.py",
    zero_stage: Annotated[
        int | None,
        typer.Option("--zero-stage", help="ZeRO's stage, 0 to 3.", show_default="the plan's for the stack's model"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the files into this folder.", file_okay=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    program: Annotated[
        Path,
        typer.Option("--program", "-C", help="Folder with Pulumi.yaml.", file_okay=False, show_default="this folder"),
    ] = Path(),
) -> None:
    """Print or write what starts a job on several nodes: launch.sh, the hosts, the launcher's configuration."""
    from gpuyard.cli.catalog_output import note
    from gpuyard.cli.stack_argument import stack_plan
    from gpuyard.planning.launch import host_problems, launch_files, launch_job, placeholders, stage_problems

    problems: list[Problem] = []
    chosen = _launcher(launcher, problems)
    words = _script_words(script, problems)
    named = _hosts(hosts, hosts_file, problems)
    if problems or chosen is None:
        raise SpecError(problems)
    file, cluster = stack_plan(stack, program)
    plan = _pool(cluster.node_pools, pool, file.shown_as)
    whole = _job(plan)
    if named:
        problems += host_problems(whole, named)
    used = named or placeholders(whole.nodes)
    # With fewer hosts than the pool has at most, the model is laid out on those.
    job, _ = launch_job(plan, len(used))
    if job is None or problems:
        raise SpecError(problems)
    problems += stage_problems(job, chosen, zero_stage)
    if problems:
        raise SpecError(problems)
    files = launch_files(job, chosen, used, words, zero_stage)
    if output is None:
        for name, text in files.items():
            typer.echo(f"==> {name} <==\n{text}")
    else:
        _write(output, files, force=force)
        note(f"Wrote {', '.join(files)} to {output}.")
    for reason in job.reasons:
        note(reason)
    if job.elastic and chosen != "torchrun":
        note(f"{chosen} starts {len(used)} nodes and ends when one goes: on nodes that come and go use torchrun.")


def _launcher(given: str, problems: list[Problem]) -> "Launcher | None":
    from gpuyard.planning.launch import LAUNCHERS

    for name in LAUNCHERS:
        if given == name:
            return name
    hint = f"{did_you_mean(given, LAUNCHERS)} Allowed: {one_of(LAUNCHERS)}.".strip()
    problems.append(Problem(("--with",), f"'{given}' is none of them.", hint))
    return None


def _script_words(given: str, problems: list[Problem]) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(given))
    except ValueError as error:
        problems.append(Problem(("--script",), f"cannot be split into words: {error}.", "Close its quotes."))
        return ()
    if not words:
        problems.append(Problem(("--script",), "is empty.", "Name the training script, such as train.py."))
    elif words[0].startswith("-"):
        problems.append(Problem(("--script",), f"begins with an option, '{words[0]}'.", "Name the script first."))
    return words


def _hosts(given: str | None, path: Path | None, problems: list[Problem]) -> tuple[str, ...]:
    if given is not None and path is not None:
        problems.append(Problem(("--hosts-file",), "is given beside --hosts.", "Give one of them."))
        return ()
    if given is not None:
        named = [(name.strip(), None) for name in given.split(",")]
    elif path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            problems.append(Problem((), f"cannot be read: {error.strerror}.", file=str(path)))
            return ()
        except UnicodeDecodeError:
            problems.append(Problem((), "is no UTF-8 text.", file=str(path)))
            return ()
        # A hostfile that is there already may say the slots too; the plan knows them.
        words = [(line.split("#")[0].split(), number) for number, line in enumerate(lines, start=1)]
        named = [(parts[0], number) for parts, number in words if parts]
        if not named:
            problems.append(Problem((), "names no host.", "Write one a line.", str(path)))
    else:
        return ()
    seen: set[str] = set()
    for name, line in named:
        message = None
        if _HOST.fullmatch(name) is None:
            message = f"'{name}' is no name of a host."
        elif name in seen:
            message = f"'{name}' is named twice."
        if message is not None:
            remedy = "Give names or IPv4 addresses, each once."
            problems.append(Problem(("--hosts",) if path is None else (), message, remedy, path and str(path), line))
        seen.add(name)
    return tuple(name for name, _ in named)


def _pool(pools: "tuple[NodePoolPlan, ...]", name: str | None, shown_as: str) -> "NodePoolPlan":
    from gpuyard.planning.launch import launch_job

    known = {plan.name: plan for plan in pools}
    if name is not None:
        if name in known:
            return known[name]
        hint = f"{did_you_mean(name, known)} Pools: {one_of(known)}.".strip()
        raise SpecError([Problem(("--pool",), f"the stack has no pool '{name}'.", hint)])
    tried = {plan.name: launch_job(plan) for plan in pools}
    able = [name for name, (job, _) in tried.items() if job is not None]
    if len(able) == 1:
        return known[able[0]]
    if able:
        message = f"{len(able)} pools of the stack can run such a job."
        raise SpecError([Problem(("--pool",), message, f"Name one: {one_of(able)}.")])
    raise SpecError([problem.at(shown_as, None) for _, found in tried.values() for problem in found])


def _job(plan: "NodePoolPlan") -> "LaunchJob":
    from gpuyard.planning.launch import launch_job

    job, problems = launch_job(plan, path=("node_pools", plan.name))
    if job is None:
        raise SpecError(problems)
    return job


def _write(folder: Path, files: dict[str, str], *, force: bool) -> None:
    from gpuyard.cli.writing import write_whole
    from gpuyard.planning.launch import LAUNCH_SCRIPT

    there = [name for name in files if (folder / name).exists()]
    if there and not force:
        message = f"'{folder}' has {', '.join(there)} already."
        raise SpecError([Problem(("--output",), message, "Name another folder, or add --force to write over them.")])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_whole(folder / name, text)
    (folder / LAUNCH_SCRIPT).chmod(0o755)
