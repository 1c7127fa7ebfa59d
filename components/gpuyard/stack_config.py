"""The cluster description of the current stack, with problems placed in its stack file."""

from pathlib import Path
from typing import Any

import pulumi

from gpuyard.planning.check import check_stack_file
from gpuyard.resources._common import ArgumentsError
from gpuyard.spec.problems import Problem, SpecError
from gpuyard.spec.stack_file import CLUSTER_KEY, read_stack_file


def read_cluster() -> Any:
    """The description under ``gpuyard:cluster`` of the stack that runs.

    It is checked whole first. Where the stack's file can be found below the project's root, each problem names its
    line.

    Returns:
        Plain data for TrainingCluster.

    Raises:
        ArgumentsError: There is no description, or it has problems.
    """
    path = _stack_file()
    if path is not None:
        shown = str(path.relative_to(pulumi.runtime.get_root_directory()))
        try:
            check_stack_file(read_stack_file(path, shown), pulumi.get_stack())
        except SpecError as error:
            raise ArgumentsError(error.problems) from None
    cluster = pulumi.Config("gpuyard").get_object("cluster")
    if cluster is None:
        remedy = f"Put it into the stack file under config: {CLUSTER_KEY}:"
        raise ArgumentsError([Problem((), f"stack '{pulumi.get_stack()}' has no cluster description.", remedy)])
    return cluster


def _stack_file() -> Path | None:
    root = Path(pulumi.runtime.get_root_directory())
    name = f"Pulumi.{pulumi.get_stack()}.yaml"
    return next((path for path in (root / "stacks" / name, root / name) if path.is_file()), None)
