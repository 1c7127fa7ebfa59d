"""The file in which a project sets the pack: the one that is named, or the one beside the project."""

import os
from pathlib import Path
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from gpuyard.spec.problems import Problem, SpecError
from gpuyard_policy.checking import settings_problems
from gpuyard_policy.config import PackConfig, parse_config

VARIABLE = "GPUYARD_POLICY_CONFIG"
FILE_NAME = "gpuyard-policy.yaml"


def project_settings(start: Path) -> PackConfig:
    """The settings of a project.

    Args:
        start: The folder of the project or of its program, which the engine starts a policy pack in.

    Returns:
        What the file says that ``GPUYARD_POLICY_CONFIG`` names, else ``gpuyard-policy.yaml`` in that folder or one
        above it, up to the project's own; the defaults where there is none.

    Raises:
        SpecError: The file cannot be read, or names what does not exist; with every problem.
    """
    path = _settings_file(start)
    return PackConfig() if path is None else _read(path)


def settings_of(data: Any, path: Path) -> PackConfig:
    """The settings that the content of a file says.

    Args:
        data: The content; None for an empty file.
        path: The file, for the problems.

    Returns:
        The settings.

    Raises:
        SpecError: A key or value is wrong, or it names a rule or threshold that does not exist; with every problem.
    """
    try:
        settings = parse_config({} if data is None else data)
        problems = settings_problems(settings)
    except SpecError as error:
        problems, settings = list(error.problems), PackConfig()
    if problems:
        raise SpecError(one if one.file else one.at(str(path), None) for one in problems)
    return settings


def _settings_file(start: Path) -> Path | None:
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
        if any((folder / name).is_file() for name in ("Pulumi.yaml", "Pulumi.yml")):
            return None
    return None


def _read(path: Path) -> PackConfig:
    try:
        data: Any = cast(Any, YAML(typ="safe")).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError([Problem((), f"cannot be read: {error.strerror}.", file=str(path))]) from None
    except (YAMLError, ValueError) as error:
        raise SpecError([Problem((), f"is no YAML: {error}", file=str(path))]) from None
    return settings_of(data, path)
