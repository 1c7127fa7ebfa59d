"""The settings of a project: which file is read, and what is said of a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuyard.spec.problems import SpecError
from gpuyard_policy.config import PackConfig
from gpuyard_policy.settings_file import FILE_NAME, VARIABLE, project_settings


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(VARIABLE, raising=False)
    root = tmp_path / "outer" / "project"
    (root / "infra").mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
    return root


def test_without_a_file_everything_keeps_its_default(project: Path) -> None:
    assert project_settings(project / "infra") == PackConfig()


def test_the_file_beside_the_project_is_found_from_its_program(project: Path) -> None:
    (project / FILE_NAME).write_text("profile: staging\n")
    assert project_settings(project / "infra").profile == "staging"


def test_the_file_of_an_outer_folder_is_not_the_projects(project: Path) -> None:
    (project.parent / FILE_NAME).write_text("profile: staging\n")
    assert project_settings(project / "infra").profile is None


def test_the_file_that_the_variable_names_comes_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / FILE_NAME).write_text("profile: staging\n")
    other = project / "other.yaml"
    other.write_text("profile: dev\n")
    monkeypatch.setenv(VARIABLE, str(other))
    assert project_settings(project).profile == "dev"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("profile: [", "is no YAML"),
        ("profil: dev", "Did you mean 'profile'?"),
        ("rules: {FAB999: {level: advisory}}", "there is no rule 'FAB999'."),
        ("rules: {FAB001: {thresholds: {x: 1}}}", "FAB001 has no threshold 'x'."),
        ("suppressions: [{rule: FAB001, resource: a, reason: short}]", "reason"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(project: Path, text: str, message: str) -> None:
    (project / FILE_NAME).write_text(text)
    with pytest.raises(SpecError) as raised:
        project_settings(project)
    told = " ".join(str(one) for one in raised.value.problems)
    assert message in told
    assert FILE_NAME in told


def test_a_named_file_that_is_not_there_is_an_error(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(project / "gone.yaml"))
    with pytest.raises(SpecError, match="cannot be read"):
        project_settings(project)
