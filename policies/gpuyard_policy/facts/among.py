"""All resources of a stack, found in one step by URN, by type, by what they are called, and by what they refer to."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from gpuyard_policy.facts.model import Record

# Properties by which other resources may name one in plain text.
NAMING_PROPERTIES = ("id", "name", "arn", "bucket")
_Built = TypeVar("_Built")


class Among(Mapping[str, Record]):
    """The resources of one stack by URN, with the indexes that joins need: every look-up takes the same time.

    Args:
        records: Every resource.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_urn = {record.urn: record for record in records}
        self._by_type: dict[str, list[Record]] = defaultdict(list)
        self._by_name: dict[str, list[Record]] = defaultdict(list)
        self._users: dict[str, list[Record]] = defaultdict(list)
        self._once: dict[Hashable, Any] = {}
        for record in self._by_urn.values():
            self._by_type[record.type].append(record)
            for key in NAMING_PROPERTIES:
                value = record.props.get(key)
                if isinstance(value, str) and value:
                    self._by_name[value].append(record)
            for urn in dict.fromkeys(urn for urns in record.depends_on.values() for urn in urns):
                self._users[urn].append(record)

    def __getitem__(self, urn: str) -> Record:
        return self._by_urn[urn]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_urn)

    def __len__(self) -> int:
        return len(self._by_urn)

    def of_type(self, *types: str) -> list[Record]:
        """Every resource of some types."""
        return [record for kind in types for record in self._by_type.get(kind, ())]

    def called(self, value: object, *types: str) -> list[Record]:
        """Resources of some types whose id, name or ARN is this text."""
        found = self._by_name.get(value, []) if isinstance(value, str) and value else []
        return [record for record in found if record.type in types]

    def users_of(self, urn: str, *types: str) -> list[Record]:
        """Resources of some types (of any, when none is given) one of whose properties comes from this one."""
        found = self._users.get(urn, [])
        return [record for record in found if not types or record.type in types]

    def behind(self, record: Record, property_name: str, *types: str) -> list[Record]:
        """Resources of some types that one property of a resource comes from."""
        urns = record.depends_on.get(property_name, ())
        return [self._by_urn[urn] for urn in urns if urn in self._by_urn and self._by_urn[urn].type in types]

    def once(self, key: Hashable, build: Callable[[], _Built]) -> _Built:
        """What is worked out of all resources the first time it is asked for: an index that one cloud's joins need."""
        if key not in self._once:
            self._once[key] = build()
        return self._once[key]


def linked(record: Record, property_name: str, among: Among, *types: str) -> list[Record]:
    """Resources of some types one property of which names a resource: by where its value comes from, or in text."""
    index = among.once(("linked", property_name, types), lambda: _naming(property_name, among, types))
    keys = [record.urn, *(record.props.get(key) for key in NAMING_PROPERTIES)]
    found = {one.urn: one for key in keys if isinstance(key, str) and key for one in index.get(key, ())}
    return list(found.values())


def _naming(property_name: str, among: Among, types: tuple[str, ...]) -> Mapping[str, list[Record]]:
    """Resources of some types by what one property of theirs names: the URN that it comes from, and its plain text."""
    index: dict[str, list[Record]] = defaultdict(list)
    for other in among.of_type(*types):
        for urn in other.depends_on.get(property_name, ()):
            index[urn].append(other)
        value = other.props.get(property_name)
        if isinstance(value, str) and value:
            index[value].append(other)
    return index
