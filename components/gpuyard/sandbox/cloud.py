"""The simulated cloud: what exists in it, kept in one file between runs.

It is a separate record from the engine's state, as a cloud is: a run that is killed between the two finds here what was
really made.
"""

import json
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuyard.sandbox.problems import SandboxError

_SCHEMA = """
create table if not exists resources (
    token text not null,
    id text not null,
    urn text not null,
    inputs text not null,
    outputs text not null,
    made integer primary key autoincrement,
    unique (token, id)
)
"""


@dataclass(frozen=True)
class CloudResource:
    """One thing that exists: its type, id, the URN it was made for, inputs and outputs."""

    token: str
    id: str
    urn: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]


class DamagedError(SandboxError):
    """A file of the sandbox cannot be read; the message says which, and what to do."""


class AlreadyExistsError(Exception):
    """A thing of that type and id exists already."""


class SimulatedCloud:
    """Everything that exists in the simulated clouds of one sandbox.

    Args:
        path: The file it is kept in; made when missing.

    Raises:
        DamagedError: The file is no record of a simulated cloud.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
        # A killed process loses nothing this way; only a power failure could.
        try:
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = off")
            self._connection.execute(_SCHEMA)
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise
            raise DamagedError(damaged(path, str(error))) from None
        self._lock = threading.Lock()

    def create(self, resource: CloudResource) -> None:
        """Make something exist.

        Raises:
            AlreadyExistsError: Its type and id are taken, as a bucket's name can be.
        """
        row = (resource.token, resource.id, resource.urn, *_texts(resource))
        with self._locked() as connection:
            try:
                connection.execute(
                    "insert into resources (token, id, urn, inputs, outputs) values (?, ?, ?, ?, ?)", row
                )
            except sqlite3.IntegrityError:
                raise AlreadyExistsError(f"{resource.token} '{resource.id}' already exists") from None

    def update(self, resource: CloudResource) -> None:
        """Change something that exists."""
        with self._locked() as connection:
            connection.execute(
                "update resources set inputs = ?, outputs = ? where token = ? and id = ?",
                (*_texts(resource), resource.token, resource.id),
            )

    def read(self, token: str, resource_id: str) -> CloudResource | None:
        """Something that exists, or None."""
        with self._locked() as connection:
            row = connection.execute(
                "select token, id, urn, inputs, outputs from resources where token = ? and id = ?",
                (token, resource_id),
            ).fetchone()
        return None if row is None else _resource(row)

    def delete(self, token: str, resource_id: str) -> None:
        """Make something not exist; nothing happens when it does not."""
        with self._locked() as connection:
            connection.execute("delete from resources where token = ? and id = ?", (token, resource_id))

    def made_for(self, urn: str) -> list[CloudResource]:
        """What was made for one URN, the oldest first."""
        with self._locked() as connection:
            rows = connection.execute(
                "select token, id, urn, inputs, outputs from resources where urn = ? order by made", (urn,)
            ).fetchall()
        return [_resource(row) for row in rows]

    def everything(self) -> list[CloudResource]:
        """All that exists, the oldest first."""
        with self._locked() as connection:
            rows = connection.execute("select token, id, urn, inputs, outputs from resources order by made").fetchall()
        return [_resource(row) for row in rows]

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _locked(self) -> Generator[sqlite3.Connection, None, None]:
        with self._lock:
            yield self._connection


def damaged(path: Path, why: str) -> str:
    """What to say of a file of the sandbox that cannot be read."""
    return f"{path} is damaged ({why}). The sandbox holds nothing real: remove its folder and begin anew."


def _texts(resource: CloudResource) -> tuple[str, str]:
    return json.dumps(resource.inputs), json.dumps(resource.outputs)


def _resource(row: tuple[str, str, str, str, str]) -> CloudResource:
    token, resource_id, urn, inputs, outputs = row
    return CloudResource(token, resource_id, urn, json.loads(inputs), json.loads(outputs))
