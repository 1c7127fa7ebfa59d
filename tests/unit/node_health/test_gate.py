"""The gate as the node runs it: what it writes, whom it tells, and how it ends."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gpuyard.node import health

from .conftest import Machine

COMPONENTS = Path(health.__file__).parents[2]
ITEMS = {"instance-id": "i-0abc", "ram/security-credentials/": "node-role"}


class Metadata(BaseHTTPRequestHandler):
    """Each cloud's metadata service, as far as the gate asks it."""

    def do_PUT(self) -> None:
        self._answer(200, "token")

    def do_GET(self) -> None:
        found = ITEMS.get(self.path.removeprefix("/latest/meta-data/"))
        self._answer(200 if found else 404, found or "")

    def _answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        return


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", 0), Metadata)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("GPUYARD_METADATA", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GPUYARD_PAUSE", "0")
    yield
    server.shutdown()
    server.server_close()


@pytest.fixture
def on_aws(machine: Machine, metadata: None, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A node of a scaling group that waits for it."""
    for name, value in (("CLOUD", "aws"), ("REGION", "us-east-1"), ("LAUNCH_HOOK", "launch"), ("HEALTH_TAG", "1")):
        monkeypatch.setenv(f"GPUYARD_{name}", value)
    known = {"AutoScalingInstances": [{"LifecycleState": "Pending:Wait", "AutoScalingGroupName": "train"}]}
    machine.says("aws", json.dumps(known), "describe-auto-scaling-instances")
    machine.says("aws", "{}")
    return machine


@pytest.fixture(autouse=True)
def _at_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUYARD_EXPECTED", str(machine.root / "expected.json"))
    monkeypatch.setenv("GPUYARD_HEALTH_WAIT", "0")


def gate(machine: Machine, *arguments: str) -> int:
    machine.write_expected()
    return health.main([*arguments])


def written(machine: Machine) -> dict[str, Any]:
    return json.loads((machine.root / "run/health.json").read_text())


def aws_calls(machine: Machine) -> list[str]:
    return [call for call in machine.calls() if call.startswith("aws ") and "describe" not in call]


def test_a_healthy_node_says_so_in_a_file(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    before = int(time.time())
    assert gate(machine, "--no-report") == 0
    found = written(machine)
    assert found["state"] == "healthy"
    assert before <= found["at"] <= time.time()
    assert found["checks"][0] == {
        "id": "gpu-count",
        "state": "pass",
        "message": "8 GPUs",
        "expected": 8,
        "found": 8,
        "remedy": "Look for Xid 79 in the kernel's log and reboot, else replace the node.",
    }
    assert [path.name for path in (machine.root / "run").iterdir()] == ["health.json"], "no half-written file is left"
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "pass        gpu-count       8 GPUs"
    assert out[-1] == "healthy"


def test_a_bad_node_says_what_to_do(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.says("timedatectl", "NTPSynchronized=no\n")
    assert gate(machine, "--no-report") == 1
    assert written(machine)["state"] == "unhealthy"
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("fail"))
    assert line.split(None, 2)[2] == ("the clock follows no time server. Start chrony with the cloud's time server.")


def test_json_is_what_the_file_holds(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(machine, "--no-report", "--json") == 0
    assert json.loads(capsys.readouterr().out) == written(machine)


def test_without_expectations_a_node_is_unhealthy(machine: Machine) -> None:
    assert health.main(["--no-report"]) == 1
    (check,) = written(machine)["checks"]
    assert (check["id"], check["state"]) == ("expected", "cannot_run")


def test_a_healthy_node_is_continued_and_tagged(on_aws: Machine) -> None:
    assert gate(on_aws) == 0
    tag, hook = aws_calls(on_aws)
    assert "autoscaling complete-lifecycle-action" in hook
    assert "--lifecycle-hook-name launch" in hook
    assert "--lifecycle-action-result CONTINUE" in hook
    assert tag == ("aws ec2 create-tags --region us-east-1 --resources i-0abc --tags Key=gpuyard:health,Value=healthy")
    assert written(on_aws)["not_reported"] == []
    assert written(on_aws)["reported"] == ["gpuyard:health=healthy", "train: CONTINUE"]


def test_a_bad_node_is_abandoned_and_tagged(on_aws: Machine) -> None:
    on_aws.lacks("nvidia-smi")
    assert gate(on_aws) == 1
    tag, hook = aws_calls(on_aws)
    assert "--lifecycle-action-result ABANDON" in hook
    assert tag.endswith("Value=unhealthy")


def test_at_a_later_boot_no_scaler_waits_and_that_is_no_fault(on_aws: Machine) -> None:
    known = {"AutoScalingInstances": [{"LifecycleState": "InService", "AutoScalingGroupName": "train"}]}
    on_aws.says("aws", json.dumps(known), "describe-auto-scaling-instances")
    assert gate(on_aws) == 0
    assert written(on_aws)["reported"][1] == "no scaler waits: i-0abc is InService"


@pytest.mark.parametrize(
    ("call", "setting", "other"),
    [("complete-lifecycle-action", "LAUNCH_HOOK", "create-tags"), ("create-tags", "HEALTH_TAG", "complete-lifecycle")],
)
def test_what_could_not_be_told_fails_the_run_of_a_healthy_node(
    on_aws: Machine, call: str, setting: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    on_aws.says("aws", "AccessDenied: not authorized", call, code=254)
    assert gate(on_aws) == 1
    found = written(on_aws)
    assert found["state"] == "healthy"
    (reason,) = found["not_reported"]
    assert reason.startswith(f"GPUYARD_{setting}: ")
    assert "AccessDenied: not authorized" in reason
    assert f"not reported: {reason}" in capsys.readouterr().err
    assert any(other in line for line in aws_calls(on_aws)), "the other one is told all the same"


def test_a_node_that_cannot_write_tells_the_others_all_the_same(on_aws: Machine) -> None:
    (on_aws.root / "run").write_text("a file where the folder should be")
    assert gate(on_aws) == 1
    assert "CONTINUE" in aws_calls(on_aws)[1]


def test_a_wrong_word_is_refused(on_aws: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(on_aws, "--jsonn", "--no-report") == 2
    assert "health takes --json and --no-report, not --jsonn" in capsys.readouterr().err
    assert on_aws.calls() == []


def test_no_report_tells_nobody(on_aws: Machine) -> None:
    assert gate(on_aws, "--no-report") == 0
    assert aws_calls(on_aws) == []


def test_an_instance_of_alibaba_cloud_is_tagged_with_its_role(
    machine: Machine, metadata: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("CLOUD", "alicloud"), ("REGION", "cn-beijing"), ("HEALTH_TAG", "1")):
        monkeypatch.setenv(f"GPUYARD_{name}", value)
    machine.says("aliyun", "{}")
    assert gate(machine) == 0
    (call,) = [call for call in machine.calls() if call.startswith("aliyun")]
    assert call == (
        "aliyun ecs TagResources --region cn-beijing --RegionId cn-beijing --mode EcsRamRole --ram-role-name node-role "
        "--ResourceType instance --ResourceId.1 i-0abc --Tag.1.Key gpuyard:health --Tag.1.Value healthy"
    )


def test_an_instance_of_tencent_cloud_is_tagged_by_its_account(
    machine: Machine, metadata: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("CLOUD", "tencentcloud"), ("REGION", "ap-shanghai"), ("HEALTH_TAG", "1")):
        monkeypatch.setenv(f"GPUYARD_{name}", value)
    machine.says("tccli", '{"AccountId": "100000001"}', "GetCallerIdentity")
    machine.says("tccli", '{"FailedResources": [], "RequestId": "x"}', "TagResources")
    assert gate(machine) == 0
    assert '["qcs::cvm:ap-shanghai:uin/100000001:instance/i-0abc"]' in machine.calls()[-1]
    assert '[{"TagKey": "gpuyard:health", "TagValue": "healthy"}]' in machine.calls()[-1]
    machine.says("tccli", '{"FailedResources": [{"Code": "UnauthorizedOperation"}]}', "TagResources")
    assert gate(machine) == 1
    assert "UnauthorizedOperation" in written(machine)["not_reported"][0]


def test_a_setting_that_is_missing_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUYARD_HEALTH_TAG", "1")
    monkeypatch.delenv("GPUYARD_CLOUD", raising=False)
    assert gate(machine) == 1
    assert "GPUYARD_CLOUD" in written(machine)["not_reported"][0]


def settles(machine: Machine) -> None:
    """A clock that finds its time server at the second question."""
    flag = machine.root / "asked"
    machine.lacks("timedatectl")
    path = machine.bin / "timedatectl"
    path.write_text(f"#!{machine.bin}/sh\n[ -e {flag} ] && echo NTPSynchronized=yes || : > {flag}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_what_a_fresh_node_needs_time_for_is_waited_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PAUSE_SECONDS", 0.05)
    settles(machine)
    assert {check.state for check in health.examine(str(machine.write_expected()), 30)} == {"pass"}


def test_broken_hardware_is_not_waited_for(machine: Machine) -> None:
    settles(machine)
    machine.lacks("df")
    start = time.monotonic()
    checks = health.examine(str(machine.write_expected()), 30)
    assert time.monotonic() - start < 10
    assert {check.id for check in checks if check.is_bad} == {"clock", "disk-room"}


def test_the_wait_has_an_end(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PAUSE_SECONDS", 0.05)
    machine.says("timedatectl", "NTPSynchronized=no\n")
    checks = health.examine(str(machine.write_expected()), 0.2)
    assert [check.id for check in checks if check.is_bad] == ["clock"]


def test_the_package_runs_as_a_program_of_the_node(machine: Machine) -> None:
    machine.write_expected()
    command = [sys.executable, "-m", "gpuyard.node", "health", "--no-report"]
    environment = {**os.environ, "PYTHONPATH": str(COMPONENTS)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "healthy"
    assert written(machine)["state"] == "healthy"
