"""``gpuyard check``: sources, formats, exit codes, baseline and comparison."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from tests.policy.programs import BAD_MACHINE, GOOD_MACHINE, write_project

from .check_helpers import check, git

STACK = "config:\n  aws:region: us-east-1\n"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A preview's JSON with one bad machine."""
    urn = "urn:pulumi:prod::trial::aws:ec2/instance:Instance::bad"
    inputs = {"instanceType": "g5.12xlarge", "tags": {"gpuyard:task": "lora"}}
    state = {"urn": urn, "type": "aws:ec2/instance:Instance", "inputs": inputs}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"config": {"aws:region": "us-east-1"}, "steps": [{"op": "create", "newState": state}]}))
    return path


def test_a_clean_stack_is_0_and_a_bad_one_1_with_its_line(tmp_path: Path) -> None:
    good = check("--profile", "dev", cwd=write_project(tmp_path / "good", GOOD_MACHINE))
    assert (good.code, good.err) == (0, "")
    assert good.out.splitlines()[0].startswith("dev: profile dev, 1 resources")
    assert good.out.splitlines()[-1] == "✓ 0 findings in 1 stack at or above 'mandatory'."
    bad = check(cwd=write_project(tmp_path / "bad", BAD_MACHINE))
    assert bad.code == 1
    assert "✗ FAB001 mandatory pool 'bad' trains (lora) on g5.12xlarge" in bad.out
    assert "__main__.py:3  bad" in bad.out


def test_all_stacks_are_checked_in_processes_of_their_own_and_one_that_fails_hides_no_other(tmp_path: Path) -> None:
    program = """
        import pulumi, pulumi_aws as aws, kept
        kept.SEEN.append(pulumi.get_stack())
        if pulumi.get_stack() == "broken":
            raise RuntimeError("no such luck")
        if pulumi.get_stack() == "killed":
            import os
            os._exit(9)
        aws.ec2.Instance("-".join(kept.SEEN), instance_type="g5.12xlarge", ami="ami-1", tags={"gpuyard:task": "lora"})
    """
    stacks = dict.fromkeys(("one", "two", "broken"), STACK)
    root = write_project(tmp_path, program, stacks)
    (root / "kept.py").write_text("SEEN = []\n")
    done = check("--format", "json", "--jobs", "2", cwd=root)
    assert done.code == 2
    found = {one["stack"]: one for one in done.data["stacks"]}
    assert list(found) == ["broken", "one", "two"]
    assert found["broken"]["problems"] == ["__main__.py:4: the program failed: RuntimeError: no such luck"]
    assert {one["resource"] for one in found["one"]["findings"]} == {"one", "the stack", "trial-one"}
    assert {one["resource"] for one in found["two"]["findings"]} == {"two", "the stack", "trial-two"}, (
        "no stack sees what another one did"
    )
    named = check("two", "--format", "json", cwd=root)
    assert [one["stack"] for one in named.data["stacks"]] == ["two"]
    (root / "Pulumi.killed.yaml").write_text(STACK)
    killed = check("killed", "one", "--format", "json", "--jobs", "1", cwd=root)
    assert killed.code == 3
    assert "its process ended" in killed.data["stacks"][0]["problems"][0]


def test_an_empty_run_is_no_pass(tmp_path: Path) -> None:
    empty = check(cwd=write_project(tmp_path / "empty", "x = 1\n"))
    assert empty.code == 2
    assert "nothing was judged, and that is no pass: it has no resources" in empty.out
    foreign = "import pulumi\npulumi.ComponentResource('own:index:Part', 'part')\n"
    other = check(cwd=write_project(tmp_path / "other", foreign))
    assert other.code == 2
    assert "of 1 resources none is of a cloud that the rules know" in other.out


def test_a_fault_of_gpuyards_own_code_is_3_with_all_that_helps_to_find_it(tmp_path: Path) -> None:
    program = "from gpuyard.planning.cluster import plan_cluster\nplan_cluster(None, 'x')\n"
    done = check("--format", "json", cwd=write_project(tmp_path, program))
    assert done.code == 3
    (problem,) = done.data["stacks"][0]["problems"]
    assert problem.startswith("gpuyard itself broke:\nTraceback")
    assert problem.count("Traceback") == 1
    assert "AttributeError: 'NoneType' object has no attribute" in problem


