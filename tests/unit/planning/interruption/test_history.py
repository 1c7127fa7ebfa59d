"""Reading a history: both forms, time zones, and everything that can be wrong in a file."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.planning.interruption import History, Tally, read_history
from gpuyard.planning.interruption.history import COLUMNS, PROBLEMS_MAX
from gpuyard.spec.problems import SpecError

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
HEAD = ",".join(COLUMNS)
ROW = "2026-12-01T12:00:00Z,aws,us-east-1,us-east-1a,g5.xlarge,"
KEY = ("aws", "us-east-1", "us-east-1a", "g5.xlarge")


def read(folder: Path, text: str | bytes, half_life_hours: float = 24.0) -> History:
    path = folder / "history"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_history(path, NOW, half_life_hours)


def problems(folder: Path, text: str | bytes) -> list[str]:
    with pytest.raises(SpecError) as found:
        read(folder, text)
    prefix = str(folder / "history")
    return [str(one).removeprefix(prefix) for one in found.value.problems]


def as_json(at: str, event: str, amount: Any, **more: Any) -> str:
    row = {"at": at, "cloud": "aws", "region": "us-east-1", "zone": "us-east-1a", "instance_type": "g5.xlarge"}
    return json.dumps({**row, "event": event, "amount": amount, **more})


def test_counts_are_as_they_are_and_weighted_by_age(tmp_path: Path) -> None:
    text = f"{HEAD}\n{ROW}running_hours,96\n{ROW}interrupted,\n{ROW.replace('12-01', '11-30')}interrupted,3\n"
    found = read(tmp_path, text)
    assert found.tallies == {KEY: Tally(4, 96.0, 1 + 3 / 2, 96.0)}
    assert (found.records, found.latest) == (3, NOW)


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    one = read(tmp_path, f"{HEAD}\n{ROW}running_hours,96.5\n{ROW}interrupted,2\n")
    at = "2026-12-01T12:00:00Z"
    other = read(tmp_path, as_json(at, "running_hours", 96.5) + "\n\n" + as_json(at, "interrupted", 2) + "\n")
    assert one == other


def test_columns_may_stand_in_any_order_and_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    text = (
        "\ufeffamount,event,instance_type,zone,region,cloud,at\r\n5,running_hours,g5.xlarge,us-east-1a,us-east-1,aws,"
    )
    assert read(tmp_path, text + "2026-12-01T12:00:00+00:00\r\n").tallies == {KEY: Tally(0, 5.0, 0.0, 5.0)}


@pytest.mark.parametrize(
    "at", ["2026-12-01T12:00:00Z", "2026-12-01T20:00:00+08:00", "2026-12-01T04:00-08:00", "20261201T173000+0530"]
)
def test_an_instant_is_the_same_in_every_time_zone(tmp_path: Path, at: str) -> None:
    row = ROW.replace("2026-12-01T12:00:00Z", at)
    assert read(tmp_path, f"{HEAD}\n{row}running_hours,1\n").tallies[KEY].weighted_hours == 1


def test_clocks_may_differ_a_little(tmp_path: Path) -> None:
    row = ROW.replace("12:00:00", "12:04:59")
    assert read(tmp_path, f"{HEAD}\n{row}running_hours,1\n").tallies[KEY].weighted_hours == 1


@pytest.mark.parametrize("text", ["", "\n\n", HEAD, f"{HEAD}\n\n", "\ufeff"])
def test_a_file_without_records_is_an_empty_history(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == History({}, 0, None)


def test_very_old_records_are_read_and_weigh_nothing(tmp_path: Path) -> None:
    found = read(tmp_path, f"{HEAD}\n0001-01-01T00:00:00+14:00{ROW[20:]}running_hours,7\n")
    assert found.tallies == {KEY: Tally(0, 7.0, 0.0, 0.0)}


def test_zones_of_a_type_are_known(tmp_path: Path) -> None:
    other = ROW.replace("us-east-1a", "use1-az4")
    found = read(tmp_path, f"{HEAD}\n{other}running_hours,1\n{ROW}running_hours,1\n")
    assert found.zones_of("aws", "us-east-1", "g5.xlarge") == ["us-east-1a", "use1-az4"]
    assert found.zones_of("aws", "us-east-1", "g6.xlarge") == []


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("2026-12-01T12:00:00,aws,us-east-1,us-east-1a,g5.xlarge,interrupted,1",
         "at: '2026-12-01T12:00:00' has no time zone. Add Z for UTC, or an offset such as +08:00."),
        ("2026-12-01T12:05:01Z,aws,us-east-1,us-east-1a,g5.xlarge,interrupted,1",
         "at: '2026-12-01T12:05:01Z' lies in the future: it is 2026-12-01T12:00:00+00:00. "
         "Correct it, or its time zone."),
        ("2026-12-01T13:00:00+00:30,aws,us-east-1,us-east-1a,g5.xlarge,interrupted,1",
         "at: '2026-12-01T13:00:00+00:30' lies in the future: it is 2026-12-01T12:00:00+00:00. "
         "Correct it, or its time zone."),
        ("yesterday,aws,us-east-1,us-east-1a,g5.xlarge,interrupted,1",
         "at: 'yesterday' is no time. Write it like 2026-11-30T14:05:00Z."),
        (ROW + "interupted,1",
         "event: 'interupted' is none. Did you mean 'interrupted'? Allowed: interrupted or running_hours."),
        (ROW + "running_hours,", "amount: is missing. Give instance-hours, such as 96."),
        (ROW + "running_hours,-1", "amount: '-1' is none. Give instance-hours, such as 96."),
        (ROW + "running_hours,nan", "amount: 'nan' is none. Give instance-hours, such as 96."),
        (ROW + "running_hours,1e400", "amount: '1e400' is none. Give instance-hours, such as 96."),
        (ROW + "running_hours,1e10", "amount: '1e10' is none. Give instance-hours, such as 96."),
        (ROW + "interrupted,0", "amount: '0' is none. Give how many nodes were."),
        (ROW + "interrupted,1.5", "amount: '1.5' is none. Give how many nodes were."),
        (ROW + "interrupted,two", "amount: 'two' is none. Give how many nodes were."),
        (ROW.replace(",aws,", ",amazon,") + "interrupted,1",
         "cloud: 'amazon' is none. Allowed: aws, alicloud or tencentcloud."),
        (ROW.replace("us-east-1,", "us-eats-1,", 1) + "interrupted,1",
         "region: 'us-eats-1' is no region of aws. Did you mean 'us-east-1'?"),
        (ROW.replace("us-east-1a", "us-west-2a") + "interrupted,1",
         "zone: 'us-west-2a' is no zone of us-east-1. A zone there is written like 'us-east-1a'."),
        (ROW.replace("g5.xlarge", " ") + "interrupted,1", "instance_type: ' ' is no text."),
        (ROW.replace("g5.xlarge", "") + "interrupted,1", "instance_type: is missing."),
        (ROW + "interrupted", "has 6 cells, and the head has 7."),
    ],
)  # fmt: skip
def test_a_wrong_record_is_told_with_its_line(tmp_path: Path, row: str, told: str) -> None:
    assert problems(tmp_path, f"{HEAD}\n{ROW}running_hours,1\n{row}\n") == [f":3: {told}"]


def test_lines_are_those_of_the_file_below_blank_ones_and_broken_cells(tmp_path: Path) -> None:
    text = f'\n{HEAD}\n\n{ROW}"running_hours",1\n"2026-12-01\nT12:00:00Z"{ROW[20:]}running_hours,1\n{ROW}x,1\n'
    told = problems(tmp_path, text)
    assert told[0].startswith(":6: at: ")
    assert told[1].startswith(":7: event: 'x' is none.")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "is no JSON: "),
        ("[]", "is no JSON object. Write one object a line, not one list of all."),
        ("[" * 100_000, "is no JSON: "),
        (as_json("2026-12-01T12:00:00Z", "interrupted", True), "amount: True is none."),
        (as_json("2026-12-01T12:00:00Z", "interrupted", [1]), "amount: [1] is none."),
        (as_json("2026-12-01T12:00:00Z", "running_hours", float("nan")), "amount: nan is none."),
        (as_json("2026-12-01T12:00:00Z", "running_hours", 10**400), "amount: 1"),
        (as_json("2026-12-01T12:00:00Z", "interrupted", 1, zone=7), "zone: 7 is no text."),
        (as_json("2026-12-01T12:00:00Z", "interrupted", 1, zone=None), "zone: is missing."),
        (as_json("2026-12-01T12:00:00Z", "interrupted", 1, ammount=2),
         "ammount: is no column of a history. Did you mean 'amount'?"),
        (json.dumps({"at": 5}), "at: 5 is no time."),
    ],
)  # fmt: skip
def test_a_wrong_json_line_is_told_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    good = as_json("2026-12-01T12:00:00Z", "running_hours", 1)
    assert problems(tmp_path, f"{good}\n{line}\n")[0].startswith(f":2: {told}")


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (HEAD.replace("zone", "az"), ["az: is no column of a history. ", "zone: is missing in the head. The head is "]),
        (HEAD + ",at", ["at: is there twice."]),
        ("hello", ["hello: is no column of a history. "]),
        ("at;cloud;region", ["at;cloud;region: is no column of a history. "]),
    ],
)
def test_a_wrong_head_is_told(tmp_path: Path, head: str, told: list[str]) -> None:
    found = problems(tmp_path, f"{head}\n{ROW}interrupted,1\n")
    for line, start in zip(found, told, strict=False):
        assert line.startswith(f":1: {start}")


def test_text_that_is_no_utf8_is_told(tmp_path: Path) -> None:
    told = problems(tmp_path, HEAD.encode() + b"\n" + ROW.encode() + b"interrupted,\xff\n")
    assert told[0].endswith("is no UTF-8 text from about here on. Save the file as UTF-8.")


def test_a_cell_that_is_too_long_is_told(tmp_path: Path) -> None:
    told = problems(tmp_path, f"{HEAD}\n{ROW}running_hours,1\n{'9' * 200_000},aws,r,z,t,e,1\n")
    assert told == [":3: is no CSV: field larger than field limit (131072)."]


def test_of_a_file_that_is_wrong_throughout_the_first_problems_say_why(tmp_path: Path) -> None:
    told = problems(tmp_path, f"{HEAD}\n" + f"{ROW}x,1\n" * 10_000)
    assert len(told) == PROBLEMS_MAX + 1
    assert told[-1].startswith(f":{PROBLEMS_MAX + 1}: reading stopped here: too much is wrong.")


def test_no_file_and_a_folder_are_told(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none.csv", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(SpecError) as found:
            read_history(path, NOW, 24)
        assert str(found.value) == f"{path}: cannot be read: {why}."


def test_a_large_file_is_summed_line_by_line(tmp_path: Path) -> None:
    found = read(tmp_path, f"{HEAD}\n" + f"{ROW}running_hours,2\n{ROW}interrupted,1\n" * 20_000)
    assert found.tallies == {KEY: Tally(20_000, 40_000.0, 20_000.0, 40_000.0)}


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"{HEAD}\n{ROW}{text}".encode()))
def test_whatever_is_in_a_file_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    try:
        found = read_history(path, NOW, 24)
    except SpecError as error:
        assert all(one.file == str(path) for one in error.problems)
    else:
        assert found.records >= len(found.tallies)


@given(hours=st.floats(0, 5000), offset=st.integers(-14, 14))
def test_age_is_counted_from_the_instant(tmp_path_factory: pytest.TempPathFactory, hours: float, offset: int) -> None:
    at = (NOW - timedelta(hours=hours)).astimezone(timezone(timedelta(hours=offset)))
    path = tmp_path_factory.getbasetemp() / "age"
    path.write_text(f"{HEAD}\n{at.isoformat()}{ROW[20:]}running_hours,1\n")
    weight = read_history(path, NOW, 100).tallies[KEY].weighted_hours
    assert weight == pytest.approx(2 ** (-hours / 100), rel=1e-6)
