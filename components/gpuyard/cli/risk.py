"""``gpuyard risk``: how likely spot nodes are interrupted in the coming hours, and what to switch to."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gpuyard.cli.choice import checked_format
from gpuyard.spec.problems import Problem, SpecError

if TYPE_CHECKING:
    from gpuyard.planning.interruption import Advice, Checkpoints, Judged, Loss, Settings, Spot
    from gpuyard.spec.stack_file import StackFile

Format = Literal["table", "json"]
_FORMATS: tuple[Format, ...] = ("table", "json")
_NODES_MAX = 100_000


def risk(
    stack: Annotated[
        str | None, typer.Argument(help="Name of a stack, or its file: every spot pool is judged.", show_default=False)
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history",
            help="Interruptions and running hours, CSV or JSON lines: at, cloud, region, zone, instance_type, event "
            "(interrupted or running_hours), amount.",
            dir_okay=False,
            show_default="must be given",
        ),
    ] = None,
    instance_type: Annotated[str | None, typer.Option("--type", help="Judge this type instead of a stack.")] = None,
    zone: Annotated[str | None, typer.Option("--zone", help="Its zone. With --type.")] = None,
    nodes: Annotated[int, typer.Option("--nodes", help="How many nodes of it. With --type.", min=1)] = 1,
    pool: Annotated[str | None, typer.Option("--pool", help="One pool of the stack.", show_default="all")] = None,
    advisor: Annotated[
        Path | None,
        typer.Option("--advisor", help="AWS's spot-advisor-data.json, for what has no history.", dir_okay=False),
    ] = None,
    hours: Annotated[float, typer.Option("--hours", help="The coming period.", metavar="HOURS")] = 24.0,
    threshold: Annotated[
        float, typer.Option("--threshold", help="Probability above which it is too high.", metavar="SHARE")
    ] = 0.30,
    half_life_hours: Annotated[
        float, typer.Option("--half-life-hours", help="Age at which history counts half.", metavar="HOURS")
    ] = 336.0,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Confidence of the upper bound.", metavar="SHARE")
    ] = 0.90,
    strict: Annotated[
        bool, typer.Option("--strict", help="Judge by the upper bound, and count unknown as too high.")
    ] = False,
    checkpoint_minutes: Annotated[
        float | None,
        typer.Option("--checkpoint-minutes", help="Minutes between checkpoints: tells what is lost.", metavar="MIN"),
    ] = None,
    write_seconds: Annotated[
        float | None,
        typer.Option("--write-seconds", help="Seconds that one checkpoint stops the job: tells the best interval."),
    ] = None,
    restart_minutes: Annotated[
        float, typer.Option("--restart-minutes", help="Minutes until the job runs again.", metavar="MIN")
    ] = 0.0,
    program: Annotated[
        Path,
        typer.Option("--program", "-C", help="Folder with Pulumi.yaml.", file_okay=False, show_default="this folder"),
    ] = Path(),
    output: Annotated[str, typer.Option("--format", "-f", help="table or json.", metavar="FORMAT")] = "table",
    write: Annotated[bool, typer.Option("--write", help="Write the switches into the stack file.")] = False,
) -> None:
    """Judge the interruption risk of spot nodes from history; exit code 1 when it is above the threshold."""
    from gpuyard.planning.interruption import Evidence, Settings, advise, read_advisor, read_history, setting_problems

    form = checked_format(output, _FORMATS)
    settings = Settings(hours, threshold, half_life_hours, confidence, strict)
    problems = setting_problems(settings)
    problems += _option_problems(stack, instance_type, zone, nodes, pool, history, write=write)
    checkpoints, found = _checkpoints(checkpoint_minutes, write_seconds, restart_minutes)
    if problems + found or history is None:
        raise SpecError(problems + found)
    file: StackFile | None = None
    spots: list[Spot] = []
    if stack is not None:
        file, spots = _pools_of(stack, program, pool)
    elif instance_type is not None and zone is not None:
        spots = [_type_in_zone(instance_type, zone, nodes)]
    now = datetime.now(UTC)
    seen = read_history(history, now, settings.half_life_hours)
    evidence = Evidence(seen, None if advisor is None else read_advisor(advisor))
    found_advice = [advise(spot, evidence, settings, checkpoints) for spot in spots]
    if form == "json":
        _print_json(found_advice, settings, seen.records, seen.latest)
    else:
        _show(found_advice, settings, history, seen.records, seen.latest)
    if write and file is not None:
        _write(file, found_advice)
    bad = ("high", "unknown") if strict else ("high",)
    raise typer.Exit(1 if any(advice.verdict in bad for advice in found_advice) else 0)


def _option_problems(
    stack: str | None,
    instance_type: str | None,
    zone: str | None,
    nodes: int,
    pool: str | None,
    history: Path | None,
    *,
    write: bool,
) -> list[Problem]:
    found: list[Problem] = []
    if history is None:
        found.append(Problem(("--history",), "is missing.", "Name the file of interruptions and running hours."))
    if (stack is None) == (instance_type is None):
        what = "neither is given" if stack is None else "both are given"
        found.append(Problem((), f"a stack or a type is judged, and {what}.", "Name a stack, or --type and --zone."))
    if instance_type is not None and zone is None:
        found.append(Problem(("--zone",), "is missing.", "Interruptions differ between zones: name the type's."))
    only = {"--zone": zone, "--nodes": nodes if nodes > 1 else None} if instance_type is None else {}
    found += [Problem((name,), "is only for --type.", "") for name, value in only.items() if value is not None]
    if nodes > _NODES_MAX:
        found.append(Problem(("--nodes",), f"{nodes:,} makes no sense.", f"Give at most {_NODES_MAX:,}."))
    if stack is None:
        given = {"--pool": pool, "--write": write or None}
        found += [Problem((name,), "is only for a stack.", "") for name, value in given.items() if value is not None]
    return found


def _checkpoints(
    interval_minutes: float | None, write_s: float | None, restart_minutes: float
) -> "tuple[Checkpoints | None, list[Problem]]":
    from math import isfinite

    from gpuyard.planning.interruption import Checkpoints

    found: list[Problem] = []
    given = {"--checkpoint-minutes": interval_minutes, "--write-seconds": write_s}
    for name, value in given.items():
        if value is not None and not (isfinite(value) and value > 0):
            found.append(Problem((name,), f"{value:g} makes no sense.", "Give more than 0."))
    if not isfinite(restart_minutes) or restart_minutes < 0:
        found.append(Problem(("--restart-minutes",), f"{restart_minutes:g} makes no sense.", "Give 0 or more."))
    if interval_minutes is None:
        more = {"--write-seconds": write_s, "--restart-minutes": restart_minutes or None}
        found += [Problem((name,), "needs --checkpoint-minutes.", "") for name, value in more.items() if value]
        return None, found
    return Checkpoints(interval_minutes * 60, write_s, restart_minutes * 60), found


def _pools_of(stack: str, program: Path, pool: str | None) -> "tuple[StackFile, list[Spot]]":
    from gpuyard.cli.stack_argument import stack_plan
    from gpuyard.planning.interruption import spot_of
    from gpuyard.spec.models import ClusterSpec
    from gpuyard.spec.problems import did_you_mean, one_of

    file, plan = stack_plan(stack, program)
    spec = ClusterSpec.model_validate(file.cluster)
    known = [one.name for one in plan.node_pools]
    if pool is not None and pool not in known:
        hint = f"{did_you_mean(pool, known)} Pools: {one_of(known)}.".strip()
        raise SpecError([Problem(("--pool",), f"the stack has no pool '{pool}'.", hint)])
    wanted = [one for one in plan.node_pools if pool in (None, one.name)]
    spots = [spot for one in wanted if (spot := spot_of(one, spec.node_pools[one.name])) is not None]
    if not spots:
        which = "the stack has no spot pool" if pool is None else f"pool '{pool}' has no spot nodes"
        raise SpecError([Problem((), f"{which}: there is nothing to judge.", "", file.shown_as)])
    return file, spots


def _type_in_zone(name: str, zone: str, nodes: int) -> "Spot":
    from gpuyard.catalog import regions, zone_belongs_to
    from gpuyard.catalog.selection import find_type
    from gpuyard.planning.interruption import spot_of_type

    row = find_type(name)
    region = next((one for one in regions(row.cloud) if zone_belongs_to(zone, one, row.cloud)), None)
    if region is None:
        message = f"'{zone}' is no zone of {row.cloud}, which {row.instance_type} is of."
        raise SpecError(
            [Problem(("--zone",), message, "A zone is written like us-east-1a, cn-beijing-h or ap-beijing-6.")]
        )
    return spot_of_type(row, region, zone, nodes)


def _write(file: "StackFile", found: "list[Advice]") -> None:
    from gpuyard.cli.catalog_output import note
    from gpuyard.cli.writing import write_whole
    from gpuyard.planning.check import check_stack_file
    from gpuyard.planning.interruption import with_switch
    from gpuyard.spec.stack_file import read_stack_file

    switches = [(advice.name, advice.switch) for advice in found if advice.switch is not None]
    if not switches:
        note("Nothing to write: nothing is too high, or nothing is known to be better.")
        return
    with file.path.open(encoding="utf-8", newline="") as source:
        before = source.read()
    windows = "\r\n" in before
    text = before.replace("\r\n", "\n")
    for name, switch in switches:
        text = with_switch(text, name, switch)
    with TemporaryDirectory() as folder:
        trial = Path(folder, file.path.name)
        trial.write_text(text, encoding="utf-8")
        check_stack_file(read_stack_file(trial, f"{file.shown_as} (after the switch)"), _stack_name(file.path))
    write_whole(file.path, text.replace("\n", "\r\n") if windows else text)
    for name, switch in switches:
        note(f"Wrote {file.path}: {name}.{switch.key} is {', '.join(switch.to)} now.")


def _stack_name(path: Path) -> str:
    from gpuyard.cli.stack_argument import stack_name

    return stack_name(path)


def _print_json(found: "list[Advice]", settings: "Settings", records: int, latest: datetime | None) -> None:
    from gpuyard.cli.catalog_output import print_json

    history = {"records": records, "latest": None if latest is None else latest.isoformat()}
    print_json({"settings": asdict(settings), "history": history, "pools": [asdict(advice) for advice in found]})


def _show(found: "list[Advice]", settings: "Settings", history: Path, records: int, latest: datetime | None) -> None:
    from gpuyard.cli.catalog_output import print_table, say

    when = "" if latest is None else f", the newest of {latest.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    say(f"{records:,} records in {history}{when}; half-life {settings.half_life_hours:g} h.")
    bound = f"at most ({settings.confidence:.0%})"
    head = ("type", "zone", f"P in {settings.hours:g} h", bound, "verdict", "because")
    for advice in found:
        plural = "nodes" if advice.nodes > 1 else "node"
        print_table(
            head,
            [_row(one) for one in advice.judged],
            title=f"{advice.name}: {advice.nodes} spot {plural}: {_verdict_words(advice, settings)}",
            right=head[2:4],
            whole=2,
        )
        if advice.others:
            print_table(head, [_row(one) for one in advice.others], title="Instead:", right=head[2:4], whole=2)
        if advice.switch is not None:
            say(f"Switch {advice.switch.key} to {', '.join(advice.switch.to)}. {advice.switch.reason}")
        for reason in advice.reasons:
            say(reason)
        if advice.loss is not None:
            say(_loss_words(advice.loss, settings))
    if any(one.risk is None for advice in found for one in (*advice.judged, *advice.others)):
        say("'?' is unknown, which is not low.")


def _verdict_words(advice: "Advice", settings: "Settings") -> str:
    limit = f"{settings.threshold:.0%}"
    return {
        "high": f"too high, above {limit}",
        "uncertain": f"probably below {limit}, but there is too little history to be sure",
        "low": f"below {limit}",
        "unknown": "unknown, at least in part",
    }[advice.verdict]


def _row(one: "Judged") -> list[Any]:
    risk = one.risk
    if risk is None:
        return [one.instance_type, one.zone, None, None, one.verdict, one.reason]
    least = ">" if risk.basis == "advisor" and risk.probability_upper is None else ""
    upper = None if risk.probability_upper is None else f"{risk.probability_upper:.1%}"
    return [one.instance_type, one.zone, f"{least}{risk.probability:.1%}", upper, one.verdict, one.reason]


def _loss_words(loss: "Loss", settings: "Settings") -> str:
    upper = "" if loss.hours_upper is None else f" (at most {loss.hours_upper:.2f} h)"
    text = f"Interruptions are expected to cost {loss.hours:.2f} h of the job in {settings.hours:g} h{upper}."
    if loss.best_interval_s is not None:
        text += f" A checkpoint every {loss.best_interval_s / 60:,.0f} min would waste least (Daly)."
    return text
