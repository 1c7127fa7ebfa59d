"""A node in a folder: its own Python tree, its settings, stand-ins for the clouds' commands, and a metadata service."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

# Another interpreter tries another version of Python: GPUYARD_TEST_PYTHON=~/.pyenv/versions/3.6.15/bin/python.
PYTHON = os.environ.get("GPUYARD_TEST_PYTHON", sys.executable)
CLOUDS = ("aws", "alicloud", "tencentcloud")
TOKENS = {"aws": "X-aws-ec2-metadata-token", "alicloud": "X-aliyun-ecs-metadata-token"}
URIS = {
    "aws": "s3://bucket/checkpoints",
    "alicloud": "oss://bucket/checkpoints",
    "tencentcloud": "cos://b-1/checkpoints",
}
STORES = {"aws": "aws", "alicloud": "ossutil", "tencentcloud": "coscli"}

# A bucket is a folder. What 'fail' matches is refused, and every call is noted in its order.
STORE = """#!/bin/bash
name=${{0##*/}}
echo "$name $*" >> "{calls}"
case $name in
  aws) [ "$1" = s3 ] || exec "{scaler}" "$@"; shift 2 ;;
  *) [ "$1" = cat ] && set -- "$2" -; [ "$1" = cp ] && shift; [ "$1" = -f ] && shift ;;
esac
if [ "$2" = - ]; then
  [ -e "{bucket}/${{1#*://}}" ] && cat "{bucket}/${{1#*://}}" && echo && echo "0.088092(s) elapsed"
  exit
fi
if [ -s "{fail}" ] && grep -qEf "{fail}" <<< "$2"; then
  echo "AccessDenied: $2" >&2
  exit 1
