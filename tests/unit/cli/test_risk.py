"""``gpuyard risk``: judging a stack or a type, the exit code, and writing the switch."""

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gpuyard.cli import main
from gpuyard.planning import check
from gpuyard.planning.check import check_stack_file
from gpuyard.planning.interruption import Settings
from gpuyard.planning.plans import ClusterPlan
from gpuyard.spec.problems import Problem, SpecError
from gpuyard.spec.stack_file import StackFile

STACK = """\
# Trials.
config:
  aws:region: us-east-1
  gpuyard:cluster:
    cloud: aws
    region: us-east-1
    zone: us-east-1a
    environment: dev
    workload: {task: lora, model_parameters: 7e9}
    node_pools:
      try:
        instance_type: g5.xlarge  # the smallest
        nodes: {min: 0, max: 4}
        purchase: spot
      steady: {instance_type: g5.xlarge, nodes: 2}
    checkpoints: {keep_days: 30}
"""
BAD, CALM = (50, 1000.0), (1, 5000.0)


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    path = tmp_path / "Pulumi.try.yaml"
    path.write_text(STACK)
    return path


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """g5.xlarge is interrupted often, g5.2xlarge seldom."""
    return written(tmp_path, {"g5.xlarge": BAD, "g5.2xlarge": CALM})


def written(folder: Path, seen: dict[str, tuple[int, float]], zone: str = "us-east-1a") -> Path:
    at = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    rows = ["at,cloud,region,zone,instance_type,event,amount"]
    for name, (count, hours) in seen.items():
        start = f"{at},aws,us-east-1,{zone},{name}"
        rows += [f"{start},running_hours,{hours}", *[f"{start},interrupted,{count}"][: min(count, 1)]]
    path = folder / "history.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["gpuyard", "risk", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main.run()
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return int(ended.value.code or 0), " ".join(told.out.split()), told.err


Run = Any


@pytest.fixture
def risk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *words: run(monkeypatch, capsys, *words)


def test_a_pool_above_the_threshold_ends_with_1_and_says_what_to_do(risk: Run, stack: Path, history: Path) -> None:
    code, out, _ = risk(stack, "--history", history)
    assert code == 1
    assert "try: 4 spot nodes: too high, above 30%" in out
    assert "steady" not in out, "it is bought on demand"
    assert "Switch instance_type to g5.2xlarge. g5.2xlarge has as many of the same GPUs" in out
    assert "'?' is unknown, which is not low." in out


def test_a_calm_pool_ends_with_0(risk: Run, stack: Path, tmp_path: Path) -> None:
    code, out, _ = risk(stack, "--history", written(tmp_path, {"g5.xlarge": CALM}))
    assert code == 0
    assert "try: 4 spot nodes: below 30%" in out


def test_no_history_is_unknown_and_a_no_only_where_that_is_asked_for(risk: Run, stack: Path, tmp_path: Path) -> None:
    path = written(tmp_path, {})
    code, out, _ = risk(stack, "--history", path)
    assert (code, "unknown, at least in part" in out, "0 records" in out) == (0, True, True)
    assert "0.0%" not in out
    assert risk(stack, "--history", path, "--strict")[0] == 1


def test_too_little_history_is_a_no_only_where_that_is_asked_for(risk: Run, stack: Path, tmp_path: Path) -> None:
    path = written(tmp_path, {"g5.xlarge": (0, 20.0)})
    code, out, _ = risk(stack, "--history", path)
    assert (code, "too little history to be sure" in out) == (0, True)
    assert risk(stack, "--history", path, "--strict")[0] == 1


def test_a_type_in_a_zone_needs_no_stack(risk: Run, history: Path) -> None:
    code, out, _ = risk("--type", "g5.2xlarge", "--zone", "us-east-1a", "--nodes", 8, "--history", history)
    assert (code, "g5.2xlarge: 8 spot nodes: below 30%" in out) == (0, True)
    # 1 in 5,000 h: 8 nodes for 24 h are 192 instance-hours, 1 - e^(-0.0384) = 3.8 %.
    assert " 3.8% " in out


