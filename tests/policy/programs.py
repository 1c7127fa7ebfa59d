"""Small Pulumi projects for tests, and stack reports made of findings."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from gpuyard.sandbox.workspace import read_project
from gpuyard_policy.evaluate import Evaluation
from gpuyard_policy.facts.model import Facts
from gpuyard_policy.report import StackReport
from gpuyard_policy.rules.rule import Finding
from gpuyard_policy.sources import Place, Source
from gpuyard_policy.sources.in_process import run_stack

BAD_MACHINE = """
    import pulumi_aws as aws
    tags = {"gpuyard:task": "lora", "gpuyard:environment": "dev"}
    aws.ec2.Instance("bad", instance_type="g5.12xlarge", ami="ami-1", tags=tags)
"""
GOOD_MACHINE = BAD_MACHINE.replace("g5.12xlarge", "p4d.24xlarge").replace('"bad"', '"good"')


def write_project(
    folder: Path,
    program: str,
    stacks: dict[str, str] | None = None,
    settings: str = "name: trial\nruntime: python\n",
) -> Path:
    """A project with a program and a stack file for each stack: ``dev`` in us-east-1, unless others are given."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Pulumi.yaml").write_text(settings, encoding="utf-8")
    (folder / "__main__.py").write_text(textwrap.dedent(program).lstrip("\n"), encoding="utf-8")
    for name, text in ({"dev": "config:\n  aws:region: us-east-1\n"} if stacks is None else stacks).items():
        (folder / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def run_program(folder: Path, stack: str = "dev") -> Source:
    return run_stack(read_project(folder), stack, folder)


def urn(name: str) -> str:
    return f"urn:pulumi:s::p::aws:ec2/instance:Instance::{name}"


def report(
    findings: Sequence[Finding],
    *,
    name: str = "aws-prod",
    facts: Facts | None = None,
    final: bool = False,
    strict: bool = True,
    notes: tuple[str, ...] = (),
) -> StackReport:
    """A report of findings, each resource at line 7 of the program, the stack at line 3 of its file."""
    evaluation = Evaluation(tuple(findings), "prod", 5, strict, facts or Facts(), ("FAB001", "STO001"))
    places = {one.urn: Place("infra/__main__.py", 7) for one in findings if one.urn is not None}
    return StackReport(name, evaluation, places, Place("stacks/Pulumi.aws-prod.yaml", 3), final, notes)
