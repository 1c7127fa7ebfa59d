"""A node that leaves: real processes with real signals, and stand-ins for the clouds' commands."""

import hashlib
import json
import os
import signal
import subprocess
import time
from typing import Any

import pytest

from .conftest import CLOUDS, STORES, URIS, Node, Promise, Promises

promises = Promises()
STEPS = ["jobs", "checkpoint", "terminate", "upload", "drain", "kill", "scaler"]


def has_ended(process: "subprocess.Popen[str]") -> bool:
    return process.poll() is not None


@promises(*CLOUDS)
def a_job_writes_a_last_checkpoint_which_is_in_the_bucket_before_the_end(node: Node) -> None:
    job = node.job("writes")
    assert node.run("leave", "--reason", "spot", "--seconds", "12") == 0
    left = node.read("left.json")
    assert (left["state"], left["reason"]) == ("done", "spot")
    assert left["checkpoint"] == {"name": "step-00000300", "new": True}
    assert [one["step"] for one in left["steps"] if one["step"] != "programs"] == STEPS
    assert left["took"] < 10
    assert has_ended(job)
    names = [f"step-00000300/rank{rank}.pt" for rank in range(3)]
    *sent, manifest, latest = node.uploads()
    assert sorted(sent) == names
    assert (manifest, latest) == ("step-00000300/manifest.json", "latest")
    held = node.bucket / URIS[node.cloud].partition("://")[2]
    for name in [*names, "step-00000300/manifest.json"]:
        assert (held / name).read_bytes() == (node.checkpoints / name).read_bytes()
    # The job may have been ended before it had its own 'latest' written: the node makes one of its own.
    digest = hashlib.sha256((held / "step-00000300/manifest.json").read_bytes()).hexdigest()
    pointer = {"format": 1, "step": 300, "name": "step-00000300", "manifest_sha256": digest}
    assert json.loads((held / "latest").read_text()) == pointer


@promises()
def each_cloud_has_its_command_with_the_nodes_own_role(node: Node) -> None:
    node.job("writes")
    node.run("leave", "--seconds", "6")
    assert all("--region region-1" in call for call in node.called("aws") if "s3 cp" in call)


@promises("alicloud")
def alibabas_command_goes_to_the_inner_address(node: Node) -> None:
    node.job("writes")
    node.run("leave", "--seconds", "6")
    inner = (
        "--mode Ali-EcsRamRole --ecs-role-name role-1 --region region-1 -e https://oss-region-1-internal.aliyuncs.com"
    )
    assert all(call.endswith(inner) for call in node.called("ossutil"))


@promises("tencentcloud")
def tencents_command_is_given_a_file_of_its_own(node: Node) -> None:
    node.job("writes")
    node.run("leave", "--seconds", "6")
    path = node.run_folder / "upload/cos.yaml"
    assert all(call.endswith(f"-e cos.region-1.myqcloud.com -c {path}") for call in node.called("coscli"))
    assert json.loads(path.read_text())["cos"]["base"] == {
        "mode": "CvmRole",
        "cvmrolename": "role-1",
        "protocol": "https",
    }


@promises(*CLOUDS)
def neither_manifest_nor_pointer_is_sent_when_one_file_failed(node: Node) -> None:
    node.job("writes")
    (node.root / "fail").write_text("rank1\n")
    assert node.run("leave", "--reason", "spot", "--seconds", "6") == 1
    assert not [name for name in node.uploads() if not name.endswith(".pt")]
    step = node.step("upload")
    assert step["state"] == "failed"
    assert "AccessDenied" in step["message"]
    assert STORES[node.cloud] in step["message"]
    assert [one["step"] for one in node.read("left.json")["steps"]][-3:] == ["drain", "kill", "scaler"]


@promises()
def the_pointer_is_not_sent_when_the_manifest_failed(node: Node) -> None:
    node.job("writes")
    (node.root / "fail").write_text("manifest\n")
    assert node.run("leave", "--seconds", "6") == 1
    assert node.uploads()[-1] == "step-00000300/manifest.json"
    assert not (node.bucket / "bucket/checkpoints/latest").exists()