def test_threshold_and_hours_are_settings(risk: Run, history: Path) -> None:
    words = ("--type", "g5.2xlarge", "--zone", "us-east-1a", "--history", history)
    assert risk(*words, "--threshold", 0.001)[0] == 1
    assert risk(*words, "--hours", 8000)[0] == 1


def test_json_has_every_number_and_null_for_unknown(risk: Run, stack: Path, history: Path) -> None:
    code, out, err = risk(stack, "--history", history, "--format", "json")
    data = json.loads(out, parse_constant=pytest.fail)
    assert (code, err) == (1, "")
    [pool] = data["pools"]
    assert (pool["name"], pool["nodes"], pool["verdict"]) == ("try", 4, "high")
    assert pool["judged"][0]["risk"]["rate_per_hour"] == pytest.approx(0.05, rel=1e-3)
    assert pool["switch"]["to"] == ["g5.2xlarge"]
    assert next(one["risk"] for one in pool["others"] if one["verdict"] == "unknown") is None
    assert data["settings"] == asdict(Settings()), "the command's defaults are the library's"
    assert data["history"]["records"] == 4


def test_the_advisor_stands_in(risk: Run, tmp_path: Path) -> None:
    advisor = tmp_path / "advisor.json"
    advisor.write_text(
        json.dumps(
            {
                "ranges": [{"index": 0, "label": "5-10%", "dots": 1, "max": 11}],
                "spot_advisor": {"us-east-1": {"Linux": {"g6.xlarge": {"s": 50, "r": 0}}}},
            }
        )
    )
    words = ("--type", "g6.xlarge", "--zone", "us-east-1a", "--history", written(tmp_path, {}))
    code, out, _ = risk(*words, "--advisor", advisor)
    assert (code, "no history; AWS's advisor: 5-10% a month" in out) == (0, True)


def test_what_interruptions_cost_is_told(risk: Run, history: Path) -> None:
    words = ("--type", "g5.2xlarge", "--zone", "us-east-1a", "--history", history, "--checkpoint-minutes", 60)
    _, out, _ = risk(*words, "--restart-minutes", 30, "--write-seconds", 30)
    # 0.0048 interruptions of one node in a day, each an hour.
    assert "Interruptions are expected to cost 0.00 h of the job in 24 h (at most 0.02 h)." in out
    assert "A checkpoint every 5" in out


def test_write_changes_the_one_line(risk: Run, stack: Path, history: Path) -> None:
    code, _, err = risk(stack, "--history", history, "--write")
    assert code == 1
    assert err == f"Wrote {stack}: try.instance_type is g5.2xlarge now.\n"
    assert stack.read_text() == STACK.replace("g5.xlarge  # the smallest", "g5.2xlarge # the smallest")
    assert risk(stack, "--history", history, "--write")[0] == 0
    assert list(stack.parent.glob(".*.part")) == []


def test_write_keeps_the_line_ends_of_windows(risk: Run, stack: Path, history: Path) -> None:
    stack.write_bytes(STACK.replace("\n", "\r\n").encode())
    risk(stack, "--history", history, "--write")
    assert b"g5.2xlarge # the smallest\r\n" in stack.read_bytes()
    assert stack.read_bytes().count(b"\n") == stack.read_bytes().count(b"\r\n") == STACK.count("\n")


def test_write_says_so_where_nothing_is_better(risk: Run, stack: Path, tmp_path: Path) -> None:
    code, _, err = risk(stack, "--history", written(tmp_path, {"g5.xlarge": BAD}), "--write")
    assert (code, stack.read_text()) == (1, STACK)
    assert err == "Nothing to write: nothing is too high, or nothing is known to be better.\n"


def test_a_switch_that_the_check_refuses_is_not_written(
    risk: Run, stack: Path, history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: StackFile, name: str) -> ClusterPlan:
        if "after the switch" in file.shown_as:
            raise SpecError([file.located(Problem(("node_pools", "try", "instance_type"), "is refused."))])
        return check_stack_file(file, name)

    monkeypatch.setattr(check, "check_stack_file", refuse)
    code, _, err = risk(stack, "--history", history, "--write")
    assert code == 2
    assert f"{stack} (after the switch):12: gpuyard:cluster.node_pools.try.instance_type: is refused." in err
    assert stack.read_text() == STACK


