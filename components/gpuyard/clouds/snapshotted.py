"""What a cloud's snapshot schedule is told to take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pulumi import Input


@dataclass(frozen=True)
class Snapshotted:
    """Disks that are snapshotted: by the tags they carry, or by their ids, as the cloud has it.

    ``disks`` are ids by a name that does not change. ``key_arns`` are the keys of your own that encrypt the disks, None
    where there are none.
    """

    tags: Mapping[str, str]
    disks: Mapping[str, Input[str]]
    key_arns: Input[Sequence[Input[str]]] | None
