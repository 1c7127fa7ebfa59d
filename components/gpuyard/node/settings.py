"""What this node was told, where its files lie, and how they are written."""

import fcntl
import importlib
import json
import os
import shlex
import sys
import time
from typing import Any, Dict, Optional, cast

CLOUDS = ("aws", "alicloud", "tencentcloud")


class SettingsError(Exception):
    """Something that the node must be told is missing or wrong."""


def value(name: str, default: str = "") -> str:
    """One setting.

    Args:
        name: Its name without ``GPUYARD_``.
        default: What it is when nobody has set it, or has set it to nothing.

    Returns:
        The environment's value, else that of ``/etc/gpuyard/node.env`` (``GPUYARD_ENV`` names another file).
    """
    key = "GPUYARD_" + name
    return os.environ.get(key) or _told().get(key) or default


def number(name: str, default: float) -> float:
    """One setting as a number.

    Args:
        name: Its name without ``GPUYARD_``.
        default: What it is when nobody has set it.

    Returns:
        The number.

    Raises:
        SettingsError: It is no number, or is below nothing.
    """
    text = value(name)
    if not text:
        return default
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise SettingsError(f"GPUYARD_{name} is {text!r}: a number from 0 on is needed")
    return found


def flag(name: str) -> bool:
    """Whether a setting is switched on: ``1``."""
    return value(name) == "1"


def cloud() -> str:
    """The cloud that this node is in: ``aws``, ``alicloud`` or ``tencentcloud``."""
    found = value("CLOUD")
    if found not in CLOUDS:
        raise SettingsError(f"GPUYARD_CLOUD is {found!r}: one of {', '.join(CLOUDS)} is needed")
    return found


def cloud_module(name: str = "") -> Any:
    """What is the cloud's own: ``gpuyard.node.cloud_aws`` and so on. A node holds that of its cloud alone."""
    return importlib.import_module("gpuyard.node.cloud_" + (name or cloud()))


def run_path(*names: str) -> str:
    """A path below ``/run/gpuyard`` (``GPUYARD_RUN`` names another folder), whose folder is made."""
    path = os.path.join(value("RUN", "/run/gpuyard"), *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def write_json(path: str, found: Any) -> None:
    """Write a document whole: a reader sees the one before or this one, never a part."""
    fresh = f"{path}.{os.getpid()}.new"
    with open(fresh, "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
        file.write("\n")
    os.replace(fresh, path)


def read_json(path: str) -> Optional[Dict[str, Any]]:
    """A document that :func:`write_json` wrote, None where there is none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return cast(Dict[str, Any], found) if isinstance(found, dict) else None


def lock(path: str) -> bool:
    """Hold a file for as long as this process lives; False when another one holds it.

    Nobody else may open it: who can open a file can hold it.
    """
    held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return False
    return True


def log(text: str) -> None:
    """Say something in the node's log."""
    sys.stderr.write(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} gpuyard: {text}\n")
    sys.stderr.flush()


def _told() -> Dict[str, str]:
    try:
        with open(os.environ.get("GPUYARD_ENV") or "/etc/gpuyard/node.env", encoding="utf-8") as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    found: Dict[str, str] = {}
    for line in lines:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue
        if len(words) == 1 and "=" in words[0]:
            key, text = words[0].split("=", 1)
            found[key] = text
    return found
