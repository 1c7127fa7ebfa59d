"""The small language in which the data of the simulated clouds is written."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.sandbox.templates import filled


@pytest.mark.parametrize(
    ("template", "form"),
    [
        ("vpc-bp1{alnum18}", r"vpc-bp1[a-z0-9]{18}"),
        ("{hex4}-{HEX4}-{num4}", r"[0-9a-f]{4}-[0-9A-F]{4}-[0-9]{4}"),
        ("{uuid}", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("192.0.2.{byte}", r"192\.0\.2\.([1-9]|[1-9]\d|1\d\d|2[0-4]\d|25[0-4])"),
        ("{now}", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    ],
)
def test_what_is_new_each_time_has_its_form(template: str, form: str) -> None:
    assert re.fullmatch(form, filled(template, {}, {}))


def test_slots_and_inputs_are_filled_at_every_depth() -> None:
    template = {"a": ["{region}-a", {"b": "{in.x|y|=z}"}], "c": "{in.n}", "d": True, "e": 7}
    assert filled(template, {"region": "r"}, {"y": "given", "n": 3}) == {
        "a": ["r-a", {"b": "given"}],
        "c": 3,
        "d": True,
        "e": 7,
    }
    assert filled("{in.x|y|=z}", {}, {"y": None}) == "z"
    assert filled("<{in.x}>", {}, {}) == "<>"


@pytest.mark.parametrize(("given_type", "made"), [("cpfs", "cpfs-1"), ("extreme", "x"), (None, "other")])
def test_a_case_is_the_first_that_matches(given_type: str | None, made: str) -> None:
    template = {"of": "type", "cases": {"^cpfs": "cpfs-{n}", "^extreme$": "x", "": "other"}}
    assert filled(template, {"n": "1"}, {"type": given_type}) == made


@pytest.mark.parametrize("template", ["{nobody}", "{hex}", "{out.x}"])
def test_a_slot_that_nobody_fills_is_an_error(template: str) -> None:
    with pytest.raises(KeyError, match=template[1:-1]):
        filled(template, {}, {})


@given(st.integers(), st.sampled_from(["{hex9}", "{num26}", "a-{alnum8}-{HEX3}"]))
def test_one_chance_makes_one_text(seed: int, template: str) -> None:
    first, second = (filled(template, {}, {}, random.Random(seed)) for _ in range(2))
    assert first == second
