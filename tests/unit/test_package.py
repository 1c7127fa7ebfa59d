"""The package: its public names, and pure parts that need no Pulumi."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from semver import Version

import gpuyard

REPOSITORY = Path(__file__).parents[2]

PURE = (
    "gpuyard",
    "gpuyard.spec",
    "gpuyard.spec.stack_file",
    "gpuyard.catalog",
    "gpuyard.planning",
    "gpuyard.planning.check",
    "gpuyard_policy.rules",
    "gpuyard_policy.facts",
)


@pytest.mark.parametrize("name", gpuyard.__all__)
def test_every_public_name_resolves(name: str):
    found = getattr(gpuyard, name)
    assert found is not None
    assert name == "__version__" or found.__name__ == name


def test_public_names_are_sorted_and_unique():
    assert gpuyard.__all__ == sorted(set(gpuyard.__all__), key=lambda name: (name == "__version__", name))


def test_the_version_is_the_distributions():
    assert gpuyard.__version__ == version("gpuyard")


def test_the_version_is_written_once_and_is_the_newest_of_the_changelog():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(), flags=re.M)
    assert newest
    assert newest[1] == project["version"] == gpuyard.__version__
    assert str(Version.parse(project["version"])) == project["version"], "not a semantic version"
    written = [
        path for path in (REPOSITORY / "components" / "gpuyard").rglob("*.py") if "__version__ =" in path.read_text()
    ]
    assert not written


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'gpuyard' has no attribute 'GpuNodePol'"):
        gpuyard.GpuNodePol  # noqa: B018 - asking for the name is the test


def test_every_component_has_its_arguments_beside_it():
    components = [name for name in gpuyard.__all__ if f"{name}Args" in gpuyard.__all__]
    assert len(components) == 7
    for name in components:
        assert getattr(gpuyard, name).__init__.__annotations__["args"] is getattr(gpuyard, f"{name}Args")


@pytest.mark.parametrize("module", ["gpuyard.spec", "gpuyard.catalog"])
def test_what_a_pure_package_offers_exists(module: str):
    found = import_module(module)
    assert found.__all__
    assert all(hasattr(found, name) for name in found.__all__)


def loaded(*modules: str) -> set[str]:
    """Top-level packages that a fresh interpreter holds after an import."""
    code = f"import {', '.join(modules)}, sys; print('\\n'.join({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_spec_catalog_planning_and_rules_import_no_pulumi():
    found = loaded(*PURE)
    assert {"gpuyard", "gpuyard_policy", "pydantic"} <= found
    assert {name for name in found if name.startswith("pulumi")} == set()
    assert "grpc" not in found


@pytest.mark.parametrize("module", PURE)
def test_no_pure_part_needs_another_cloud_sdk(module: str):
    assert not {"pulumi_aws", "pulumi_alicloud", "tencentcloud_iac_pulumi", "botocore"} & loaded(module)


def test_importing_a_component_imports_no_cloud_sdk():
    assert "pulumi" in loaded("gpuyard.resources.cluster")
    assert "pulumi_aws" not in loaded("gpuyard.resources.cluster")
