"""What facts are made of. A fact's field is a value, None where there is none, or Unknown until the update."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that cannot be told yet, and why."""

    why: str


@dataclass(frozen=True)
class Record:
    """One registered resource, as any source of resources can give it.

    Attributes:
        urn: Its URN.
        type: Its type token.
        name: Its logical name.
        props: Its properties as plain data; a value not known yet is an Unknown.
        depends_on: For each property the URNs of the resources that its value comes from.
        provider: Properties of its provider, such as the region.
    """

    urn: str
    type: str
    name: str
    props: Mapping[str, Any]
    depends_on: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    provider: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class NodePoolFact:
    """A group of equal machines, or one machine.

    Attributes:
        urn: The resource that launches them.
        name: Its logical name.
        cloud: ``aws`` ...
        instance_types: Types that a machine may have.
        nodes_max: The most machines there may be; None when the resource does not say.
        region: Where they are.
        tags: Tags of the machines and of the resource.
    """

    urn: str
    name: str
    cloud: str
    instance_types: tuple[str, ...] | Unknown
    nodes_max: int | None | Unknown
    region: str | Unknown
    tags: Mapping[str, Any] | Unknown


@dataclass(frozen=True)
class StorageFact:
    """A file system or bucket.

    Attributes:
        urn: The resource.
        name: Its logical name.
        cloud: ``aws`` ...
        kind: ``file system`` or ``bucket``.
        region: Where it is.
        is_replica: Whether it is the target of a replication, and so meant to be elsewhere.
        tags: Its tags.
    """

    urn: str
    name: str
    cloud: str
    kind: str
    region: str | Unknown
    is_replica: bool | Unknown
    tags: Mapping[str, Any] | Unknown


@dataclass(frozen=True)
class Facts:
    """All facts of one stack; ``problems`` are resources that no fact could be built of, with the reason."""

    node_pools: tuple[NodePoolFact, ...] = ()
    storage: tuple[StorageFact, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
