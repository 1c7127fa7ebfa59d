"""``gpuyard checkpoint``."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpuyard.cli import main

from .places import DAY, Folder, Objects, Place, put_complete


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(*words: str, place: Place | None = None) -> tuple[int, str, str]:
        options = [f"--{name}={text}" for name, text in (place.options if place else {}).items()]
        monkeypatch.setattr("sys.argv", ["gpuyard", "checkpoint", *words, *options])
        code = 0
        try:
            main.run()
        except SystemExit as ended:
            code = int(ended.code or 0)
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


def test_latest_shows_the_newest_complete_one_and_notes(place: Place, said: Any) -> None:
    code, out, err = said("latest", place.where, place=place)
    assert (code, out) == (1, "")
    assert "Nothing complete is in" in err
    put_complete(place, 3)
    place.put("step-00000004/rank0.pt", b"half")
    code, out, err = said("latest", place.where, place=place)
    assert code == 0
    assert "step-00000003" in out
    assert "0.00 GiB in 2 files" in out
    assert err.startswith("Note: step-00000004 is not complete: manifest.json is missing.\nNote: there is no 'latest'")
    code, out, err = said("latest", place.where, "--format", "json", place=place)
    found = json.loads(out)
    assert (code, err, found["checkpoint"]["step"], len(found["notes"])) == (0, "", 3, 2)


def test_verify_lists_what_is_wrong(folder: Folder, said: Any) -> None:
    assert said("verify", folder.where)[0] == 1
    put_complete(folder, 3)
    code, out, _ = said("verify", folder.where)
    assert code == 0
    assert re.search(r"step-00000003 +good", out)
    assert "--deep compares checksums too" in out
    folder.put("step-00000003/rank0.pt", b"weights of 4" * 10)
    assert said("verify", folder.where)[0] == 0
    code, out, _ = said("verify", folder.where, "step-00000003", "--deep")
    assert code == 1
    assert re.search(r"step-00000003 +rank0.pt has another checksum", out)
    code, out, _ = said("verify", folder.where, "--deep", "-f", "json")
    assert (code, json.loads(out)) == (1, {"step-00000003": ["rank0.pt has another checksum"]})
    code, _, err = said("verify", folder.where, "step-00000009")
    assert code == 2
    assert "there is no checkpoint 'step-00000009'" in err


def test_prune_changes_nothing_until_it_is_told_to(place: Place, said: Any) -> None:
    for step in (1, 2, 3):
        put_complete(place, step, age=DAY, point=step == 3)
    before = place.paths()
    code, out, _ = said("prune", place.where, "--keep", "1", place=place)
    assert code == 0
    assert "step-00000001" in out
    assert "2 go, 0.00 GiB; 1 stay." in out
    assert "Nothing was removed: use --apply." in out
    assert place.paths() == before
    code, out, _ = said("prune", place.where, "--keep", "1", "--apply", "--format", "json", place=place)
    told = json.loads(out)
    assert (code, told["applied"], told["kept"]) == (0, True, ["step-00000003"])
    assert [one["name"] for one in told["removals"]] == ["step-00000001", "step-00000002"]
    assert {path.split("/")[0] for path in place.paths()} == {"step-00000003", "latest"}
    code, out, _ = said("prune", place.where, "--keep", "1", "--apply", place=place)
    assert (code, out.strip()) == (0, "0 go, 0.00 GiB; 1 stay.")


def test_a_pruning_that_stops_midway_says_what_is_done(oss: Objects, said: Any) -> None:
    for step in (1, 2, 3):
        put_complete(oss, step, age=DAY)
    oss.server.stuck.add("run 1/ü/step-00000002/rank0.pt")
    code, out, err = said("prune", oss.where, "--keep", "1", "--apply", place=oss)
    assert code == 3
    assert "step-00000001 removed" in out
    assert "step-00000002 removed" not in out
    assert "1 not deleted, such as run 1/ü/step-00000002/rank0.pt" in err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("latest", "gs://x"), 2, "'gs://' is no object storage that is known"),
        (("latest", "oss://bucket"), 2, "--region: the region of bucket bucket is not known"),
        (("latest", "/nowhere/at/all"), 3, "No such file or directory: /nowhere/at/all"),
        (("latest", ".", "--format", "xml"), 2, "--format: 'xml' is no format"),
        (("prune", "."), 2, "Missing option '--keep'"),
        (("prune", ".", "--keep", "0"), 2, "Invalid value for '--keep'"),
    ],
)
def test_bad_input_is_told_apart_from_bad_checkpoints(
    words: tuple[str, ...], code: int, message: str, said: Any
) -> None:
    got, _, err = said(*words)
    assert (got, message in err) == (code, True), err


def test_a_folder_may_be_named_relative_to_here(folder: Folder, said: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put_complete(folder, 3)
    monkeypatch.chdir(Path(folder.where).parent)
    assert said("latest", "ck")[0] == 0
    assert said("latest", "ck/")[0] == 0
