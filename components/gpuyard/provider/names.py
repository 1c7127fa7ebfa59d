"""Keys of arguments in the two ways they are written: camelCase in the schema, snake_case in Python.

The languages' SDKs write the schema's names, and so does a program in YAML; the components know Python's. What a person
named, such as a pool, is no key of ours and stays as it is.
"""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, cast

import pulumi
from pulumi.output import Unknown
from pulumi.provider.experimental.analyzer import ComponentDefinition, PropertyDefinition, TypeDefinition
from pulumi.provider.experimental.util import camel_case

from gpuyard.spec.problems import Path, Problem

_SNAKE_CASE = re.compile(r"\b[a-z]+(?:_[a-z0-9]+)+\b")


@dataclass(frozen=True)
class _Object:
    """The keys that stand side by side: the properties by the schema's name, and Python's names of them."""

    properties: Mapping[str, PropertyDefinition]
    python_names: Mapping[str, str]

    def python_name(self, key: str) -> str:
        """Python's name of a key.

        An unknown key keeps its name, for the component to refuse. One that only Python knows is unknown too: it gets
        the name that only the schema knows, or the component would take it.
        """
        if key in self.python_names:
            return self.python_names[key]
        return camel_case(key) if key in self.python_names.values() else key

    def schema_name(self, name: str) -> str:
        """The key that was written for a name of Python's."""
        if name in self.python_names.values():
            return camel_case(name)
        return self.python_names.get(name, name)


class Names:
    """The keys of one component's inputs, at every depth.

    Args:
        component: The component, as Pulumi's analyzer sees it.
        types: Types that its inputs refer to, by name.
    """

    def __init__(self, component: ComponentDefinition, types: Mapping[str, TypeDefinition]) -> None:
        self._inputs = _Object(component.inputs, component.inputs_mapping)
        self._types = types
        self._known = python_names([component], types)

    def to_python(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments as the component takes them.

        Args:
            inputs: Arguments as a language sent them; there may be outputs in them.

        Returns:
            The same values under Python's names. What is unknown yet is an output, and whole numbers, which travel as
            floats, are whole again.
        """
        return self._object(inputs, self._inputs)

    def to_schema(self, problem: Problem) -> Problem:
        """A problem in the words of the program that caused it.

        Args:
            problem: The problem as the component found it.

        Returns:
            The same with the schema's names in path, message and remedy.
        """
        path = self._path(self._inside(problem.path))
        message = in_camel_case(problem.message, self._known)
        if path and path[-1] in self._known:
            # The key was written as Python writes it, and that is what is wrong with it.
            message = message.replace(f"'{problem.path[-1]}'", f"'{path[-1]}'")
        return replace(problem, path=path, message=message, remedy=in_camel_case(problem.remedy, self._known))

    def _object(self, given: Mapping[str, Any], level: _Object) -> dict[str, Any]:
        return {
            level.python_name(key): self._value(value, level.properties.get(key))
            for key, value in given.items()
            if value is not None
        }

    def _value(self, value: Any, kind: PropertyDefinition | None) -> Any:
        if isinstance(value, Unknown):
            return pulumi.Output.from_input(cast(Any, value))
        if isinstance(value, Mapping):
            items = cast(Mapping[str, Any], value)
            level = self._level(kind)
            if level is not None:
                return self._object(items, level)
            inner = None if kind is None else kind.additional_properties
            return {key: self._value(one, inner) for key, one in items.items()}
        if isinstance(value, list):
            inner = None if kind is None else kind.items
            return [self._value(one, inner) for one in cast(list[Any], value)]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def _inside(self, path: Path) -> Path:
        """A path without the part of a cluster that the component is itself: ``network.cidr`` is its ``cidr``."""
        known = self._inputs.python_names.values()
        return path[1:] if len(path) > 1 and path[0] not in known and path[1] in known else path

    def _path(self, path: Path) -> Path:
        found: list[str | int] = []
        level: _Object | None = self._inputs
        kind: PropertyDefinition | None = None
        for part in path:
            if level is not None:
                name = level.schema_name(str(part))
                kind = level.properties.get(name)
            else:
                name = part
                kind = kind and (kind.items if isinstance(part, int) else kind.additional_properties)
            found.append(name)
            level = self._level(kind)
        return tuple(found)

    def _level(self, kind: PropertyDefinition | None) -> _Object | None:
        if kind is None or kind.ref is None:
            return None
        found = self._types.get(kind.ref.rsplit(":", 1)[-1])
        return None if found is None else _Object(found.properties, found.properties_mapping)


def python_names(components: Iterable[ComponentDefinition], types: Mapping[str, TypeDefinition]) -> frozenset[str]:
    """Every key of several words, as Python writes it.

    Args:
        components: Components, as Pulumi's analyzer sees them.
        types: Types that their inputs refer to, by name.

    Returns:
        The keys that the schema writes otherwise.
    """
    mappings = [one.inputs_mapping for one in components] + [one.properties_mapping for one in types.values()]
    return frozenset(name for mapping in mappings for schema_name, name in mapping.items() if schema_name != name)


def in_camel_case(text: str, names: Set[str]) -> str:
    """A text with the schema's names in it.

    Args:
        text: A sentence that names keys as Python writes them.
        names: The keys; other words, such as the values ``on_demand`` or ``import_export``, stay.

    Returns:
        The text.
    """
    return _SNAKE_CASE.sub(lambda word: camel_case(word[0]) if word[0] in names else word[0], text)
