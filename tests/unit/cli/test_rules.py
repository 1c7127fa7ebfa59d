"""``gpuyard rules``: the list, and one rule explained."""

from __future__ import annotations

import json
import sys

import pytest

from gpuyard.cli import main
from gpuyard_policy.docs import page_of
from gpuyard_policy.rules import ALL_RULES


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["gpuyard", "rules", *words])
    with pytest.raises(SystemExit) as ended:
        main.run()
    told = capsys.readouterr()
    return int(ended.value.code or 0), told.out, told.err


def test_every_rule_is_listed_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(monkeypatch, capsys)
    assert code == 0
    for rule in ALL_RULES:
        assert out.count(rule.id) == 1


def test_a_family_can_be_chosen(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(monkeypatch, capsys, "--family", "spot", "--format", "json")
    assert [row["id"] for row in json.loads(out)] == [rule.id for rule in ALL_RULES if rule.family == "spot"]
    _, out, _ = run(monkeypatch, capsys, "--family", "spot", "--format", "csv")
    assert out.splitlines()[0] == "id,name,family,severity,dev,staging,prod,title"


@pytest.mark.parametrize("word", ["FAB001", "fab001", "multi-gpu-training-needs-nvlink"])
def test_a_rule_is_explained_by_id_or_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    code, out, _ = run(monkeypatch, capsys, word)
    assert code == 0
    assert out == page_of(ALL_RULES[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["FAB0001"], "there is no rule 'FAB0001'. Did you mean 'FAB001'?"),
        (["--family", "fabrik"], "--family: there is no family 'fabrik'. Did you mean 'fabric'?"),
    ],
)
def test_what_does_not_exist_is_one_line_with_what_would_be_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    code, out, error = run(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert message in " ".join(error.split())
