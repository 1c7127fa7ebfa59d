"""What a node was told, and how its files are written."""

import json
import shlex
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.bootstrap.files import environment_file
from gpuyard.node import commands, settings


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUYARD_ENV", str(tmp_path / "node.env"))
    monkeypatch.setenv("GPUYARD_RUN", str(tmp_path / "run"))
    return tmp_path / "node.env"


def test_the_file_of_the_setup_is_read_as_the_shell_reads_it(told: Path) -> None:
    text = environment_file({"POOL": "train", "NOTE": 'it\'s "two" words # no comment', "EMPTY": ""}).content
    told.write_text(text)
    assert settings.value("POOL") == "train"
    assert settings.value("NOTE") == 'it\'s "two" words # no comment'
    assert settings.value("EMPTY", "default") == "default"


def test_the_environment_wins_and_a_bad_line_hides_no_other(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told.write_text(
        "# a comment\n\nGPUYARD_POOL='unclosed\nexport nothing\nGPUYARD_REGION=r-1\nGPUYARD_CLOUD=aws # two\n"
    )
    monkeypatch.setenv("GPUYARD_REGION", "r-2")
    assert [settings.value(name) for name in ("POOL", "REGION", "CLOUD")] == ["", "r-2", "aws"]


def test_a_node_that_was_told_nothing_has_defaults(told: Path) -> None:
    assert settings.value("POOL", "none") == "none"
    assert settings.number("MARGIN_SECONDS", 30) == 30
    assert not settings.flag("CHECKPOINT_LINKED")


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1))
def test_what_is_quoted_for_the_shell_comes_back(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        told = Path(folder, "node.env")
        told.write_text(f"GPUYARD_X={shlex.quote(text)}\n")
        patch.setenv("GPUYARD_ENV", str(told))
        assert settings.value("X") == text


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "1e400", "0x10"])
def test_a_number_that_is_none_is_named(text: str, told: Path) -> None:
    told.write_text(f"GPUYARD_MARGIN_SECONDS={text}\n")
    with pytest.raises(settings.SettingsError) as error:
        settings.number("MARGIN_SECONDS", 30)
    assert str(error.value) == f"GPUYARD_MARGIN_SECONDS is {text!r}: a number from 0 on is needed"


def test_a_document_is_whole_or_the_one_before(told: Path) -> None:
    path = settings.run_path("state.json")
    settings.write_json(path, {"state": "first"})
    with pytest.raises(TypeError):
        settings.write_json(path, {"state": object()})
    assert settings.read_json(path) == {"state": "first"}


@pytest.mark.parametrize("text", ["", "{", "[]", "\ud800"])
def test_what_is_no_document_reads_as_none(text: str, told: Path) -> None:
    Path(settings.run_path("state.json")).write_bytes(text.encode(errors="surrogatepass"))
    assert settings.read_json(settings.run_path("state.json")) is None
    assert settings.read_json(settings.run_path("none.json")) is None


def test_a_lock_is_held_once_and_by_nobody_else(told: Path) -> None:
    path = settings.run_path("one.lock")
    assert settings.lock(path)
    assert not settings.lock(path)
    assert Path(path).stat().st_mode & 0o077 == 0


def test_a_program_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with pytest.raises(commands.CommandError, match="bash took longer than 0 s"):
        commands.run(["bash", "-c", f"(sleep 0.6; touch {mark}) & wait"], 0.2)
    with pytest.raises(commands.CommandError, match="bash ended with 7: one two"):
        commands.run(["bash", "-c", "echo one >&2; echo two >&2; sleep 0.5; exit 7"], 5)
    assert not mark.exists()


def test_a_program_may_say_what_is_no_text_and_leave_others_running() -> None:
    assert commands.run(["bash", "-c", r"printf '\xff ok'"], 5) == "\ufffd ok"
    assert commands.run(["bash", "-c", "sleep 1 & true"], 0.8, heard=False) == ""


def test_no_program_is_started_without_time() -> None:
    with pytest.raises(commands.CommandError) as error:
        commands.run(["true"], 0)
    assert str(error.value) == "no time is left for true"
    assert json.dumps(commands.run(["true"], 5)) == '""'