def test_a_plan_is_checked_without_loading_pulumi(plan: Path, tmp_path: Path) -> None:
    (tmp_path / "pulumi.py").write_text("raise SystemExit('pulumi was loaded')\n")
    done = check("--plan", str(plan), "--format", "json", cwd=tmp_path)
    assert done.code == 1, done.err
    assert done.data["stacks"][0]["stack"] == "prod"
    assert done.data["stacks"][0]["findings"][0]["file"] == str(plan)


def test_a_state_is_checked(tmp_path: Path) -> None:
    urn = "urn:pulumi:prod::trial::aws:ec2/instance:Instance::good"
    outputs = {"instanceType": "p4d.24xlarge", "tags": {"gpuyard:task": "lora"}, "region": "us-east-1"}
    resource = {"urn": urn, "type": "aws:ec2/instance:Instance", "outputs": outputs, "id": "i-1"}
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"version": 3, "deployment": {"resources": [resource]}}))
    assert check("--state", str(path), "--profile", "dev", cwd=tmp_path).code == 0


def test_each_file_has_the_format_of_its_ending_and_people_see_the_report_all_the_same(
    plan: Path, tmp_path: Path
) -> None:
    names = ("deep/a.md", "a.html", "a.json", "a.sarif", "a.xml", "a.txt")
    outputs = [word for name in names for word in ("-o", name)]
    done = check("--plan", str(plan), *outputs, cwd=tmp_path)
    assert done.code == 1
    assert "✗ FAB001" in done.out
    text = {name: (tmp_path / name).read_text(encoding="utf-8") for name in names}
    assert text["deep/a.md"].startswith("<!-- gpuyard check -->")
    assert text["a.html"].startswith("<!doctype html>")
    assert json.loads(text["a.json"])["exit_code"] == 1
    assert json.loads(text["a.sarif"])["version"] == "2.1.0"
    assert Xml.fromstring(text["a.xml"]).tag == "testsuites"
    assert "✗ FAB001" in text["a.txt"]
    again = check("--plan", str(plan), "--format", "markdown", cwd=tmp_path)
    assert again.out == text["deep/a.md"]


def test_settings_decide_levels_and_suppressions(plan: Path, tmp_path: Path) -> None:
    config = tmp_path / "check.yaml"
    config.write_text("profile: dev\nrules: {FAB001: {level: advisory}}\n")
    assert check("--plan", str(plan), "--config", str(config), cwd=tmp_path).code == 0
    assert check("--plan", str(plan), "--config", str(config), "--fail-on", "advisory", cwd=tmp_path).code == 1
    config.write_text(
        "profile: dev\nsuppressions: [{rule: FAB001, resource: bad, reason: until the new type is there}]\n"
    )
    accepted = check("--plan", str(plan), "--config", str(config), cwd=tmp_path)
    assert accepted.code == 0
    assert "accepted: until the new type is there" in accepted.out
    config.write_text("rules: {FAB001: {level: disabled}, STO001: {level: disabled}}\n")
    disabled = check("--plan", str(plan), "--config", str(config), "--profile", "dev", "--format", "json", cwd=tmp_path)
    assert "FAB001" not in disabled.data["stacks"][0]["rules"]


def test_a_baseline_adopts_an_old_stack(plan: Path, tmp_path: Path) -> None:
    first = check("--plan", str(plan), "--baseline", "base.json", "--write-baseline", cwd=tmp_path)
    assert first.code == 0, first.out
    assert "in the baseline of" in first.out
    again = check("--plan", str(plan), "--baseline", "base.json", cwd=tmp_path)
    assert again.code == 0
    plan.write_text(plan.read_text().replace("g5.12xlarge", "g5.48xlarge"))
    worse = check("--plan", str(plan), "--baseline", "base.json", cwd=tmp_path)
    assert worse.code == 1, "a finding that says something else is a new one"
    assert "1 entries of base.json are mended" in worse.out


