"""What a training program and the node's watcher ask of a folder."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuyard.checkpoints.inventory import latest as latest_in
from gpuyard.checkpoints.inventory import plan_pruning
from gpuyard.checkpoints.local import LocalStore
from gpuyard.node import checkpoints
from gpuyard.node.checkpoint_format import name_of, step_of

from .places import Folder, manifest_of, put_complete, put_pointer
from .training import save


@pytest.fixture
def here(folder: Folder) -> str:
    return folder.where


def test_a_commit_makes_it_complete_and_points_to_it(here: str) -> None:
    folder = checkpoints.begin(here, 1200)
    assert folder == checkpoints.writing(here, 1200) == f"{here}/step-00001200.writing"
    Path(folder, "rank0.pt").write_bytes(b"weights")
    assert checkpoints.latest(here) is None
    done = checkpoints.commit(folder)
    assert done == checkpoints.latest(here) == checkpoints.complete(here)[0]
    assert done.path == f"{here}/step-00001200"
    assert (done.step, done.name, done.files, done.bytes) == (1200, "step-00001200", 1, 7)
    assert done.manifest_path == f"{here}/step-00001200/manifest.json"
    assert abs(done.written - time.time()) < 60
    assert json.loads(Path(done.manifest_path).read_bytes()) == json.loads(manifest_of(1200, {"rank0.pt": b"weights"}))
    assert json.loads(Path(here, "latest").read_bytes()) == {
        "format": 1,
        "step": 1200,
        "name": "step-00001200",
        "manifest_sha256": done.manifest_sha256,
    }
    assert checkpoints.verify(done.path, deep=True) == []
    assert not os.path.exists(folder)


def test_latest_never_goes_back_to_a_lower_step(here: str) -> None:
    save(here, 5)
    save(here, 3)
    assert checkpoints._named(here) == "step-00000005"
    assert [one.step for one in checkpoints.complete(here)] == [3, 5]


def test_steps_are_ordered_as_numbers(here: str) -> None:
    for step in (99_999_999, 100_000_000, 7):
        save(here, step)
    newest = checkpoints.latest(here)
    assert newest is not None
    assert newest.name == "step-100000000"
    assert [one.step for one in checkpoints.complete(here)] == [7, 99_999_999, 100_000_000]


@given(st.integers(0, 10**18 - 1))
def test_a_name_holds_its_step(step: int) -> None:
    assert step_of(name_of(step)) == step


@pytest.mark.parametrize("name", ["step-1", "step-000000001", "step-0000000x", "step-00000001\n", "step-٠٠٠٠٠٠٠١", ""])
def test_other_names_hold_no_step(name: str) -> None:
    assert step_of(name) is None


@pytest.mark.parametrize("step", [-1, 10**18, True, 1.0, "1"])
def test_what_is_no_step_is_refused(here: str, step: object) -> None:
    with pytest.raises(ValueError, match="is no step: a whole number from 0"):
        checkpoints.begin(here, step)  # type: ignore[arg-type]


def test_a_complete_step_is_never_written_again(here: str) -> None:
    save(here, 5)
    with pytest.raises(FileExistsError, match="this step is complete already"):
        checkpoints.begin(here, 5)
    folder = checkpoints.begin(here, 6)
    Path(folder, "x").write_text("x")
    put_complete(Folder(Path(here)), 6)
    with pytest.raises(FileExistsError, match="this step is complete already"):
        checkpoints.commit(folder)


def test_files_of_an_earlier_attempt_do_not_get_into_the_next(here: str) -> None:
    Path(checkpoints.begin(here, 5), "rank9.pt").write_text("of a job with more ranks")
    folder = checkpoints.begin(here, 5)
    Path(folder, "rank0.pt").write_text("x")
    assert checkpoints.commit(folder).files == 1
    assert sorted(os.listdir(here)) == [".lock", "latest", "step-00000005"]


def test_a_torn_checkpoint_of_the_same_step_is_replaced(here: str) -> None:
    save(here, 5)
    os.unlink(f"{here}/step-00000005/rank1.pt")
    assert checkpoints.latest(here) is None
    save(here, 5)
    assert checkpoints.verify(f"{here}/step-00000005", deep=True) == []


def test_what_cannot_be_a_checkpoint_is_refused(here: str, tmp_path: Path) -> None:
    folder = checkpoints.begin(here, 1)
    with pytest.raises(ValueError, match="has no files"):
        checkpoints.commit(folder)
    os.symlink("/etc/passwd", f"{folder}/rank0.pt")
    with pytest.raises(ValueError, match="'rank0.pt' is no plain file"):
        checkpoints.commit(folder)
    os.unlink(f"{folder}/rank0.pt")
    Path(folder, "a\nb").write_text("x")
    with pytest.raises(ValueError, match=r"'a\\nb' is no plain file"):
        checkpoints.commit(folder)
    with pytest.raises(ValueError, match="is no folder that begin"):
        checkpoints.commit(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        checkpoints.begin(str(tmp_path / "not mounted"), 1)
    with pytest.raises(FileNotFoundError):
        checkpoints.latest(str(tmp_path / "not mounted"))


def test_a_file_that_still_grows_is_not_committed(here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    save(here, 1)
    folder = checkpoints.begin(here, 2)
    path = Path(folder, "rank0.pt")
    path.write_bytes(b"x" * 100)
    real = os.fstat
    looks: list[int] = []

    def fstat(descriptor: int) -> os.stat_result:
        if looks:
            with path.open("ab") as file:
                file.write(b"late")
        looks.append(descriptor)
        return real(descriptor)

    monkeypatch.setattr(checkpoints.os, "fstat", fstat)
    with pytest.raises(ValueError, match="rank0.pt is still written"):
        checkpoints.commit(folder)
    newest = checkpoints.latest(here)
    assert newest is not None
    assert newest.step == 1


def test_what_cannot_be_read_is_not_taken_for_nothing_there(here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    save(here, 1)

    def broken(path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(checkpoints, "_read", broken)
    with pytest.raises(PermissionError):
        checkpoints.latest(here)
    assert checkpoints.verify(f"{here}/step-00000001") == ["manifest.json cannot be read: Permission denied"]


def test_a_mount_without_locks_is_told(here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lockf(*_: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(checkpoints.fcntl, "lockf", lockf)
    with pytest.raises(OSError, match=r"takes no lock \(Function not implemented\); mount Lustre with -o flock"):
        checkpoints.begin(here, 1)


def test_threads_commit_different_steps_at_once(here: str) -> None:
    threads = [threading.Thread(target=save, args=(here, step)) for step in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.step for one in checkpoints.complete(here)] == list(range(12))
    assert checkpoints._named(here) == "step-00000011"


STATES = (
    "complete",
    "extra",
    "missing",
    "short",
    "no manifest",
    "garbage",
    "other step",
    "writing",
    "removing",
    "file",
)


def build(folder: Folder, step: int, state: str) -> None:
    name = f"step-{step:08d}"
    if state in ("complete", "extra", "missing", "short"):
        put_complete(folder, step, age=step * 60.0)
    if state == "extra":
        folder.put(f"{name}/more", b"x", age=step * 60.0)
    if state == "missing":
        folder.drop(f"{name}/rank0.pt")
    if state == "short":
        folder.put(f"{name}/rank0.pt", b"w", age=step * 60.0)
    if state in ("no manifest", "garbage", "other step"):
        folder.put(f"{name}/rank0.pt", b"x", age=step * 60.0)
    if state == "garbage":
        folder.put(f"{name}/manifest.json", b'{"format": 1, "step"', age=step * 60.0)
    if state == "other step":
        folder.put(f"{name}/manifest.json", manifest_of(step + 1, {"rank0.pt": b"x"}), age=step * 60.0)
    if state in ("writing", "removing"):
        put_complete(folder, step, age=step * 60.0)
        os.rename(Path(folder.where, name), Path(folder.where, f"{name}.{state}"))
    if state == "file":
        folder.put(name, b"x")


@settings(max_examples=40)
@given(
    st.dictionaries(st.integers(0, 40), st.sampled_from(STATES), max_size=8),
    st.one_of(st.none(), st.integers(0, 40)),
    st.integers(1, 4),
    st.integers(0, 4),
    st.sampled_from([0.0, 0.2, 1.0]),
)
def test_the_newest_is_the_greatest_complete_step_and_pruning_keeps_it(
    tmp_path_factory: pytest.TempPathFactory,
    states: dict[int, str],
    pointer: int | None,
    keep: int,
    keep_every: int,
    hours: float,
) -> None:
    folder = Folder(tmp_path_factory.mktemp("ck"))
    for step, state in states.items():
        build(folder, step, state)
    if pointer is not None:
        put_pointer(folder, pointer, b"")
    whole = sorted(step for step, state in states.items() if state in ("complete", "extra"))
    newest = checkpoints.latest(folder.where)
    assert (newest.step if newest else None) == (whole[-1] if whole else None)
    store = LocalStore(Path(folder.where))
    answer = latest_in(store).checkpoint
    assert answer == newest

    plan = plan_pruning(store, keep, keep_every, 0.0, hours, time.time())
    told = checkpoints.prune(folder.where, keep, keep_every, abandoned_hours=hours, apply=False)
    assert sorted(told) == sorted(one.name for one in plan.removals)
    assert checkpoints.prune(folder.where, keep, keep_every, abandoned_hours=hours) == told
    left = [one.step for one in checkpoints.complete(folder.where)]
    kept = {
        step for step in whole if step in whole[-keep:] or step == pointer or (keep_every and step % keep_every == 0)
    }
    assert left == sorted(kept)
    assert checkpoints.latest(folder.where) == newest
    assert checkpoints.prune(folder.where, keep, keep_every, abandoned_hours=hours) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"keep": 0},
        {"keep": 1, "keep_every": -1},
        {"keep": 1, "older_than_days": -1.0},
        {"keep": 1, "abandoned_hours": -1.0},
    ],
)
def test_a_senseless_pruning_is_refused(here: str, bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1 checkpoint is kept; steps, days and hours are not negative"):
        checkpoints.prune(here, **bad)  # type: ignore[arg-type]


def test_the_command_on_a_node(here: str, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str) -> tuple[int, str, str]:
        code = checkpoints.main(words)
        out = capsys.readouterr()
        return code, out.out, out.err

    assert said("latest", here) == (1, "", f"nothing complete in {here}\n")
    assert said("verify", here) == (1, f"nothing in {here}\n", "")
    for step in (1, 2, 3):
        save(here, step)
    assert said("latest", here) == (0, f"{here}/step-00000003\n", "")
    assert said("verify", here, "--deep") == (0, "3 good\n", "")
    os.unlink(f"{here}/step-00000002/rank0.pt")
    assert said("verify", here) == (1, "step-00000002: rank0.pt is missing\n", "")
    assert said("verify", here, "step-00000003") == (0, "1 good\n", "")
    assert said("verify", here, "x") == (1, "x: it is not named as a checkpoint, such as step-00001200\n", "")
    assert said("prune", here, "--keep", "1", "--abandoned-hours", "0") == (
        0,
        "step-00000001\nstep-00000002\n2 would be removed with --apply\n",
        "",
    )
    assert said("prune", here, "--keep", "1", "--apply") == (0, "step-00000001\n1 removed\n", "")
    assert said("prune", here, "--keep", "0")[::2] == (
        2,
        "at least 1 checkpoint is kept; steps, days and hours are not negative\n",
    )
    assert said("latest", f"{here}/x") == (3, "", f"No such file or directory: {here}/x\n")
    with pytest.raises(SystemExit) as ended:
        checkpoints.main(["prune", here])
    assert ended.value.code == 2


def test_the_nodes_program_runs_it(here: str) -> None:
    save(here, 1)
    words = [sys.executable, "-m", "gpuyard.node", "checkpoint", "latest", here]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == f"{here}/step-00000001\n"


def test_the_modules_of_a_node_load_nothing_but_the_standard_library() -> None:
    text = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); import gpuyard.node.checkpoints; "
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    folder = Path(checkpoints.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", text, str(folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['gpuyard']\n"
