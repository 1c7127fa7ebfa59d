"""The language host of programs in Pulumi YAML: beside the engine, on PATH, or built from its Go module."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from gpuyard.sandbox.engine import Engine, EngineMissingError
from gpuyard.sandbox.go_tool import MINIMUM_GO, GoTool, Say, build, one_at_a_time

YAML_HOST = GoTool(
    name="pulumi-language-yaml",
    title="Pulumi YAML",
    version="1.25.0",
    package="github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
    version_variable="github.com/pulumi/pulumi-yaml/pkg/version.Version",
    module_file="language_yaml.mod",
    duration="2 minutes",
    cached_as="language-yaml",
)


def find_yaml_host(engine: Engine, say: Say, *, environment: Mapping[str, str] | None = None) -> Path:
    """The language host that runs programs in YAML.

    An official CLI brings it; an engine that was built from its module does not.

    Args:
        engine: The engine that will start it.
        say: Receives a line when something takes a while.
        environment: Environment to look in, the process's own when left out.

    Returns:
        The executable.

    Raises:
        EngineMissingError: There is none, and none could be built.
    """
    env = os.environ if environment is None else environment
    beside = engine.path.parent / YAML_HOST.name
    if beside.exists():
        return beside
    on_path = shutil.which(YAML_HOST.name, path=env.get("PATH"))
    if on_path is not None:
        return Path(on_path)
    if YAML_HOST.cached.exists():
        return YAML_HOST.cached
    reasons: list[str] = []
    with one_at_a_time(YAML_HOST, say):
        if YAML_HOST.cached.exists() or build(YAML_HOST, env, say, reasons):
            return YAML_HOST.cached
    raise EngineMissingError(
        f"This project is written in YAML, and there is no '{YAML_HOST.name}'. Either of these is enough:\n"
        "  1. an official Pulumi CLI on PATH, which brings it (https://www.pulumi.com/docs/install/);\n"
        f"  2. Go {MINIMUM_GO[0]}.{MINIMUM_GO[1]} or newer and a Go module proxy, to build it once.\n"
        "What was tried:\n" + "\n".join(f"  - {reason}" for reason in reasons)
    )
