"""The language host as a process: what it runs, and that it goes when the engine lets it go, and not before."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

# Says its arguments, and then something for every second that it is left alive.
PLUGIN = """
import sys, time
print("started with", *sys.argv[1:])
while True:
    time.sleep(0.05)
    print("alive")
"""
SOON_S = 4


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, "-m", "gpuyard.sandbox.host_process", "127.0.0.1:9"], stdout=subprocess.PIPE, text=True
    )
    yield started
    started.kill()
    started.wait()


@pytest.fixture
def host(process: subprocess.Popen[str]) -> Iterator[Any]:
    assert process.stdout is not None
    channel = grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}")
    yield language_pb2_grpc.LanguageRuntimeStub(channel)
    channel.close()


def request(folder: Path, kind: str) -> Any:
    (folder / "__main__.py").write_text(PLUGIN)
    info = language_pb2.ProgramInfo(root_directory=str(folder), program_directory=str(folder), entry_point=".")
    return language_pb2.RunPluginRequest(info=info, kind=kind, args=["ENGINE"], pwd=str(folder))


def test_a_host_that_runs_nothing_goes_at_once(process: subprocess.Popen[str], host: Any):
    process.send_signal(signal.SIGINT)
    assert process.wait(SOON_S) == 0


def test_a_plugin_outlives_the_interrupt_of_the_terminal_and_ends_with_its_call(
    process: subprocess.Popen[str], host: Any, tmp_path: Path
):
    running = host.RunPlugin(request(tmp_path, "resource"))
    assert next(running).stdout == b"started with ENGINE\n"
    process.send_signal(signal.SIGINT)
    assert {next(running).stdout for _ in range(20)} == {b"alive\n"}
    assert process.poll() is None
    running.cancel()
    assert process.wait(SOON_S) == 0


def test_a_plugin_of_another_kind_is_refused_by_name(host: Any, tmp_path: Path):
    with pytest.raises(grpc.RpcError) as caught:
        next(host.RunPlugin(request(tmp_path, "converter")))
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert caught.value.details() == "the stand-in language host runs no plugins of kind 'converter'"
