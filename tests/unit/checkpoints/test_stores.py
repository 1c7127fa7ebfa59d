"""A folder, S3, OSS and COS answer alike."""

import time

import pytest

from gpuyard.checkpoints.inventory import latest, plan_pruning, verify
from gpuyard.spec.problems import SpecError

from .places import DAY, HOUR, Objects, Place, manifest_of, opened, put_complete, put_pointer


def names(steps: list[int]) -> list[str]:
    return [f"step-{step:08d}" for step in steps]


def pruned(place: Place, keep: int, keep_every: int = 0, days: float = 0.0, hours: float = 24.0) -> list[str]:
    store = opened(place)
    plan = plan_pruning(store, keep, keep_every, days, hours, time.time())
    for one in plan.removals:
        store.remove(one.name)
    return [one.name for one in plan.removals]


def test_nothing_there_is_no_checkpoint(place: Place) -> None:
    assert latest(opened(place)).checkpoint is None
    assert verify(opened(place)) == {}
    assert pruned(place, 1) == []


def test_the_newest_complete_checkpoint_is_found_over_many_pages(place: Place) -> None:
    for step in range(1, 8):
        put_complete(place, step, age=(10 - step) * HOUR)
    put_complete(place, 8, age=60.0, point=True, **{f"rank{rank}.pt": b"x" * rank for rank in range(1, 9)})
    answer = latest(opened(place))
    assert answer.notes == ()
    found = answer.checkpoint
    assert found is not None
    assert (found.step, found.name, found.files, found.bytes) == (8, "step-00000008", 8, 36)
    assert found.path == f"{place.where}/step-00000008"
    assert abs(time.time() - 60.0 - found.written) < 5


def test_an_upload_without_its_manifest_is_not_the_latest(place: Place) -> None:
    put_complete(place, 1, point=True)
    place.put("step-00000002/rank0.pt", b"half")
    answer = latest(opened(place))
    assert answer.checkpoint is not None
    assert answer.checkpoint.step == 1
    assert answer.notes == ("step-00000002 is not complete: manifest.json is missing.",)


def test_a_pointer_to_a_torn_checkpoint_gives_the_newest_complete_one_with_a_note(place: Place) -> None:
    put_complete(place, 1)
    put_complete(place, 2, point=True)
    place.drop("step-00000002/rank0.pt")
    answer = latest(opened(place))
    assert answer.checkpoint is not None
    assert answer.checkpoint.step == 1
    assert answer.notes == (
        "step-00000002 is not complete: rank0.pt is missing.",
        "'latest' names step-00000002, and this is the newest complete one.",
    )


@pytest.mark.parametrize(
    ("pointer", "note"),
    [
        (None, "there is no 'latest'; this is the newest with a whole manifest."),
        (b"", "latest is not valid JSON: Expecting value: line 1 column 1 (char 0); this is the newest with a whole"),
        (b'{"format": 1, "step": 1, "name": "../x"}', "latest names no checkpoint; this is the newest with a whole"),
        (b'{"format": 1, "step": 3, "name": "step-00000002"}', "latest names no checkpoint; this is the newest"),
        (b'{"format": 1, "step": 1, "name": "step-00000001"}', "'latest' names step-00000001, and this is the newest"),
        (b'{"format": 1, "step": 2, "name": "step-00000002"}', "'latest' holds another checksum of step-00000002's"),
    ],
)
def test_a_stale_or_damaged_pointer_hides_nothing(place: Place, pointer: bytes | None, note: str) -> None:
    put_complete(place, 1)
    put_complete(place, 2)
    if pointer is not None:
        place.put("latest", pointer)
    answer = latest(opened(place))
    assert answer.checkpoint is not None
    assert answer.checkpoint.step == 2
    assert len(answer.notes) == 1
    assert answer.notes[0].startswith(note)


