"""How long ``gpuyard check`` takes: beside building the same objects, and beside checkov on an equivalent plan.

Run: ``python benchmarks/check.py [--checkov PROGRAM] [--resources N]``. checkov is no dependency of the project: put
it into an environment of its own (``python -m venv ck && ck/bin/pip install checkov``) and name its program; without
it that part is left out, and said to be. All figures of one run are of the same minutes on the same machine; the
processor's own time stands beside the clock's, which other work on the machine disturbs.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from gpuyard_policy.config import PackConfig
from gpuyard_policy.evaluate import evaluate
from gpuyard_policy.sources.plan import read_plan

ROOT = Path(__file__).parents[1]
STACK = "aws-dev"
PREFIX = "urn:pulumi:bench::bench::"
PROVIDER = f"{PREFIX}pulumi:providers:aws::default::04da6b54-80e4-46f7-96ec-b56ff0331ba9"
TEMPLATE, GROUP = "aws:ec2/launchTemplate:LaunchTemplate", "aws:autoscaling/group:Group"
BUCKET, VOLUME = "aws:s3/bucket:Bucket", "aws:ebs/volume:Volume"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
# What the interpreter does in any case: read the plan and hold an object for each of its resources.
FLOOR = """
import json, sys
from gpuyard_policy.facts import Record
with open(sys.argv[1], encoding="utf-8") as file:
    steps = json.load(file)["steps"]
states = [step["newState"] for step in steps]
records = [Record(one["urn"], one["type"], one["urn"].split("::")[3], dict(one["inputs"])) for one in states]
print(len(records))
"""
# A service of the SDK is loaded when one of its resources is named.
IMPORTS = "import pulumi, pulumi_aws as aws; aws.autoscaling.Group, aws.ec2.Vpc, aws.iam.Role, aws.s3.Bucket"
CHECKOV_TARGET, RULE_BUDGET_S = 50, 1.0


def tags(number: int) -> dict[str, str]:
    """Tags as gpuyard's own resources carry them; a hundred resources make a cluster."""
    return {"gpuyard:cluster": f"c{number // 100}", "gpuyard:task": "pretrain", "gpuyard:environment": "prod"}


def resources(count: int) -> Iterator[tuple[str, str, dict[str, Any], dict[str, list[str]]]]:
    """Raw resources: a quarter each of launch templates, groups that use them, buckets and disks."""
    for number in range(0, count, 4):
        template = f"{PREFIX}{TEMPLATE}::t{number}"
        kind = "g5.12xlarge" if number % 400 == 0 else "p4d.24xlarge"
        disks = [{"deviceName": "/dev/sda1", "ebs": {"encrypted": "true", "volumeSize": 200, "volumeType": "gp3"}}]
        metadata = {"httpTokens": "required", "httpEndpoint": "enabled"}
        own = {"instanceType": kind, "imageId": "ami-0123456789abcdef0", "blockDeviceMappings": disks}
        yield TEMPLATE, f"t{number}", {**own, "metadataOptions": metadata, "tags": tags(number)}, {}
        group = {"minSize": 4, "maxSize": 4, "launchTemplate": {"id": UNKNOWN, "version": "1"}}
        zones = {"availabilityZones": ["us-east-1a"]}
        yield GROUP, f"g{number}", {**group, **zones}, {"launchTemplate": [template]}
        yield BUCKET, f"b{number}", {"bucket": f"data-{number}", "tags": tags(number)}, {}
        volume = {"availabilityZone": "us-east-1a", "size": 500, "type": "gp3", "encrypted": True}
        yield VOLUME, f"v{number}", {**volume, "tags": tags(number)}, {}


def pulumi_plan(count: int) -> dict[str, Any]:
    """A preview's digest of so many resources."""
    steps = [
        {
            "op": "create",
            "urn": f"{PREFIX}{kind}::{name}",
            "newState": {
                "urn": f"{PREFIX}{kind}::{name}",
                "custom": True,
                "type": kind,
                "inputs": props,
                "provider": PROVIDER,
                "propertyDependencies": depends_on,
            },
        }
        for kind, name, props, depends_on in resources(count)
    ]
    return {"config": {"aws:region": "us-east-1"}, "steps": steps, "changeSummary": {"create": len(steps)}}


