"""What ``gpuyard check`` reads of a program is what the real engine makes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.session import Session
from gpuyard.sandbox.workspace import Workspace, read_project
from gpuyard_policy.config import PackConfig
from gpuyard_policy.evaluate import evaluate
from gpuyard_policy.facts import Record, Unknown
from gpuyard_policy.sources import Source
from gpuyard_policy.sources.in_process import run_stack
from gpuyard_policy.sources.plan import read_plan
from gpuyard_policy.sources.state import read_state
from gpuyard_policy.sources.values import LATER

STACK = "aws-staging"
# Listed by a program or a state, and not by a preview.
ENGINES_OWN = ("pulumi:pulumi:Stack", "pulumi:providers:aws")


def resources(source: Source) -> Mapping[str, Record]:
    return {one.urn: one for one in source.records if one.type not in ENGINES_OWN}


def judged(source: Source) -> set[tuple[Any, ...]]:
    found = evaluate(source.records, PackConfig(), today=date(2026, 12, 1))
    assert found.findings
    return {(one.rule_id, one.verdict, one.urn) for one in found.findings}


def differences(here: Any, there: Any, path: str) -> list[str]:
    """Where two values differ that both are known; what the engine adds (names, defaults) is no difference."""
    # In a policy or a packed script an id is one unknown word here; to the engine the whole is, or a name is known.
    if isinstance(here, str) and (LATER in here or path.endswith(".userData")):
        return []
    if isinstance(here, Unknown) or isinstance(there, Unknown):
        return [] if isinstance(here, Unknown) else [f"{path}: {here!r} is unknown to the engine"]
    if isinstance(here, dict) and isinstance(there, dict):
        return [text for key in here for text in differences(here[key], there.get(key), f"{path}.{key}")]
    if isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        pairs = enumerate(zip(here, there, strict=True))
        return [text for place, (one, other) in pairs for text in differences(one, other, f"{path}[{place}]")]
    return [] if here == there else [f"{path}: {here!r} here, {there!r} in the engine"]


def test_br_095_a_program_run_in_process_a_preview_and_the_state_say_the_same(
    project_copy: Path, engine: Engine, tmp_path: Path
) -> None:
    project = read_project(project_copy)
    session = Session(Workspace(project, engine))
    here = run_stack(project, STACK, project_copy)

    preview = session.run(STACK, "preview", "--json", "--show-sames", capture=True)
    assert preview.code == 0, preview.output
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(preview.output[preview.output.index("{") :], encoding="utf-8")
    plan = read_plan(plan_file)
    mine, engines = resources(here), resources(plan)
    assert set(mine) == set(engines)
    assert len(mine) > 80
    found = [text for urn in mine for text in differences(dict(mine[urn].props), dict(engines[urn].props), urn)]
    assert found == []
    for urn, record in mine.items():
        other = engines[urn]
        assert (record.type, record.name, record.protect) == (other.type, other.name, other.protect)
        if record.type.startswith("aws:"):
            assert record.provider.get("region") == other.provider.get("region") == "us-west-2"
        depends = {key: set(urns) for key, urns in record.depends_on.items() if urns}
        assert depends == {key: set(urns) for key, urns in other.depends_on.items() if urns}, urn
    decided_here_alone = judged(here) - judged(plan)
    assert {(rule, urn) for rule, verdict, urn in decided_here_alone if verdict.value == "pass"} == {
        (rule, urn) for rule, verdict, urn in judged(plan) - judged(here) if verdict.value == "undecided"
    }
    assert all(verdict.value == "pass" for _, verdict, _ in decided_here_alone)

    up = session.run(STACK, "up", "--yes", "--skip-preview", capture=True)
    assert up.code == 0, up.output
    state_file = tmp_path / "state.json"
    # The backend's record is what 'pulumi stack export' wraps so.
    state_file.write_text(json.dumps({"version": 3, "deployment": session.workspace.state(STACK)}), encoding="utf-8")
    state = read_state(state_file)
    assert set(resources(state)) == set(mine)
    before = {(rule, urn) for rule, verdict, urn in judged(plan) if verdict.value != "undecided"}
    after = {(rule, urn) for rule, verdict, urn in judged(state)}
    assert before <= after

    same = session.run(STACK, "preview", "--json", "--show-sames", capture=True)
    plan_file.write_text(same.output[same.output.index("{") :], encoding="utf-8")
    assert judged(read_plan(plan_file)) == judged(state)
