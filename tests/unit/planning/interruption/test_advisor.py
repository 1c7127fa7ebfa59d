"""AWS's Spot Instance Advisor as a stand-in for history."""

import json
from math import log
from pathlib import Path
from typing import Any

import pytest

from gpuyard.planning.interruption import read_advisor
from gpuyard.spec.problems import SpecError

LABELS = ("<5%", "5-10%", "10-15%", "15-20%", ">20%")
DATA: dict[str, Any] = {
    "ranges": [{"index": place, "label": label, "dots": place, "max": 5} for place, label in enumerate(LABELS)],
    "instance_types": {"g5.xlarge": {"cores": 4, "ram_gb": 16, "emr": True}},
    "spot_advisor": {
        "us-east-1": {
            "Linux": {"g5.xlarge": {"s": 60, "r": 1}, "g6.xlarge": {"s": 60, "r": 4}, "g4dn.xlarge": {"s": 1, "r": 0}},
            "Windows": {"p3.2xlarge": {"s": 60, "r": 1}},
        },
        "eu-north-2": {"Windows": {}},
    },
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "spot-advisor-data.json"
    found.write_text(json.dumps(DATA))
    return found


def test_ends_are_read_off_the_labels(path: Path) -> None:
    advisor = read_advisor(path)
    found = advisor.range_of("aws", "us-east-1", "g5.xlarge")
    assert found is not None
    assert (found.label, found.least, found.most) == ("5-10%", 0.05, 0.1)
    last = advisor.range_of("aws", "us-east-1", "g6.xlarge")
    assert last is not None
    assert (last.least, last.most) == (0.2, None)


def test_a_share_of_a_month_becomes_a_rate_of_an_hour(path: Path) -> None:
    found = read_advisor(path).range_of("aws", "us-east-1", "g5.xlarge")
    assert found is not None
    risk = found.risk(nodes=1, hours=730.5)
    # A month of one node gives the range back: its middle, and its upper end.
    assert risk.probability == pytest.approx(0.075)
    assert risk.probability_upper == pytest.approx(0.1)
    assert risk.rate_per_hour == pytest.approx(-log(1 - 0.075) / 730.5)
    assert risk.basis == "advisor"


def test_the_last_range_has_a_start_and_no_bound(path: Path) -> None:
    found = read_advisor(path).range_of("aws", "us-east-1", "g6.xlarge")
    assert found is not None
    risk = found.risk(nodes=2, hours=365.25)
    assert risk.probability == pytest.approx(0.2)
    assert (risk.rate_upper_per_hour, risk.probability_upper, risk.expected_upper) == (None, None, None)


@pytest.mark.parametrize(
    ("cloud", "region", "name"),
    [
        ("aws", "us-east-1", "p3.2xlarge"),
        ("aws", "us-west-2", "g5.xlarge"),
        ("alicloud", "us-east-1", "g5.xlarge"),
        ("aws", "eu-north-2", "g5.xlarge"),
    ],
)
def test_what_the_advisor_does_not_say_is_none(path: Path, cloud: str, region: str, name: str) -> None:
    assert read_advisor(path).range_of(cloud, region, name) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"ranges": [{"index": 0, "label": "often"}]}, "is not the advisor's data: ValueError no range: 'often'."),
        ({"ranges": []}, "is not the advisor's data: KeyError "),
        ({"ranges": None}, "is not the advisor's data: TypeError "),
        ({"spot_advisor": []}, "is not the advisor's data: AttributeError "),
        (
            {"spot_advisor": {"us-east-1": {"Linux": {"g5.xlarge": {"s": 1}}}}},
            "is not the advisor's data: KeyError 'r'.",
        ),
    ],
)
def test_data_of_another_form_is_told(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**DATA, **change}))
    with pytest.raises(SpecError) as found:
        read_advisor(path)
    assert str(found.value).startswith(f"{path}: {told}")
    assert str(found.value).endswith("Give the file that the advisor's page reads: spot-advisor-data.json.")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "callback({})"])
def test_text_that_is_no_json_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(SpecError, match="is no JSON: "):
        read_advisor(path)


def test_bytes_and_no_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(SpecError, match="cannot be read: No such file or directory"):
        read_advisor(path)
    path.write_bytes(b"\xff")
    with pytest.raises(SpecError, match="is no JSON: "):
        read_advisor(path)
