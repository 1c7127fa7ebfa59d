"""Files of a node, and the templates that they are made of."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

HOME = "/opt/gpuyard"
KERNEL_LOG = "/var/log/gpuyard/kernel.log"
SETUP_LOG = "/var/log/gpuyard/setup.log"


@dataclass(frozen=True, slots=True)
class NodeFile:
    """A file that is written to a node: its permissions and its content."""

    mode: str
    content: str


def environment_file(values: Mapping[str, object]) -> NodeFile:
    """What the scripts of a node are told, and what its jobs may read: ``/etc/gpuyard/node.env``.

    Args:
        values: Values by name without ``GPUYARD_``; None is left out.

    Returns:
        The file; every value is quoted for the shell.
    """
    told = {name: str(value) for name, value in values.items() if value is not None}
    return NodeFile("0644", rendered("node.env.j2", values=told))


def template(name: str) -> str:
    """A template's text as it stands; ``name`` is its path below the templates."""
    return files("gpuyard.bootstrap").joinpath("templates", *name.split("/")).read_text(encoding="utf-8")


def rendered(name: str, **values: Any) -> str:
    """A template with values filled in.

    Args:
        name: Its path below the templates.
        values: Values by name; one that is missing is an error.

    Returns:
        The text.
    """
    # The results are shell scripts, not web pages: values are quoted for the shell.
    environment = Environment(  # noqa: S701 - see above
        loader=FunctionLoader(template), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template(name).render(quoted=shlex.quote, **values)
