"""The package's schema: shapes as Pulumi infers them from the arguments, everything else from the spec's models.

Format: https://www.pulumi.com/docs/iac/guides/building-extending/packages/schema/

Defaults are told in the descriptions. A ``default`` of the schema would be sent by every SDK as if a person had asked
for it, and a plan treats what was asked for otherwise than what was left out.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, cast, get_args, get_origin

import pulumi
from pulumi.provider.experimental.analyzer import (
    Analyzer,
    ComponentDefinition,
    PropertyDefinition,
    PropertyType,
    TypeDefinition,
)
from pydantic import BaseModel

from gpuyard import spec
from gpuyard.provider.components import COMPONENTS, PACKAGE
from gpuyard.provider.names import in_camel_case, python_names
from gpuyard.provider.wording import described, in_short, marked_down
from gpuyard.resources import args
from gpuyard.spec import models

NAMESPACE = "gpuyard"
_LANGUAGES = ("csharp", "go", "java", "nodejs", "python")
# C# has an Environment and a Task of its own in every file.
_OTHERWISE_CALLED = {"Environment": "ClusterEnvironment", "Task": "WorkloadTask"}

_ANY = "pulumi.json#/Any"

# The JSON schema of a value, or of the fields of a model by name, as pydantic makes them.
Facts = Mapping[str, Any]


def package_schema(
    analyzer: Analyzer,
    components: Mapping[str, ComponentDefinition],
    types: Mapping[str, TypeDefinition],
    version: str,
) -> dict[str, Any]:
    """The schema of the package.

    Args:
        analyzer: Pulumi's analyzer after it has seen the components.
        components: What it found of them, by name.
        types: The types that it found on the way, by name.
        version: The package's version.

    Returns:
        The schema, ready to be written as JSON.
    """
    writer = _Writer(analyzer, components, types)
    resources = {_token(component.__name__): writer.resource(component) for component in COMPONENTS}
    return {
        "name": PACKAGE,
        "displayName": PACKAGE,
        "version": version,
        "namespace": NAMESPACE,
        "description": "GPU clusters that train and serve large models, on AWS, Alibaba Cloud and Tencent Cloud.",
        "keywords": ["category/infrastructure", "kind/component", "gpu", "hpc", "machine-learning"],
        "license": "Apache-2.0",
        "language": {language: {"respectSchemaVersion": True} for language in _LANGUAGES},
        "resources": resources,
        "types": dict(sorted(writer.types.items())),
    }


class _Writer:
    """Writes components, and on the way every type that they refer to."""

    def __init__(
        self, analyzer: Analyzer, components: Mapping[str, ComponentDefinition], types: Mapping[str, TypeDefinition]
    ) -> None:
        self.types: dict[str, Any] = {}
        self._docstring = analyzer.get_docstring
        self._components, self._definitions = components, types
        self._names = python_names(components.values(), types)
        self._models: dict[str, Facts] = {}

    def resource(self, component: type[pulumi.ComponentResource]) -> dict[str, Any]:
        definition = self._components[component.__name__]
        place = self._fields(models.ClusterSpec)
        facts = {key: place[key] for key in args.PLACE_KEYS}
        for model in COMPONENTS[component]:
            facts |= self._fields(model)
        arguments: Any = component.__init__.__annotations__["args"]
        outputs = {
            name: {"description": self._camel(marked_down(kind.description or "")), **self._value(kind, {})}
            for name, kind in definition.outputs.items()
        }
        return {
            "isComponent": True,
            "description": self._camel(marked_down(definition.description or "")),
            "inputProperties": self._properties(arguments, definition.inputs, definition.inputs_mapping, facts),
            "requiredInputs": _required(definition.inputs),
            "properties": outputs,
            "required": _required(definition.outputs),
        }

    def _properties(
        self, arguments: Any, kinds: Mapping[str, PropertyDefinition], names: Mapping[str, str], facts: Facts
    ) -> dict[str, Any]:
        known = {name: _given(facts.get(names[name], {})) for name in kinds}
        return {
            name: {
                "description": self._description(arguments, names[name], kind, known[name]),
                **self._value(kind, known[name]),
            }
            for name, kind in kinds.items()
        }

    def _description(self, arguments: Any, name: str, kind: PropertyDefinition, facts: Facts) -> str:
        """The arguments' own words for what is a component's, the spec's for a part of a cluster's description."""
        homes = (arguments, args.PartArgs, args.PlaceArgs) if arguments.__module__ == args.__name__ else ()
        own = next((text for home in homes if (text := self._docstring(home, name))), None)
        text = str(facts.get("description", "")) if own is None else own
        told = self._camel(described(text, facts, default=own is None))
        keys: Facts = self._model_of(facts).get("properties", {})
        if kind.ref != _ANY or not keys:
            return told
        # A number or a map: there is no type for such a choice, so its keys are told here.
        return f"{told} Keys of the map: {', '.join(f'`{key}` ({in_short(known)})' for key, known in keys.items())}."

    def _value(self, kind: PropertyDefinition, facts: Facts) -> dict[str, Any]:
        plain = {"plain": True} if kind.plain else {}
        if kind.items is not None:
            return {"type": "array", "items": self._value(kind.items, facts.get("items", {})), **plain}
        if kind.additional_properties is not None:
            values = self._value(kind.additional_properties, _values_of(facts))
            return {"type": "object", "additionalProperties": values, **plain}
        if kind.ref is not None:
            return {"$ref": self._reference(kind.ref, facts), **plain}
        if "enum" in facts:
            return {"$ref": self._enum(tuple(facts["enum"])), **plain}
        return {"type": cast(PropertyType, kind.type).value, **plain}

    def _reference(self, ref: str, facts: Facts) -> str:
        name = ref.rsplit(":", 1)[-1]
        if name not in self._definitions:
            return ref
        # The SDKs write Args behind the names of types themselves.
        token = _token(name.removesuffix("Args"))
        if token not in self.types:
            definition = self._definitions[name]
            model = self._model_of(facts)
            fields = model.get("properties", {})
            required = _required(definition.properties)
            self.types[token] = {
                "type": "object",
                "description": self._camel(marked_down(str(model.get("description", definition.description or "")))),
                "properties": self._properties(
                    definition.python_type, definition.properties, definition.properties_mapping, fields
                ),
                **({"required": required} if required else {}),
            }
        return f"#/types/{token}"

    def _enum(self, values: tuple[str, ...]) -> str:
        name = _ENUMS[frozenset(values)]
        token = _token(_OTHERWISE_CALLED.get(name, name))
        self.types[token] = {
            "type": "string",
            "enum": [{"name": _pascal_case(value), "value": value} for value in values],
        }
        return f"#/types/{token}"

    def _fields(self, model: type[BaseModel]) -> dict[str, Any]:
        schema = model.model_json_schema()
        self._models |= schema.get("$defs", {})
        return schema["properties"]

    def _model_of(self, facts: Facts) -> Facts:
        return self._models.get(str(facts.get("$ref", "")).rsplit("/", 1)[-1], {})

    def _camel(self, text: str) -> str:
        return in_camel_case(text, self._names)


def _token(name: str) -> str:
    return f"{PACKAGE}:index:{name}"


def _required(kinds: Mapping[str, PropertyDefinition]) -> list[str]:
    return sorted(name for name, kind in kinds.items() if not kind.optional)


def _given(facts: Facts) -> Facts:
    """What is known of a value that is given: a field that may be left out is written as a choice of it and null."""
    choices = [one for one in facts.get("anyOf", ()) if one.get("type") != "null"]
    return {**facts, **choices[0]} if len(choices) == 1 else facts


def _values_of(facts: Facts) -> Facts:
    """What is known of a map's values."""
    by_pattern: Mapping[str, Facts] = facts.get("patternProperties", {})
    others: Facts = facts.get("additionalProperties") or {}
    return next(iter(by_pattern.values()), others)


def _pascal_case(value: str) -> str:
    """``OnDemand`` for ``on_demand``, ``CostOptimized`` for ``COST_OPTIMIZED``, and ``USD`` as it is."""
    words = value.split("_")
    return "".join(word.capitalize() for word in words) if len(words) > 1 or value.islower() else value


def _named_choices() -> dict[frozenset[str], str]:
    """The spec's names of choices by their values: pydantic keeps the values alone."""
    homes = [import_module(f"{spec.__name__}.{found.name}") for found in iter_modules(spec.__path__)]
    return {
        frozenset(get_args(choice)): name
        for home in homes
        for name, choice in vars(home).items()
        if get_origin(choice) is Literal
    }


_ENUMS = _named_choices()
