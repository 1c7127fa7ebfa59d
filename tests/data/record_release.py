"""Record what a release made of the production stacks, for the test that upgrades it to the present code.

    git worktree add build/release v0.1.0
    export PYTHONPATH=build/release/components
    .venv/bin/python tests/data/record_release.py build/release tests/data/release-0.1.0
    git worktree remove build/release

For each stack it writes the stack file as it was and the state as ``pulumi stack export`` gives it, compressed. In the
sandbox the state says all that the simulated cloud knows, so that the cloud is made from it again.
"""

import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import gpuyard
from gpuyard.sandbox.engine import find_engine
from gpuyard.sandbox.session import Session
from gpuyard.sandbox.workspace import Workspace, read_project

# The key of a wrapped value in a state, such as a secret; written out, as a release need not have it where we do.
SIGNATURE = "4dabf18193072939515e22adb298388d"
STACKS = ("aws-prod", "alicloud-prod", "tencentcloud-prod")
# Where the program's lines were on the machine that recorded: they say nothing of the release.
PLACES_IN_CODE = ("sourcePosition", "stackTrace")


def record(release: Path, target: Path, sandbox: Path) -> None:
    """Make every stack with the release's code, and write what the engine recorded of it."""
    target.mkdir(parents=True, exist_ok=True)
    project = read_project(release)
    for stack in STACKS:
        session = Session(Workspace(project, find_engine(print), sandbox))
        outcome = session.run(stack, "up", "--yes", "--skip-preview", capture=True)
        if outcome.code != 0:
            sys.exit(outcome.output)
        deployment = session.workspace.state(stack)
        for resource in deployment["resources"]:
            for key in PLACES_IN_CODE:
                resource.pop(key, None)
        export: dict[str, Any] = {"version": 3, "deployment": deployment}
        text = json.dumps(export, separators=(",", ":"), ensure_ascii=False)
        if SIGNATURE in text:
            sys.exit(f"{stack} holds secrets: their values would have to be recorded apart from the state.")
        # No time in the file: the same state is the same bytes.
        (target / f"{stack}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        shutil.copy(project.stack_file(stack), target)
        print(f"{stack}: {len(deployment['resources'])} resources")


def main() -> None:
    """Record the release whose folder and whose target are given."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    release, target = (Path(argument).resolve() for argument in sys.argv[1:])
    used = Path(gpuyard.__file__).resolve()
    if not used.is_relative_to(release):
        sys.exit(f"{used} is not the release's own code. Set PYTHONPATH={release}/components")
    with tempfile.TemporaryDirectory() as sandbox:
        record(release, target, Path(sandbox))


if __name__ == "__main__":
    main()