@promises()
def a_torn_checkpoint_is_never_sent_and_the_last_complete_one_is(node: Node) -> None:
    node.job("tears")
    assert node.run("leave", "--reason", "spot", "--seconds", "4") == 1
    assert (node.checkpoints / "step-00000300/rank2.pt").exists()
    assert {name.partition("/")[0] for name in node.uploads()} == {"step-00000200", "latest"}
    assert node.read("left.json")["checkpoint"] == {"name": "step-00000200", "new": False}
    assert node.step("checkpoint")["message"] == "no new checkpoint in time"


@promises()
def a_link_in_the_place_of_a_file_is_not_followed(node: Node) -> None:
    node.job("deaf")
    # What root may read, and the one who runs the job may not.
    secret = node.root / "secret"
    secret.write_bytes(b"x" * 1000)
    (node.checkpoints / "step-00000200/rank0.pt").unlink()
    (node.checkpoints / "step-00000200/rank0.pt").symlink_to(secret)
    node.run("leave", "--now", "--seconds", "2")
    assert node.uploads() == []
    assert node.step("upload")["message"] == "no complete checkpoint"


@promises()
def what_is_in_the_bucket_is_not_sent_again(node: Node) -> None:
    node.job("deaf")
    held = node.bucket / "bucket/checkpoints"
    held.mkdir(parents=True)
    (held / "latest").write_bytes((node.checkpoints / "latest").read_bytes())
    node.run("leave", "--now", "--seconds", "2")
    assert node.step("upload")["message"] == "step-00000200 is there already"
    assert node.uploads() == []


@promises()
def latest_never_goes_back_to_a_lower_step(node: Node) -> None:
    node.job("writes")
    held = node.bucket / "bucket/checkpoints"
    held.mkdir(parents=True)
    ahead = {"format": 1, "step": 900, "name": "step-00000900", "manifest_sha256": "0" * 64}
    (held / "latest").write_text(json.dumps(ahead))
    assert node.run("leave", "--seconds", "6") == 0
    assert node.step("upload")["message"] == "step-00000300, 3 files; latest stays at step 900"
    assert node.uploads()[-1] == "step-00000300/manifest.json"
    assert json.loads((held / "latest").read_text()) == ahead


@promises()
def another_checkpoint_of_the_same_step_is_not_written_over(node: Node) -> None:
    node.job("writes")
    held = node.bucket / "bucket/checkpoints"
    held.mkdir(parents=True)
    (held / "latest").write_text(json.dumps({"step": 300, "name": "step-00000300", "manifest_sha256": "0" * 64}))
    assert node.run("leave", "--seconds", "6") == 1
    assert "another checkpoint of step 300" in node.step("upload")["message"]
    assert node.uploads() == []


@promises()
def a_linked_file_system_carries_the_files_itself(node: Node) -> None:
    node.settings["CHECKPOINT_LINKED"] = 1
    node.job("writes")
    assert node.run("leave", "--seconds", "6") == 0
    assert node.step("upload") | {"seconds": 0} == {
        "step": "upload",
        "state": "skipped",
        "message": "the file system is linked to the bucket",
        "seconds": 0,
    }
    assert node.read("left.json")["checkpoint"] == {"name": "step-00000300", "new": True}


@promises()
def a_job_that_hears_nothing_is_killed_only_when_the_time_is_over(node: Node) -> None:
    job = node.job("deaf")
    began = time.monotonic()
    assert node.run("leave", "--reason", "spot", "--seconds", "4") == 1
    assert 3 <= time.monotonic() - began < 6
    assert job.wait(1) == -signal.SIGKILL
    assert node.step("kill")["message"] == "killed: train"
    # The last complete one is safe all the same.
    assert node.uploads()[-1] == "latest"


@promises()
def a_job_that_knows_no_signal_does_not_die_of_being_asked(node: Node) -> None:
    job = node.job("polls")
    assert node.run("leave", "--reason", "spot", "--seconds", "6") == 0
    assert node.step("jobs")["message"] == "train: 0 processes heed SIGUSR1"
    assert job.wait(1) == -signal.SIGTERM
    assert node.read("left.json")["checkpoint"] == {"name": "step-00000300", "new": True}


@promises()
def only_those_processes_of_a_job_are_asked_that_heed_it(node: Node) -> None:
    node.job("writes")
    assert node.run("leave", "--seconds", "6") == 0
    assert node.step("jobs")["message"] == "train: 1 processes heed SIGUSR1"


