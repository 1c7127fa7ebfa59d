"""What gpuyard adds to the engine's own time, as ratios measured in one run.

    python benchmarks/engine.py [rounds]

Two questions:
  1. A no-change update of aws-prod, against the same engine and sandbox with an empty program of as many resources:
     as many components, and as many resources of a provider without any property, registered without a cloud's SDK.
  2. A preview of aws-prod with the policy pack, against the same preview without.

Each command is a whole process, as a person starts it. The two sides of a ratio take turns, so that a machine that
slows down slows both.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
STACK = "aws-prod"
RUNNER = """
import sys
from pathlib import Path
from gpuyard.sandbox.engine import find_engine
from gpuyard.sandbox.session import Session
from gpuyard.sandbox.workspace import Workspace, read_project
root, stack, verb, pack = Path(sys.argv[1]), *sys.argv[2:5]
packs = [Path(pack)] if pack else []
flags = ["--yes"] if verb == "up" else []
parts = ("network", "node_pool", "file_system", "checkpoints", "snapshots")
mine = ["gpuyard.resources.cluster", *(f"gpuyard.clouds.aws.{part}" for part in parts)]
session = Session(Workspace(read_project(root), find_engine(print)), packs, [] if root.name == "empty" else mine)
outcome = session.run(stack, verb, *flags, capture=True)
if outcome.code:
    sys.exit(outcome.output)
"""
EMPTY = """
import pulumi
class Nothing(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("nothing:index:Nothing", name)
        self.register_outputs({{}})
class Raw(pulumi.CustomResource):
    pass
for number in range({components}):
    Nothing(f"nothing-{{number}}")
for number in range({custom}):
    Raw("aws:ec2/eip:Eip", f"raw-{{number}}", {{}})
"""


def timed(*arguments: str) -> float:
    """Seconds that one run of the runner takes as a whole process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", RUNNER, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def compare(title: str, limit: float, rounds: int, mine: list[str], floor: list[str]) -> bool:
    """Print the ratio of two commands, the median over the rounds; True when it keeps the limit."""
    timed(*mine), timed(*floor)
    pairs = [(timed(*mine), timed(*floor)) for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in pairs)
    a, b = (statistics.median(side) for side in zip(*pairs, strict=True))
    kept = ratio <= limit
    print(f"{title}: {a:.2f} s against {b:.2f} s, ratio {ratio:.2f} (at most {limit}): {'kept' if kept else 'MISSED'}")
    return kept


def main() -> int:
    """Run both comparisons."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    os.environ["PULUMI_OPTION_COLOR"] = "never"
    with tempfile.TemporaryDirectory() as folder:
        project, empty = Path(folder) / "project", Path(folder) / "empty"
        project.mkdir()
        shutil.copy(REPOSITORY / "Pulumi.yaml", project)
        for name in ("infra", "stacks"):
            shutil.copytree(REPOSITORY / name, project / name)
        timed(str(project), STACK, "up", "")
        custom, components = _count(project)
        empty.mkdir()
        (empty / "Pulumi.yaml").write_text("name: empty\nruntime: python\nmain: main.py\n")
        (empty / f"Pulumi.{STACK}.yaml").write_text("config:\n  aws:region: us-east-1\n")
        (empty / "main.py").write_text(EMPTY.format(custom=custom, components=components))
        timed(str(empty), STACK, "up", "")
        print(f"{custom} resources and {components} components, {rounds} rounds")
        kept = [
            compare(
                "no-change up over an empty program",
                2.0,
                rounds,
                [str(project), STACK, "up", ""],
                [str(empty), STACK, "up", ""],
            ),
            compare(
                "preview with the policy pack over without",
                1.3,
                rounds,
                [str(project), STACK, "preview", str(REPOSITORY / "policies")],
                [str(project), STACK, "preview", ""],
            ),
        ]
    return 0 if all(kept) else 1


def _count(project: Path) -> tuple[int, int]:
    from gpuyard.sandbox.engine import find_engine
    from gpuyard.sandbox.workspace import Workspace, read_project

    found = Workspace(read_project(project), find_engine(print)).state(STACK)["resources"]
    own = [one for one in found if not one["type"].startswith("pulumi:")]
    custom = sum(bool(one.get("custom")) for one in own)
    return custom, len(own) - custom


if __name__ == "__main__":
    sys.exit(main())
