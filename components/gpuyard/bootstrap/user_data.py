"""User data of a node: cloud-init's configuration with files, and what runs at each boot."""

import base64
import gzip
import json
from collections.abc import Mapping

from gpuyard.bootstrap.files import HOME, NodeFile
from gpuyard.bootstrap.payload import archive_of

ARCHIVE = f"{HOME}/files.tar.gz"
# What is the same on every node travels in one archive; what is told to this one is there for everyone to read.
_ARCHIVED = ("/opt/",)


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

    Programs travel in one archive, without their comments: together they compress to a third of what they
    would take one by one, and clouds that take no compressed user data have room for them.

    Args:
        files: Every file by path.

    Returns:
        A ``#cloud-config`` document.

    Source: https://cloudinit.readthedocs.io/en/latest/explanation/format.html (JSON is YAML)
    """
    archived = {path: file for path, file in files.items() if path.startswith(_ARCHIVED)}
    written: list[dict[str, str]] = [
        {"path": path, "permissions": file.mode, "owner": "root:root", "content": file.content}
        for path, file in files.items()
        if path not in archived
    ]
    archive = base64.b64encode(archive_of(archived)).decode()
    written.append(
        {"path": ARCHIVE, "permissions": "0600", "owner": "root:root", "encoding": "b64", "content": archive}
    )
    config = {
        "write_files": written,
        "runcmd": [
            ["mkdir", "-p", "/var/log/gpuyard"],
            ["tar", "-xzf", ARCHIVE, "-C", "/"],
            ["systemctl", "daemon-reload"],
            ["systemctl", "enable", "--now", "gpuyard-setup.service"],
        ],
    }
    return f"#cloud-config\n{json.dumps(config, indent=1)}\n"
