from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from gpuyard.spec import ClusterSpec, SpecError, parse_spec
from tests.changes import apply_changes

STACKS = Path(__file__).parents[3] / "stacks"
SMALLEST: dict[str, Any] = {
    "cloud": "aws",
    "region": "us-east-1",
    "zone": "us-east-1a",
    "environment": "dev",
    "node_pools": {"train": {"gpu": "A10", "nodes": 1}},
}

Described = Callable[..., dict[str, Any]]
Messages = Callable[[object], list[str]]


@pytest.fixture
def described() -> Described:
    """The smallest cluster description with values set at dotted paths; ``...`` takes a key out."""

    def build(changes: dict[str, Any]) -> dict[str, Any]:
        data = deepcopy(SMALLEST)
        apply_changes(data, changes)
        return data

    return build


@pytest.fixture
def messages() -> Messages:
    """Every problem of a description as people read it; none when it is right."""

    def collect(data: object) -> list[str]:
        try:
            parse_spec(ClusterSpec, data)
        except SpecError as error:
            return [str(problem) for problem in error.problems]
        return []

    return collect


@pytest.fixture
def prod_text() -> str:
    """The text of the real ``aws-prod`` stack file."""
    return (STACKS / "Pulumi.aws-prod.yaml").read_text(encoding="utf-8")


@pytest.fixture
def stack_file(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """A stack file with a given content."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "Pulumi.trial.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
