"""Other programs, bounded in time and with nothing to ask for."""

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any, Dict, List


class CommandError(Exception):
    """A program is missing, failed, or took too long."""


def run(words: List[str], seconds: float, folder: str = "/", heard: bool = True) -> str:
    """Run a program to its end.

    Args:
        words: The program and its arguments.
        seconds: When it takes longer than this, it is killed with all that it has started.
        folder: Where it runs.
        heard: Whether what it says is kept. Otherwise it goes to this program's log, and what the program has left
            running in the background is not waited for.

    Returns:
        What it wrote to its standard output, nothing when it is not heard.

    Raises:
        CommandError: It is missing, failed (with the end of what it said), or took too long.
    """
    name = os.path.basename(words[0])
    if seconds <= 0:
        raise CommandError(f"no time is left for {name}")
    environment: Dict[str, str] = dict(os.environ)
    # A system service may have no home, and the clouds' commands look for their files there.
    environment.setdefault("HOME", "/root")
    try:
        process: Any = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if heard else sys.stderr,
            stderr=subprocess.PIPE if heard else sys.stderr,
            universal_newlines=True,
            errors="replace",
            start_new_session=True,
            cwd=folder,
            env=environment,
        )
    except OSError as error:
        raise CommandError(f"{name} cannot be run: {error.strerror or error}") from error
    try:
        out, err = process.communicate(timeout=seconds)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        # One that waits for a file system that has gone does not even die.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=2)
        if isinstance(error, subprocess.TimeoutExpired):
            raise CommandError(f"{name} took longer than {seconds:.0f} s") from error
        raise
    if process.returncode:
        said = " ".join(((err or "").strip() or (out or "").strip()).splitlines()[-3:])
        raise CommandError(f"{name} ended with {process.returncode}: {said[-300:] or 'it said nothing'}")
    return out or ""