def test_a_comparison_shows_only_what_a_change_brings(tmp_path: Path) -> None:
    root = write_project(tmp_path / "repository" / "infra", BAD_MACHINE)
    git(tmp_path / "repository", "init", "-q")
    git(tmp_path / "repository", "add", "-A")
    git(tmp_path / "repository", "commit", "-q", "-m", "one")
    same = check("--diff", "main", cwd=root)
    assert same.code == 0, same.out
    assert "findings are the same there and left out, 0 of there are gone." in same.out
    worse = BAD_MACHINE.replace('"bad"', '"worse"')
    write_project(root, f"{BAD_MACHINE}\n{worse}", {"dev": STACK, "new": STACK})
    changed = check("--diff", "main", "--format", "json", cwd=root)
    assert changed.code == 1
    found = {one["stack"]: one for one in changed.data["stacks"]}
    assert _failed(found["dev"]) == {"worse"}
    assert _failed(found["new"]) == {"bad", "worse"}
    assert "main has no such stack: everything is shown." in found["new"]["notes"]
    write_project(root, "raise KeyError('x')\n", {"dev": STACK})
    git(root, "commit", "-q", "-a", "-m", "two")
    write_project(root, BAD_MACHINE, {"dev": STACK})
    (root / "Pulumi.new.yaml").unlink()
    broken = check("--diff", "main", cwd=root)
    assert broken.code == 1
    assert "main could not be judged, so everything is shown" in broken.out


def _failed(stack: dict[str, Any]) -> set[str]:
    return {one["resource"] for one in stack["findings"] if one["verdict"] == "fail"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nope"], "there is no stack 'nope'."),
        (["--format", "jsn"], "--format: 'jsn' is no format. Did you mean 'json'?"),
        (["--fail-on", "never"], "--fail-on: 'never' is none of them. Allowed: advisory or mandatory."),
        (["--profile", "prd"], "--profile: 'prd' is none of them. Did you mean 'prod'?"),
        (["-o", "report.pdf"], "--output: the ending of 'report.pdf' names no format."),
        (["--format", "json", "-o", "a", "-o", "b"], "--format: one format cannot be that of several files."),
        (["--write-baseline"], "--write-baseline: needs a file."),
        (["--baseline", "none.json"], "none.json: cannot be read"),
        (["--config", "none.yaml"], "none.yaml: cannot be read"),
        (["--config", "bad.yaml"], "bad.yaml: rules.FAB01: there is no rule 'FAB01'. Did you mean 'FAB013'?"),
        (["--config", "bad.yaml"], "bad.yaml: suppressions[0].rule: there is no rule 'X'. gpuyard rules lists them."),
        (["--config", "bad.yaml"], "bad.yaml: rules.FAB001.thresholds.speed: FAB001 has no threshold 'speed'."),
        (["--config", "wrong.yaml"], "wrong.yaml: profil: unknown key"),
        (["--config", "torn.yaml"], "torn.yaml: is not valid YAML"),
        (["--plan", "a.json", "--state", "b.json"], "--plan: a plan or a state is a stack by itself."),
        (["dev", "--plan", "a.json"], "--plan: a plan or a state is a stack by itself."),
        (["--plan", "a.json", "--diff", "main"], "--diff: compares programs"),
        (["--diff", "main"], "is in no git repository."),
        (["--program", "away"], "away/Pulumi.yaml: cannot be read"),
    ],
)
def test_bad_input_is_2_and_says_what_would_be_right(
    tmp_path_factory: pytest.TempPathFactory, arguments: list[str], told: str
) -> None:
    root = tmp_path_factory.getbasetemp() / "bad-input"
    if not root.exists():
        write_project(root, GOOD_MACHINE)
        settings = "rules: {FAB01: {}, FAB001: {thresholds: {speed: 1}}}\n"
        suppressed = "suppressions: [{rule: X, resource: a, reason: long enough for a reason}]\n"
        (root / "bad.yaml").write_text(settings + suppressed)
        (root / "wrong.yaml").write_text("profil: dev\n")
        (root / "torn.yaml").write_text("a: [\n")
    done = check(*arguments, cwd=root, GIT_CEILING_DIRECTORIES=str(root.parent))
    assert done.code == 2, done.err
    assert told in " ".join((done.out + done.err).split())
    assert "Traceback" not in done.err
    assert "nothing was started" not in done.err


def test_a_name_that_git_would_take_for_an_option_is_no_commit(tmp_path: Path) -> None:
    root = write_project(tmp_path, GOOD_MACHINE)
    git(root, "init", "-q")
    done = check("--diff=--output=x", cwd=root)
    assert done.code == 2
    assert "the repository has no commit '--output=x'" in done.err