fi
[ ! -s "{slow}" ] || sleep "$(cat "{slow}")"
to={bucket}/${{2#*://}}
[ -d "${{to%/*}}" ] || mkdir -p "${{to%/*}}"
exec cp "$1" "$to"
"""

# A training program: it writes checkpoints by the node's own module, and has a worker that knows no signals.
JOB = """
import os, signal, subprocess, sys, time
from gpuyard.node import checkpoints
kind, directory = sys.argv[1:]
step = [100]
def save(torn=False):
    step[0] += 100
    folder = checkpoints.begin(directory, step[0])
    for rank in range(3):
        with open(os.path.join(folder, "rank%d.pt" % rank), "wb") as file:
            file.write(b"x" * 1000 * (rank + 1))
            file.flush()
            os.fsync(file.fileno())
    if torn:
        os.rename(folder, os.path.join(directory, "step-%08d" % step[0]))
    else:
        checkpoints.commit(folder)
def on_write(sign, frame):
    save(torn=kind == "tears")
if kind in ("writes", "tears"):
    signal.signal(signal.SIGUSR1, on_write)
if kind == "deaf":
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if kind == "late":
    signal.signal(signal.SIGTERM, lambda *_: (save(), sys.exit(0)))
worker = subprocess.Popen(["sleep", "60"])
save()
print("ready", flush=True)
leaving = os.path.join(os.environ["GPUYARD_RUN"], "leaving.json")
while True:
    if kind == "polls" and os.path.exists(leaving):
        save()
        kind = "done"
    time.sleep(0.02)
"""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asks hangs up when an answer takes too long, and that is no error here."""


class Service:
    """A metadata service on loopback. An answer is a text, a status, or what does as it likes with the request."""

    def __init__(self, cloud: str) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self.tokens: list[str] = []  # Those that it has given; without one of them it refuses.
        self.given = 0
        header = TOKENS.get(cloud)
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                if header is None or self.path != "/latest/api/token" or not self.headers[f"{header}-ttl-seconds"]:
                    return self.answer(405, b"")
                service.given += 1
                service.tokens.append(str(service.answers.get("token", f"token-{service.given}")))
                return self.answer(200, service.tokens[-1].encode())

            def do_GET(self) -> None:
                path = self.path.removeprefix("/latest/meta-data/")
                service.asked.append(path)
                if header is not None and self.headers[header] not in service.tokens:
                    return self.answer(401, b"<html>Unauthorized</html>")
                found: Any = service.answers.get(path, 404)
                if callable(found):
                    found = cast(Any, found(self))
                if isinstance(found, int):
                    return self.answer(found, b"<html>an error</html>")
                return None if found is None else self.answer(200, found.encode())

            def answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Node:
    """A node of one cloud, with time that runs faster."""

    def __init__(self, root: Path, cloud: str, service: Service, tree: Path) -> None:
        self.root, self.cloud, self.service, self._tree = root, cloud, service, tree
        self.run_folder, self.checkpoints = root / "run", root / "checkpoints"
        self.bin, self.bucket, self.calls = root / "bin", root / "bucket", root / "calls"
        for folder in (self.run_folder / "jobs", self.checkpoints, self.bin, root / "on-leave.d"):
            folder.mkdir(parents=True)
        self.calls.touch()
        self.settings: dict[str, object] = {
            "CLOUD": cloud,
            "REGION": "region-1",
            "CHECKPOINT_URI": URIS[cloud],
            "CHECKPOINT_DIR": self.checkpoints,
            "CHECKPOINT_SECONDS": 5,
            "NOTICE_SECONDS": 12,
            "MARGIN_SECONDS": 1.5,
            "WATCH_SECONDS": 0.1,
            "POLL_SECONDS": 0.05,
            "METADATA_SECONDS": 0.4,
            "PAUSE": 0.05,
            "ON_LEAVE": root / "on-leave.d",
            "METADATA": service.url,
        }
        fields = {name: root / name for name in ("fail", "slow", "bucket", "calls")}
        for name in STORES.values():
            self.fake(name, STORE.format(scaler=self.bin / "aws-scaler", **fields))
        self._started: list[subprocess.Popen[str]] = []

    def fake(self, name: str, text: str) -> None:
        """A command of the node's own; with no first line it notes its call and does what the text says."""
        if not text.startswith("#!"):
            text = f'#!/bin/bash\necho "{name} $*" >> "{self.calls}"\n{text}\n'
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def environment(self) -> dict[str, str]:
        told = self.root / "node.env"
        told.write_text("".join(f"GPUYARD_{name}='{value}'\n" for name, value in self.settings.items()))
        return {
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "PYTHONPATH": str(self._tree),
            "GPUYARD_ENV": str(told),
            "GPUYARD_RUN": str(self.run_folder),
            # What must not be asked for what is on the machine itself.
            "http_proxy": "http://127.0.0.1:9",
        }

    def start(self, *words: str) -> subprocess.Popen[str]:
        """A verb that goes on."""
        return self._start([PYTHON, "-Sm", "gpuyard.node", *words])

    def run(self, *words: str) -> int:
        """A verb to its end; its code."""
        return self.start(*words).wait(timeout=20)

    def job(self, kind: str, name: str = "train") -> subprocess.Popen[str]:
        """A training program that has written its first checkpoint and said that it runs."""
        job = self._start([PYTHON, "-Sc", JOB, kind, str(self.checkpoints)], stdout=subprocess.PIPE)
        assert job.stdout is not None
        assert job.stdout.readline() == "ready\n"
        (self.run_folder / f"jobs/{name}.pid").write_text(f"{job.pid}\n")
        return job

    def _start(self, words: list[str], **more: Any) -> subprocess.Popen[str]:
        with (self.root / "log").open("a") as log:
            started = subprocess.Popen(
                words, env=self.environment(), stderr=log, start_new_session=True, text=True, cwd="/", **more
            )
        self._started.append(started)
        return started

    def read(self, name: str) -> dict[str, Any]:
        """What a file of the node says, nothing while there is none."""
        path = self.run_folder / name
        return json.loads(path.read_text()) if path.exists() else {}

    def processes(self, verb: str) -> list[Path]:
        """Where the system tells of this node's processes of one verb."""
        told, found = f"GPUYARD_RUN={self.run_folder}".encode(), []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                words = (path / "cmdline").read_bytes().split(b"\0")
                if verb.encode() in words and told in (path / "environ").read_bytes().split(b"\0"):
                    found.append(path)
            except OSError:
                continue
        return found

    def log(self) -> str:
        return (self.root / "log").read_text()

    def called(self, name: str) -> list[str]:
        """The calls of one command, without its name."""
        return [line.partition(" ")[2] for line in self.calls.read_text().splitlines() if line.split()[0] == name]

    def uploads(self) -> list[str]:
        """What was sent, in its order, below the folder of the checkpoints."""
        place = URIS[self.cloud] + "/"
        words = [line.split() for line in self.called(STORES[self.cloud])]
        return [to.removeprefix(place) for line in words if "cp" in line for to in line[2:5] if self._is_sent(line, to)]

    @staticmethod
    def _is_sent(line: list[str], to: str) -> bool:
        return "://" in to and line[line.index(to) - 1].startswith("/") and "-" not in line

    def step(self, name: str) -> dict[str, Any]:
        """What became of one step of leaving."""
        return next(one for one in self.read("left.json")["steps"] if one["step"] == name)

    def until(self, holds: Callable[[], Any], seconds: float = 15) -> None:
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, f"{self.log()}\n{self.calls.read_text()}"
            time.sleep(0.02)

    def close(self) -> None:
        for started in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
            if started.stdout:
                started.stdout.close()
        # What the watcher has started has a session of its own.
        for path in self.run_folder.glob("*.lock"):
            self.until(lambda path=path: _is_free(path), 10)


def _is_free(path: Path) -> bool:
    return subprocess.run(["flock", "-n", str(path), "true"]).returncode == 0


class Promise(NamedTuple):
    """A test that runs alongside others: most of its time it waits for processes."""

    name: str
    cloud: str
    kept_by: Callable[[Node], None]

    def run(self, root: Path, tree: Path) -> None:
        """Try it on a node of its own, with the Python tree of all."""
        service = Service(self.cloud)
        service.answers |= dict.fromkeys(("ram/security-credentials/", "cam/security-credentials/"), "role-1")
        service.answers["instance-id"] = "i-1"
        node = Node(root, self.cloud, service, tree)
        try:
            self.kept_by(node)
        finally:
            node.close()
            service.close()


class Promises:
    """The promises of one module, each for one cloud or more."""

    def __init__(self) -> None:
        self.all: list[Promise] = []

    def __call__(self, *clouds: str) -> Callable[[Callable[[Node], None]], Callable[[Node], None]]:
        def noted(kept_by: Callable[[Node], None]) -> Callable[[Node], None]:
            self.all += [Promise(f"{kept_by.__name__}-{cloud}", cloud, kept_by) for cloud in clouds or ("aws",)]
            return kept_by

        return noted


@pytest.fixture(scope="session")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Every chosen promise, tried at the same time as the others."""
    specs: list[Any] = [getattr(item, "callspec", None) for item in request.session.items]
    chosen = [spec.params.get("promise") for spec in specs if spec]
    promises = [one for one in chosen if isinstance(one, Promise)]
    # As on a node: without the rest of the package.
    tree = tmp_path_factory.mktemp("python")
    shutil.copytree(str(files("gpuyard.node")), tree / "gpuyard/node", ignore=shutil.ignore_patterns("__pycache__"))
    with ThreadPoolExecutor(12) as pool:
        yield {one.name: pool.submit(one.run, tmp_path_factory.mktemp("node"), tree) for one in promises}
