"""What a session prepares before the engine runs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from gpuyard.sandbox.schema import sdk_module
from gpuyard.sandbox.session import SERVICES, SIMULATED, clouds_named_in


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("config:\n  aws:region: us-east-1\n", ["aws"]),
        ('config:\n  "alicloud:region": cn-beijing\n  aws:region: us-east-1\n', ["aws", "alicloud"]),
        ("config:\n  gpuyard:cluster:\n    cloud: tencentcloud\n", ["tencentcloud"]),
        ("config:\n  gpuyard:cluster: {cloud: 'alicloud', region: cn-beijing}\n", ["alicloud"]),
        ("config:\n  mine:note: aws is not here\n  mine:cloud_name: awsome\n", []),
        ("[ no yaml", []),
        ("", []),
    ],
)
def test_only_the_clouds_that_a_stack_names_are_loaded_ahead(tmp_path: Path, text: str, named: list[str]) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(text)
    assert clouds_named_in(file) == named


@pytest.mark.parametrize("package", SIMULATED)
def test_every_service_that_is_loaded_ahead_is_one_of_the_sdk(package: str) -> None:
    assert SERVICES[package]
    assert [name for name in SERVICES[package] if find_spec(f"{sdk_module(package)}.{name}") is None] == []
