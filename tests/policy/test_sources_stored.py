"""Resources from a preview's JSON and from an exported stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuyard.spec.problems import SpecError
from gpuyard_policy.facts import Unknown
from gpuyard_policy.sources import Place
from gpuyard_policy.sources.plan import read_plan
from gpuyard_policy.sources.state import read_state

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270"}
START = "urn:pulumi:prod::trial::"
DEFAULT = f"{START}pulumi:providers:aws::default_7_0_0"
WEST = f"{START}pulumi:providers:aws::west"


def resource(name: str, kind: str = "aws:s3/bucket:Bucket", provider: str = DEFAULT, **more: Any) -> dict[str, Any]:
    return {"urn": f"{START}{kind}::{name}", "type": kind, "provider": f"{provider}::{UNKNOWN}", **more}


def step(op: str, state: dict[str, Any]) -> dict[str, Any]:
    return {"op": op, "urn": state["urn"], "oldState" if op in ("same", "delete") else "newState": state}


def plan(folder: Path, steps: list[Any], **more: Any) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps({"config": {"aws:region": "eu-west-1"}, "steps": steps, **more}))
    return path


def state(folder: Path, resources: list[Any], version: int = 3) -> Path:
    path = folder / "state.json"
    path.write_text(json.dumps({"version": version, "deployment": {"resources": resources}}))
    return path


def told(path: Path, read: Any) -> str:
    with pytest.raises(SpecError) as raised:
        read(path)
    return str(raised.value)


def test_a_plan_gives_what_there_will_be_after_the_update(tmp_path: Path) -> None:
    made = resource("made", inputs={"bucket": "b", "tags": {"a": UNKNOWN}}, outputs={"arn": UNKNOWN, "bucket": "b"})
    stays = resource("stays", inputs={}, outputs={"region": "eu-west-1"}, id="stays-1", protect=True)
    again = resource("again", inputs={"bucket": "new"})
    source = read_plan(
        plan(
            tmp_path,
            [
                step("create", made),
                step("same", stays),
                step("delete", resource("gone")),
                step("create-replacement", again),
                step("replace", {**again, "inputs": {"bucket": "old"}}),
                step("delete-replaced", {**again, "inputs": {"bucket": "old"}}),
            ],
            changeSummary={"create": 1, "same": 1, "delete": 1, "replace": 1},
        )
    )
    found = {one.name: one for one in source.records}
    assert list(found) == ["made", "stays", "again"]
    assert found["made"].props["tags"] == {"a": Unknown("'tags.a' is known only after the update")}
    assert found["made"].props["arn"] == Unknown("'arn' is known only after the update")
    assert (found["stays"].props["id"], found["stays"].protect, found["made"].protect) == ("stays-1", True, False)
    assert found["again"].props["bucket"] == "new"
    assert (source.name, source.final) == ("prod", False)


def test_a_default_provider_has_the_regions_of_the_plans_configuration_and_others_their_own(tmp_path: Path) -> None:
    west = {"urn": WEST, "type": "pulumi:providers:aws", "inputs": {"region": "us-west-2"}}
    far = resource("far", provider=WEST)
    source = read_plan(plan(tmp_path, [step("create", west), step("create", resource("near")), step("create", far)]))
    assert {one.name: one.provider.get("region") for one in source.records} == {
        "west": None,
        "near": "eu-west-1",
        "far": "us-west-2",
    }


def test_a_plan_that_leaves_resources_out_is_refused_with_the_right_command(tmp_path: Path) -> None:
    text = told(plan(tmp_path, [step("create", resource("a"))], changeSummary={"create": 1, "same": 12}), read_plan)
    assert "plan.json:1: leaves out 12 resources that stay as they are" in text
    assert "pulumi preview --json --show-sames" in text


def test_a_preview_that_failed_is_no_plan(tmp_path: Path) -> None:
    failed = [{"severity": "warning", "message": "old"}, {"severity": "error", "message": "the program\nfailed"}]
    path = plan(tmp_path, [step("create", resource("a"))], diagnostics=failed)
    assert "is of a preview that failed: the program failed" in told(path, read_plan)


def test_a_state_is_final_and_leaves_out_what_waits_to_be_deleted(tmp_path: Path) -> None:
    provider = {"urn": DEFAULT, "type": "pulumi:providers:aws", "id": "p1", "outputs": {"region": "us-west-2"}}
    kept = {**resource("kept", outputs={"bucket": "b"}, id="b"), "provider": f"{DEFAULT}::p1"}
    frames = [
        {"sourcePosition": "project:///../lib/x.py#3"},
        {"sourcePosition": "project:///.venv/lib/site-packages/y.py#4"},
        {"sourcePosition": "project:///infra/__main__.py#8,5"},
    ]
    kept |= {"sourcePosition": "project:///../lib/x.py#3", "stackTrace": frames}
    source = read_state(state(tmp_path, [provider, kept, {**resource("gone"), "delete": True}]))
    assert [one.name for one in source.records] == ["default_7_0_0", "kept"]
    assert source.records[1].provider == {"region": "us-west-2"}
    assert source.places == {kept["urn"]: Place("infra/__main__.py", 8)}
    assert source.final
    assert source.notes == ("1 resources that wait to be deleted are left out.",)


def test_secrets_assets_and_references_are_read_as_far_as_they_are_known(tmp_path: Path) -> None:
    inputs = {
        "cipher": {**SECRET, "ciphertext": "v1:abc"},
        "plain": {**SECRET, "plaintext": '{"a": 1}'},
        "text": {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "text": "echo", "hash": "h"},
        "file": {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "path": "x.sh", "hash": "h"},
        "archive": {SIGNATURE: "0def7320c3a5731c473e5ecbe6d01bc7", "hash": "h"},
        "other": {SIGNATURE: "5cf8f73096256a8f31e491e813e4eb8e", "urn": "u", "id": "i-1"},
        "later": {SIGNATURE: "5cf8f73096256a8f31e491e813e4eb8e", "urn": "u", "id": ""},
        "__defaults": [],
    }
    (record,) = read_state(state(tmp_path, [resource("a", inputs=inputs)])).records
    assert record.props == {
        "cipher": Unknown("'cipher' is encrypted"),
        "plain": {"a": 1},
        "text": "echo",
        "file": Unknown("'file' is a file whose content is not looked at"),
        "archive": Unknown("'archive' is a file whose content is not looked at"),
        "other": "i-1",
        "later": Unknown("'later' is known only after the update"),
    }


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        ("{", read_plan, "is not valid JSON"),
        ("[]", read_state, "holds no JSON object"),
        ("{}", read_plan, "is no preview of the engine: it has no 'steps'"),
        ('{"steps": [1]}', read_plan, "steps[0]: is no step"),
        ('{"steps": [{"op": "create"}]}', read_plan, "steps[0]: has no state of a resource"),
        ("{}", read_state, "is no exported stack: it has no 'deployment'"),
        ('{"version": 2, "deployment": {}}', read_state, "is an export of version 2; 3 and 4 are understood"),
        ('{"version": 3, "deployment": {"resources": [{}]}}', read_state, "deployment.resources[0]: is no resource"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str, read: Any, message: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    assert message in told(path, read)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in told(tmp_path / "none.json", read_plan)
