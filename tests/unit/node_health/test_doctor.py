"""``gpuyard node doctor``: the same checks by hand, explained."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gpuyard.cli.main import COMMANDS, app_of
from gpuyard.cli.node import MEANINGS
from gpuyard.node import health
from gpuyard.spec.problems import SpecError

from . import outputs
from .conftest import Machine


def doctor(*arguments: str) -> Result:
    result = CliRunner().invoke(app_of("node"), ["node", "doctor", *arguments])
    if isinstance(result.exception, SpecError):
        raise result.exception
    return result


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_good_node_is_told_in_one_table(machine: Machine) -> None:
    result = doctor("--expect", str(machine.write_expected()))
    assert result.exit_code == 0, result.output
    assert "nvlink          pass   12 links up on each GPU" in result.output
    assert result.output.rstrip().endswith("healthy: 20 checks passed, 0 do not apply.")
    assert "means" not in result.output
    assert not (machine.root / "run").exists(), "nothing is reported"


def test_a_fault_is_explained(machine: Machine) -> None:
    text = outputs.link_status(outputs.A100, 8).replace("Link 5: 25 GB/s", "Link 5: <inactive>", 1)
    machine.says("nvidia-smi", text, "nvlink --status")
    result = doctor("--expect", str(machine.write_expected()))
    assert result.exit_code == 1
    told = flat(result.output)
    assert "nvlink: fail says GPU 0 has 11 of 12 links at full rate (down: 5)" in told
    assert 'expected {"links": 12, "gb_per_s": 25}' in told
    assert 'found {"0": 11, "1": 12' in told
    assert "means Traffic between the GPUs of this node goes through fewer links" in told
    assert "do Restart nvidia-fabricmanager where there is one, reboot, else replace the node." in told
    assert told.endswith("unhealthy: 1 of 20 checks failed or could not run, 0 do not apply.")


def test_a_command_that_is_missing_is_one_finding(machine: Machine) -> None:
    machine.lacks("nvidia-smi")
    told = flat(doctor("--expect", str(machine.write_expected())).output)
    names = "gpu-count, gpu-model, gpu-memory, gpu-pcie, driver, ecc, memory-repair, nvlink: cannot run"
    assert f"{names} says nvidia-smi cannot be run: No such file or directory" in told
    assert "do Install NVIDIA's driver" in told
    assert "Run 'nvidia-smi' by hand, as root, until it answers." in told


def test_a_type_of_the_catalog_says_what_to_expect(machine: Machine) -> None:
    result = doctor("--type", "p4d.24xlarge", "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["state"] == "healthy"
    by_id = {check["id"]: check for check in found["checks"]}
    assert by_id["rdma"]["expected"] == {"kind": "efa", "devices": 4, "gid_index": None}
    assert by_id["mount"]["state"] == "not_wanted"
    assert all(check["means"] and check["remedy"] for check in found["checks"])
    other = json.loads(doctor("--type", "p5.48xlarge", "--format", "json").output)
    bad = {check["id"] for check in other["checks"] if check["state"] in ("fail", "cannot_run")}
    assert bad == {"gpu-model", "gpu-memory", "gpu-pcie", "nvlink", "fabric-manager", "rdma", "rdma-library"}


def test_a_machine_of_which_nothing_is_known_is_told_what_is_missing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.lacks("nvidia-smi")
    monkeypatch.setattr(health, "EXPECTED", str(machine.root / "none.json"))
    with pytest.raises(SpecError) as refused:
        doctor()
    assert str(refused.value) == (
        f"--expect: nothing says what this node must have: {machine.root}/none.json: No such file or directory; "
        "and this machine has no nvidia-smi, so no GPU driver. "
        "Give --type with the node's instance type, or --expect with the file of a node of its pool."
    )


def test_the_node_s_own_file_is_read_without_an_option(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "EXPECTED", str(machine.write_expected()))
    assert doctor().exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--type", "p4d.24xlargee"),
            "the catalog knows no instance type 'p4d.24xlargee'. Did you mean 'p4d.24xlarge'?",
        ),
        (("--type", "p4d.24xlarge", "--format", "xml"), "--format: 'xml' is no format. Allowed: table or json."),
        (("--type", "p4d.24xlarge", "--expect", "x"), "both say what this node must have. Give one of them."),
        (("--expect", "/dev/null"), "/dev/null is no JSON"),
    ],
)
def test_bad_input_is_refused_in_plain_words(machine: Machine, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(SpecError) as refused:
        doctor(*arguments)
    assert message in str(refused.value)


def test_nothing_that_applies_is_not_health(machine: Machine) -> None:
    machine.expected = {**dict.fromkeys(machine.expected), "skip": {}}
    result = doctor("--expect", str(machine.write_expected()))
    assert result.exit_code == 1
    assert "no check applied, so nothing is known of this machine" in result.output


def test_every_check_is_explained() -> None:
    assert [*MEANINGS] == [*(name for name, _, _ in health.CHECKS), "expected"]
    assert COMMANDS["node"] == ("gpuyard.cli.node", "node_app")


def test_the_command_line_ends_with_2_where_nothing_is_known(tmp_path: Path) -> None:
    import subprocess
    import sys

    words = [sys.executable, "-m", "gpuyard.cli.main", "node", "doctor", "--expect", str(tmp_path / "none")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing says what this node must have" in done.stderr