def test_a_type_of_which_one_zone_is_unknown_is_no_switch(risk: Run, stack: Path, history: Path) -> None:
    stack.write_text(STACK.replace("purchase: spot", "purchase: spot\n        zones: [us-east-1a, us-east-1b]"))
    code, out, _ = risk(stack, "--history", history)
    assert (code, "Switch" in out) == (1, False)
    assert "No equivalent type and no other zone is known to be interrupted less throughout." in out


def test_a_stack_of_the_project_is_named(risk: Run, stack: Path, history: Path) -> None:
    (stack.parent / "Pulumi.yaml").write_text("name: gpuyard\nruntime: python\n")
    assert risk("try", "-C", stack.parent, "--history", history)[0] == 1
    code, _, err = risk("tri", "-C", stack.parent, "--history", history)
    assert (code, "there is no stack 'tri'. Did you mean 'try'?" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), ["--history: is missing.", "a stack or a type is judged, and neither is given."]),
        (("{stack}", "--type", "g5.xlarge", "--history", "{history}"), ["both are given", "--zone: is missing."]),
        (("{stack}", "--zone", "us-east-1a", "--nodes", "3", "--history", "{history}"),
         ["--zone: is only for --type.", "--nodes: is only for --type."]),
        (("--type", "g5.xlarge", "--zone", "us-east-1a", "--pool", "a", "--write", "--history", "{history}"),
         ["--pool: is only for a stack.", "--write: is only for a stack."]),
        (("--type", "g5.xlarg", "--zone", "us-east-1a", "--history", "{history}"),
         ["the catalog knows no instance type 'g5.xlarg'. Did you mean 'g5.xlarge'?"]),
        (("--type", "g5.xlarge", "--zone", "cn-beijing-h", "--history", "{history}"),
         ["--zone: 'cn-beijing-h' is no zone of aws, which g5.xlarge is of."]),
        (("--type", "g5.xlarge", "--zone", "us-east-1a", "--nodes", "1000000", "--history", "{history}"),
         ["--nodes: 1,000,000 makes no sense."]),
        (("{stack}", "--history", "none.csv"), ["none.csv: cannot be read: No such file or directory."]),
        (("none.yaml", "--history", "{history}"), ["there is no file 'none.yaml'."]),
        (("{stack}", "--history", "{history}", "--pool", "tri"),
         ["--pool: the stack has no pool 'tri'. Did you mean 'try'?"]),
        (("{stack}", "--history", "{history}", "--pool", "steady"), ["pool 'steady' has no spot nodes"]),
        (("{stack}", "--history", "{history}", "--format", "xml"), ["--format: 'xml' is no format."]),
        (("{stack}", "--history", "{history}", "--hours", "nan", "--threshold", "2"),
         ["--hours: nan makes no sense.", "--threshold: 2 is none."]),
        (("{stack}", "--history", "{history}", "--checkpoint-minutes", "0"),
         ["--checkpoint-minutes: 0 makes no sense. Give more than 0."]),
        (("{stack}", "--history", "{history}", "--write-seconds", "5", "--restart-minutes", "-1"),
         ["--restart-minutes: -1 makes no sense.", "--write-seconds: needs --checkpoint-minutes."]),
        (("{history}x.yaml", "--history", "{history}"), ["there is no file"]),
    ],
)  # fmt: skip
def test_wrong_input_is_told_and_ends_with_2(
    risk: Run, stack: Path, history: Path, words: tuple[str, ...], told: list[str]
) -> None:
    code, out, err = risk(*[word.format(stack=stack, history=history) for word in words])
    assert (code, out) == (2, "")
    for part in told:
        assert part in err
    assert stack.read_text() == STACK


def test_every_line_of_a_wrong_history_is_told(risk: Run, stack: Path, history: Path) -> None:
    history.write_text(history.read_text() + "today,aws,us-east-1,us-east-1a,g5.xlarge,interrupted,1\n")
    code, _, err = risk(stack, "--history", history)
    assert (code, f"{history}:6: at: 'today' is no time." in err) == (2, True)
