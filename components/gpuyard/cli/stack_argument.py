"""A stack that a person names: by its name in a project, or by its file."""

import re
from pathlib import Path

from gpuyard.planning.check import check_stack_file
from gpuyard.planning.plans import ClusterPlan
from gpuyard.spec.problems import Problem, SpecError
from gpuyard.spec.stack_file import StackFile, read_stack_file

_FILE_NAME = re.compile(r"Pulumi\.([A-Za-z0-9_.-]+)\.ya?ml")


def stack_plan(stack: str, program: Path) -> tuple[StackFile, ClusterPlan]:
    """The file and the plan of a stack.

    Args:
        stack: A name such as ``aws-prod``, or a path such as ``stacks/Pulumi.aws-prod.yaml``.
        program: Folder with the project, for a name.

    Returns:
        Both.

    Raises:
        SpecError: There is no such stack, or it cannot be planned.
    """
    if stack.endswith((".yaml", ".yml")):
        path = Path(stack)
        if not path.is_file():
            raise SpecError([Problem((), f"there is no file '{stack}'.", "Name a stack, or the file of one.")])
    else:
        from gpuyard.sandbox.workspace import read_project

        path = read_project(program).stack_file(stack)
    file = read_stack_file(path, stack if path == Path(stack) else path.name)
    return file, check_stack_file(file, stack_name(path))


def stack_name(path: Path) -> str:
    """The stack that a file is of; the file's own name where it is not named as stack files are."""
    match = _FILE_NAME.fullmatch(path.name)
    return match[1] if match else path.stem