@promises()
def a_checkpoint_that_is_written_at_the_end_of_the_job_is_sent_too(node: Node) -> None:
    node.job("late")
    node.run("leave", "--reason", "spot", "--seconds", "4")
    assert node.read("left.json")["checkpoint"] == {"name": "step-00000300", "new": True}
    assert node.uploads()[-1] == "latest"


@promises()
def a_job_can_say_itself_that_it_is_ready(node: Node) -> None:
    node.job("deaf")
    node.settings["CHECKPOINT_DIR"] = ""
    leaving = node.start("leave", "--reason", "spot", "--seconds", "9")
    node.until(lambda: node.read("left.json").get("steps"))
    time.sleep(0.3)
    assert [one["step"] for one in node.read("left.json")["steps"]] != STEPS
    assert node.run("release") == 0
    node.until(lambda: any(one["step"] == "checkpoint" for one in node.read("left.json")["steps"]), 3)
    assert node.step("checkpoint")["message"] == "released, or the jobs have ended"
    assert leaving.poll() is None


@promises()
def a_word_of_an_earlier_time_counts_no_more(node: Node) -> None:
    node.job("deaf")
    node.settings["CHECKPOINT_DIR"] = ""
    node.run("release")
    word = node.run_folder / f"jobs/released.{os.getuid()}"
    os.utime(word, (time.time() - 60, time.time() - 60))
    node.run("leave", "--seconds", "3")
    assert node.step("checkpoint")["state"] == "failed"


@promises()
def programs_are_told_the_reason_and_the_time(node: Node) -> None:
    told = node.root / "told"
    for name, text in {
        "10-tell": f'echo "$1 $2" >> {told}',
        "20-fails": "exit 3",
        "30-more": f"echo more >> {told}",
    }.items():
        program = node.root / "on-leave.d" / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    (node.root / "on-leave.d/README").write_text("no program")
    assert node.run("leave", "--reason", "maintenance", "--seconds", "6") == 1
    assert told.read_text().splitlines()[0] in ("maintenance 3", "maintenance 4")
    assert told.read_text().splitlines()[1:] == ["more"]
    assert node.step("programs")["message"] == "20-fails ended with 3: it said nothing"


@promises()
def a_program_that_hangs_keeps_no_job_from_its_checkpoint(node: Node) -> None:
    program = node.root / "on-leave.d/hangs"
    program.write_text("#!/bin/sh\nsleep 60\n")
    program.chmod(0o755)
    node.job("writes")
    assert node.run("leave", "--reason", "spot", "--seconds", "4") == 1
    assert node.step("programs")["message"] == "hangs took longer than 2 s"
    assert node.read("left.json")["checkpoint"] == {"name": "step-00000300", "new": True}
    assert node.uploads()[-1] == "latest"


@promises()
def a_second_run_does_nothing_while_one_works_and_after_it(node: Node) -> None:
    node.job("writes")
    (node.root / "slow").write_text("0.4")
    first = node.start("leave", "--reason", "spot", "--seconds", "8")
    node.until(lambda: node.read("left.json").get("steps"))
    second = node.start("leave", "--reason", "scale_in", "--seconds", "60")
    assert first.wait(10) == 0
    # It has waited: a hook's own command must not end before the node has left.
    assert second.wait(10) == 0
    assert node.read("leaving.json")["seconds"] == 8
    assert [one["step"] for one in node.read("left.json")["steps"] if one["step"] != "programs"] == STEPS
    before, calls = node.read("left.json"), node.calls.read_text()
    assert node.run("leave", "--reason", "spot", "--seconds", "8") == 0
    assert (node.read("left.json"), node.calls.read_text()) == (before, calls)
    assert "has left already" in node.log()


@promises()
def a_sooner_end_is_heard_while_one_works(node: Node) -> None:
    node.job("deaf")
    began = time.monotonic()
    first = node.start("leave", "--reason", "rebalance", "--seconds", "60")
    node.until(lambda: node.read("left.json").get("steps"))
    assert node.run("leave", "--reason", "spot", "--seconds", "3") == 0
    assert first.wait(10) == 1
    assert time.monotonic() - began < 8
    assert node.read("left.json")["reason"] == "spot"