def terraform_plan(count: int) -> dict[str, Any]:
    """The same resources as ``terraform show -json`` writes them."""
    types = {
        TEMPLATE: "aws_launch_template",
        GROUP: "aws_autoscaling_group",
        BUCKET: "aws_s3_bucket",
        VOLUME: "aws_ebs_volume",
    }
    planned: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    configured: list[dict[str, Any]] = []
    for kind, name, props, _ in resources(count):
        values = _snake({key: value for key, value in props.items() if key != "launchTemplate"})
        head = {"address": f"{types[kind]}.{name}", "mode": "managed", "type": types[kind], "name": name}
        provider = {"provider_name": "registry.terraform.io/hashicorp/aws"}
        planned.append({**head, **provider, "schema_version": 0, "values": values})
        change = {"actions": ["create"], "before": None, "after": values, "after_unknown": {}}
        changes.append({**head, **provider, "change": change})
        configured.append({**head, "provider_config_key": "aws", "expressions": {}, "schema_version": 0})
    return {
        "format_version": "1.2",
        "terraform_version": "1.9.0",
        "planned_values": {"root_module": {"resources": planned}},
        "resource_changes": changes,
        "configuration": {"root_module": {"resources": configured}},
    }


def run(command: list[str], *, allowed: tuple[int, ...] = (0,)) -> tuple[float, float]:
    """Seconds by the clock, and of the processor, that a whole process takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in allowed:
        raise SystemExit(f"{command[:4]} ended with {done.returncode}:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(command: list[str], runs: int, *, allowed: tuple[int, ...] = (0,)) -> tuple[float, float]:
    """The quickest of several runs, by the processor's time."""
    return min((run(command, allowed=allowed) for _ in range(runs)), key=lambda pair: pair[1])


def rule_seconds(plan: Path) -> float:
    """Processor time of all rules over a plan, its resources at hand."""
    source = read_plan(plan)
    times: list[float] = []
    for _ in range(3):
        start = time.process_time()
        found = evaluate(source.records, PackConfig(), today=date(2026, 12, 1))
        times.append(time.process_time() - start)
        assert found.judged == len(source.records), "the benchmark must judge every resource"
        assert not found.broken, "a rule or a reader that broke is quick for the wrong reason"
    return min(times)


def main() -> int:
    """Measure and print; the exit code says whether the targets were met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkov", help="checkov's program")
    parser.add_argument("--resources", type=int, default=10_000)
    given = parser.parse_args()
    count: int = given.resources
    met = True
    with tempfile.TemporaryDirectory() as folder:
        plans = {size: Path(folder) / f"pulumi-{size}.json" for size in (count // 10, count)}
        for size, path in plans.items():
            path.write_text(json.dumps(pulumi_plan(size)), encoding="utf-8")
        large, small = rule_seconds(plans[count]), rule_seconds(plans[count // 10])
        met &= large < RULE_BUDGET_S * count / 10_000
        print(f"rules over {count:,} resources: {large:.2f} s of the processor; {large / small:.1f} × those of a tenth")
        floor = best([sys.executable, "-c", FLOOR, str(plans[count])], 3)
        command = [sys.executable, "-m", "gpuyard.cli.main", "check", "--plan", str(plans[count])]
        mine = best(command, 3, allowed=(0, 1))
        print(f"gpuyard check --plan, whole process: {_both(mine)}; {mine[1] / floor[1]:.1f} × building the objects")
        if given.checkov:
            met &= _beside_checkov(given.checkov, Path(folder) / "tfplan.json", count, mine)
        else:
            print("checkov: left out, since --checkov names none")
    imports = best([sys.executable, "-c", IMPORTS], 3)
    one = best([sys.executable, "-m", "gpuyard.cli.main", "check", STACK], 3, allowed=(0, 1))
    print(f"gpuyard check {STACK}: {_both(one)}; {one[1] / imports[1]:.2f} × importing pulumi and its SDK's services")
    return 0 if met else 1


def _beside_checkov(program: str, path: Path, count: int, mine: tuple[float, float]) -> bool:
    path.write_text(json.dumps(terraform_plan(count)), encoding="utf-8")
    command = [
        program,
        "-f",
        str(path),
        "--framework",
        "terraform_plan",
        "--quiet",
        "--compact",
        "--skip-download",
        "-o",
        "json",
    ]
    theirs = run(command, allowed=(0, 1))
    ratio = theirs[1] / mine[1]
    print(f"checkov, whole process: {_both(theirs)}; {ratio:.0f} × gpuyard check (target {CHECKOV_TARGET} ×)")
    return ratio >= CHECKOV_TARGET


def _both(times: tuple[float, float]) -> str:
    return f"{times[0]:.2f} s ({times[1]:.2f} s of the processor)"


def _snake(value: Any) -> Any:
    if isinstance(value, dict):
        # Terraform writes a block as a list of one, and keys of tags as they are.
        return {
            _snake_word(key): inner if key == "tags" else [_snake(inner)] if isinstance(inner, dict) else _snake(inner)
            for key, inner in value.items()
        }
    return [_snake(item) for item in value] if isinstance(value, list) else value


def _snake_word(word: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in word)


if __name__ == "__main__":
    sys.exit(main())
