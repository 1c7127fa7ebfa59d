"""User data of a node: cloud-init's configuration with files, and what runs at each boot."""

import base64
import gzip
import json
import shlex
from collections.abc import Iterable, Mapping
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


def packed(config: str) -> str:
    """User data as a template holds it: compressed and in base64.

    Args:
        config: A ``#cloud-config`` document.

    Returns:
        Base64 of gzip, the same for the same document. Cloud-init takes it apart itself.

    Source: https://cloudinit.readthedocs.io/en/latest/explanation/format.html (gzip)
    """
    return base64.b64encode(gzip.compress(config.encode(), mtime=0)).decode()


def cloud_config(files: Mapping[str, NodeFile]) -> str:
    """A node's configuration as cloud-init reads it: its files, and its set-up at this and at every later boot.

    Args:
        files: Every file by path, those of :func:`common_files` among them.

    Returns:
        A ``#cloud-config`` document.

    Source: https://cloudinit.readthedocs.io/en/latest/explanation/format.html (JSON is YAML)
    """
    config = {
        "write_files": [
            {"path": path, "permissions": file.mode, "owner": "root:root", "content": file.content}
            for path, file in files.items()
        ],
        "runcmd": [
            ["mkdir", "-p", "/var/log/gpuyard"],
            ["systemctl", "daemon-reload"],
            ["systemctl", "enable", "--now", "gpuyard-setup.service"],
        ],
    }
    return f"#cloud-config\n{json.dumps(config, indent=1)}\n"


def common_files(parts: Iterable[str]) -> dict[str, NodeFile]:
    """The files of every node: the runner of the parts, what they share, its unit, the kernel's log, and the parts.

    Args:
        parts: Templates of the parts that this node has, in any order: they run in the order of their names.

    Returns:
        Files by path.
    """
    found = {
        "/etc/systemd/system/gpuyard-setup.service": NodeFile("0644", template("setup.service")),
        "/etc/systemd/system/gpuyard-kernel-log.service": NodeFile("0644", template("kernel-log.service")),
        "/etc/logrotate.d/gpuyard": NodeFile("0644", template("logrotate")),
        f"{HOME}/setup.sh": NodeFile("0755", template("setup.sh")),
        f"{HOME}/lib.sh": NodeFile("0644", template("lib.sh")),
    }
    return found | {f"{HOME}/parts/{part.rsplit('/', 1)[-1]}": NodeFile("0755", template(part)) for part in parts}


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