@promises()
def who_waits_takes_up_what_breaks(node: Node) -> None:
    node.job("deaf")
    first = node.start("leave", "--reason", "rebalance", "--seconds", "30")
    node.until(lambda: node.read("left.json").get("steps"))
    second = node.start("leave", "--reason", "spot", "--seconds", "4")
    node.until(lambda: node.read("leaving.json")["reason"] == "spot")
    assert second.poll() is None
    os.killpg(first.pid, signal.SIGKILL)
    assert second.wait(10) == 1
    assert node.read("left.json")["state"] == "failed"
    assert node.uploads()[-1] == "latest"


@promises()
def one_that_was_killed_is_taken_up_again(node: Node) -> None:
    node.job("deaf")
    first = node.start("leave", "--reason", "spot", "--seconds", "5")
    node.until(lambda: node.read("leaving.json").get("before"))
    told = node.read("leaving.json")
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert node.run("leave", "--reason", "spot", "--seconds", "60") == 1
    assert {key: node.read("left.json")[key] for key in told} == told
    assert node.read("left.json")["state"] == "failed"
    assert node.uploads()[-1] == "latest"


@promises()
def a_missing_command_is_said_and_the_rest_goes_on(node: Node) -> None:
    node.job("writes")
    (node.bin / "aws").unlink()
    assert node.run("leave", "--reason", "spot", "--seconds", "6") == 1
    assert node.step("upload")["message"].startswith("aws cannot be run: No such file or directory")
    assert node.step("kill")["state"] == "done"


@promises()
def a_command_that_hangs_is_ended_with_the_time(node: Node) -> None:
    node.job("writes")
    (node.root / "slow").write_text("60")
    assert node.run("leave", "--reason", "spot", "--seconds", "3") == 1
    assert "took longer than" in node.step("upload")["message"]
    assert node.read("left.json")["took"] < 8


@promises()
def a_kubernetes_node_is_drained_within_its_time(node: Node) -> None:
    node.fake("kubectl", "echo 'cannot delete pods' >&2; exit 1")
    (node.root / "kubelet.conf").touch()
    node.settings |= {"KUBECONFIG": node.root / "kubelet.conf", "NODE_NAME": "node-1"}
    assert node.run("leave", "--reason", "spot", "--seconds", "5") == 1
    (call,) = node.called("kubectl")
    expected = f"--kubeconfig {node.root}/kubelet.conf drain node-1 --ignore-daemonsets --delete-emptydir-data --force"
    assert call.rpartition(" ")[0] == expected
    assert call.rpartition(" ")[2] in ("--timeout=3s", "--timeout=4s")
    assert node.step("drain")["message"] == "kubectl ended with 1: cannot delete pods"
    assert node.step("scaler")["state"] == "skipped"


@promises()
def a_node_without_jobs_leaves_at_once(node: Node) -> None:
    assert node.run("leave", "--reason", "scale_in", "--seconds", "900") == 0
    assert node.read("left.json")["took"] < 5
    assert node.step("checkpoint")["message"] == "no job to wait for"
    assert node.step("upload")["message"] == "no complete checkpoint"


@promises()
def a_directory_that_cannot_be_read_ends_neither_the_waiting_nor_the_rest(node: Node) -> None:
    node.job("deaf")
    node.settings["CHECKPOINT_DIR"] = node.root / "not-mounted"
    assert node.run("leave", "--reason", "spot", "--seconds", "3") == 1
    assert node.step("checkpoint")["seconds"] >= 1
    assert node.step("checkpoint")["message"].startswith("no new checkpoint in time: [Errno 2] No such file")
    assert "No such file" in node.step("upload")["message"]
    assert node.step("scaler")["state"] == "skipped"


@promises()
def a_wrong_word_is_refused(node: Node) -> None:
    for words in (["leave", "--seconds", "soon"], ["leave", "--seconds", "nan"], ["depart"], []):
        assert node.run(*words) == 2
    assert not node.read("leaving.json")


@promises()
def a_wrong_setting_is_named(node: Node) -> None:
    node.settings["CHECKPOINT_SECONDS"] = "soon"
    assert node.run("leave") == 2
    assert "GPUYARD_CHECKPOINT_SECONDS is 'soon': a number from 0 on is needed" in node.log()


@pytest.mark.parametrize("promise", promises.all, ids=lambda one: one.name)
def test_leaving(promise: Promise, outcomes: dict[str, Any]) -> None:
    outcomes[promise.name].result()