def test_what_is_wrong_is_told(place: Place) -> None:
    good, damaged = {"a.pt": b"aaaa", "b.pt": b"bbbb"}, {"a.pt": b"aaaX", "b.pt": b"bb", "c.pt": b"c"}
    put_complete(place, 1, **good)
    for path, data in damaged.items():
        place.put(f"step-00000002/{path}", data)
    place.put("step-00000002/manifest.json", manifest_of(2, {**good, "d/e.pt": b""}))
    place.put("step-00000003/manifest.json", manifest_of(2, good))
    place.put("step-00000004/manifest.json", b"\xff\x00")
    place.put("step-00000005/manifest.json", b'{"format": 2}')
    place.put("step-00000006/manifest.json", manifest_of(6, {"../../secret": b""}))
    place.put("step-00000007/manifest.json", manifest_of(7, {}))
    place.put("step-00000008/manifest.json", b"[" * 100_000)
    place.put("step-00000009/manifest.json", b'{"format": 1, "step": 9, "files": {"a": {"bytes": true, "sha256": ""}}}')
    shallow, deep = verify(opened(place)), verify(opened(place), deep=True)
    assert shallow["step-00000001"] == deep["step-00000001"] == []
    torn = ["b.pt has 2 bytes, not 4", "d/e.pt is missing"]
    assert shallow["step-00000002"] == [*torn, "c.pt is not in manifest.json"]
    assert deep["step-00000002"] == [*torn, "a.pt has another checksum", "c.pt is not in manifest.json"]
    assert shallow["step-00000003"] == ["manifest.json is of step 2, not 3"]
    assert shallow["step-00000004"][0].startswith("manifest.json is not valid JSON: ")
    assert shallow["step-00000005"] == ["manifest.json is not of format 1"]
    assert shallow["step-00000006"] == [
        "manifest.json lists '../../secret', which is no plain path inside the checkpoint"
    ]
    assert shallow["step-00000007"] == ["manifest.json lists no files"]
    assert shallow["step-00000008"][0].startswith("manifest.json is not valid JSON: ")
    assert shallow["step-00000009"] == ["manifest.json lists a without a size and a checksum"]
    answer = latest(opened(place))
    assert answer.checkpoint is not None
    assert answer.checkpoint.step == 1


def test_only_a_deep_look_sees_a_flipped_byte(place: Place) -> None:
    name = put_complete(place, 5)
    place.put(f"{name}/opt/rank 0.pt", b"moments of 6")
    assert verify(opened(place), name) == {name: []}
    assert verify(opened(place), name, deep=True) == {name: ["opt/rank 0.pt has another checksum"]}


def test_a_file_that_no_manifest_lists_is_told_but_tears_nothing(place: Place) -> None:
    name = put_complete(place, 5)
    place.put(f"{name}/events.log", b"")
    assert verify(opened(place)) == {name: ["events.log is not in manifest.json"]}
    answer = latest(opened(place))
    assert answer.checkpoint is not None
    assert answer.checkpoint.step == 5


def test_a_name_that_is_not_there_is_bad_input(place: Place) -> None:
    put_complete(place, 5)
    with pytest.raises(SpecError, match="there is no checkpoint 'step-00000006' in .* Did you mean 'step-00000005'"):
        verify(opened(place), "step-00000006")


def test_other_names_are_left_alone(place: Place) -> None:
    for path in (
        "step-5/manifest.json",
        "step-000000010/x",
        "logs/step-00000001",
        "step-00000001x/y",
        "stepless.writing/z",
    ):
        place.put(path, b"{}", age=100 * DAY)
    put_complete(place, 3)
    before = place.paths()
    assert list(verify(opened(place))) == ["step-00000003"]
    assert pruned(place, 1, hours=0.0) == []
    assert place.paths() == before


def test_pruning_keeps_the_newest_milestones_and_the_young(place: Place) -> None:
    for step in range(1, 11):
        put_complete(place, step, age=(11 - step) * DAY, point=step == 10)
    assert pruned(place, 3, keep_every=4, days=5.5) == names([1, 2, 3, 5])
    assert list(verify(opened(place), deep=True).items()) == [(name, []) for name in names([4, 6, 7, 8, 9, 10])]
    assert {path.split("/")[0] for path in place.paths()} == {*names([4, 6, 7, 8, 9, 10]), "latest"}
    assert pruned(place, 3, keep_every=4, days=5.5) == []


def test_pruning_never_removes_the_last_complete_one_nor_the_one_that_latest_names(place: Place) -> None:
    for step in (1, 2, 3):
        put_complete(place, step, age=DAY, point=step == 2)
    place.put("step-00000004/rank0.pt", b"torn", age=100 * DAY)
    assert pruned(place, 1) == names([1])
    assert list(verify(opened(place))) == names([2, 3, 4])


def test_with_nothing_complete_nothing_torn_is_removed(place: Place) -> None:
    place.put("step-00000004/rank0.pt", b"torn", age=100 * DAY)
    assert pruned(place, 1, hours=0.0) == []


def test_pruning_removes_what_was_abandoned(place: Place) -> None:
    put_complete(place, 5, age=DAY, point=True)
    place.put("step-00000003/rank0.pt", b"torn and old", age=30 * HOUR)
    place.put("step-00000004/rank0.pt", b"torn and young", age=HOUR)
    place.put("step-00000006.writing/rank0.pt", b"left by a killed job", age=30 * HOUR)
    place.put("step-00000007.writing/rank0.pt", b"being written", age=HOUR)
    place.put("step-00000002.abc.removing/rank0.pt", b"half removed", age=0)
    assert sorted(pruned(place, 1)) == ["step-00000002.abc.removing", "step-00000003", "step-00000006.writing"]
    left = {path.split("/")[0] for path in place.paths()} - {"latest"}
    assert left == {"step-00000004", "step-00000005", "step-00000007.writing"}


def test_a_plan_changes_nothing_and_says_why_and_how_much(place: Place) -> None:
    for step in (1, 2, 3):
        put_complete(place, step, age=DAY, **{"a.pt": b"x" * 1000 * step})
    place.put("step-00000001/extra", b"y" * 24)
    place.drop("step-00000002/a.pt")
    put_complete(place, 4)
    before = place.paths()
    plan = plan_pruning(opened(place), 1, 0, 0.0, 1.0, time.time())
    assert [(one.name, one.bytes, one.reason) for one in plan.removals] == [
        ("step-00000001", 1024, "complete, and not among the newest 1"),
        ("step-00000002", 0, "not complete: a.pt is missing"),
        ("step-00000003", 3000, "complete, and not among the newest 1"),
    ]
    assert plan.kept == ("step-00000004",)
    assert plan.bytes == 4024
    assert place.paths() == before
    with pytest.raises(ValueError, match="at least 1 checkpoint is kept"):
        plan_pruning(opened(place), 0, 0, 0.0, 1.0, time.time())


def test_a_checkpoint_of_a_thousand_and_more_files(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"rank{rank:04d}.pt": b"%d" % rank for rank in range(1002)}
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "1000")
    if isinstance(place, Objects):
        place.server.page = 1000
    put_complete(place, 1, age=DAY, **files)
    put_complete(place, 2, point=True)
    assert verify(opened(place), "step-00000001") == {"step-00000001": []}
    assert pruned(place, 1) == ["step-00000001"]
    assert not [path for path in place.paths() if path.startswith("step-00000001")]


def test_a_pointer_is_only_read_up_to_a_bound(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuyard.checkpoints.inventory.MANIFEST_BYTES_MAX", 100)
    monkeypatch.setattr("gpuyard.node.checkpoint_format.MANIFEST_BYTES_MAX", 100)
    place.put("step-00000001/manifest.json", b" " * 1000)
    assert verify(opened(place)) == {"step-00000001": ["manifest.json is longer than 0 MiB"]}
    put_pointer(place, 1, b"")
