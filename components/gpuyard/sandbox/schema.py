"""What a resource type takes and gives, read off the cloud SDK's own classes."""

import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from pulumi.runtime.rpc import get_resource_module

# Of a package whose module is not called after it.
_SDK_MODULES = {"tencentcloud": "tencentcloud_iac_pulumi"}
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclass(frozen=True)
class PropertyType:
    """The type of one value: a scalar's name, ``list``, ``map``, ``object`` or ``any``.

    ``item`` is what a list or map holds; ``shape`` is an object's properties.
    """

    kind: str
    item: "PropertyType | None" = None
    shape: "Shape | None" = None


@dataclass(frozen=True)
class Property:
    """One property: its type, and whether it must be given."""

    type: PropertyType
    required: bool


@dataclass(frozen=True)
class Shape:
    """The properties of an object or of a resource's inputs, by camelCase name."""

    properties: Mapping[str, Property] = field(default_factory=dict[str, Property])


@dataclass(frozen=True)
class ResourceSchema:
    """One resource type: its inputs, and the names of everything it puts out."""

    token: str
    inputs: Shape
    output_names: frozenset[str]


ANY = PropertyType("any")


@cache
def resource_schema(token: str) -> ResourceSchema | None:
    """The schema of a resource type, or None when the installed SDK has no such type.

    Args:
        token: A type token, such as ``aws:ec2/launchTemplate:LaunchTemplate``.

    Returns:
        Inputs and outputs as the SDK declares them.

    Raises:
        ImportError: The cloud's SDK is not installed.
    """
    resource = _resource_class(token)
    if resource is None:
        return None
    args = _args_class(resource)
    shape = Shape() if args is None else _shape(args)
    outputs = {name for name, _ in _properties(resource)}
    return ResourceSchema(token, shape, frozenset(outputs | {"id", "urn"}))


def sdk_module(package: str) -> str:
    """Name of the Python module of a cloud's SDK, by the name of its Pulumi package."""
    return _SDK_MODULES.get(package, f"pulumi_{package}")


def _resource_class(token: str) -> type | None:
    package, module, name = token.split(":")
    folder, _, file = module.partition("/")
    import_module(sdk_module(package))
    # The SDK tells the runtime where its types live; one that it forgot is in the folder called like the module.
    registered: Any = get_resource_module(package, module, "")
    home = f"{sdk_module(package)}.{folder.lower()}" if registered is None else registered.mod_info["fqn"]
    if find_spec(home) is None:
        return None
    # A folder with the SDK's settings shows nothing else that is in it: there the type's own file has to be asked.
    for where in (home, f"{home}.{_WORD.sub('_', file).lower()}"):
        found = getattr(import_module(where), name, None) if find_spec(where) is not None else None
        if isinstance(found, type) and getattr(found, "pulumi_type", token) == token:
            return found
    return None


def _args_class(resource: type) -> type | None:
    # Some resources have a type of a constructor's argument called like the resource's own arguments; those are then
    # called InitArgs.
    module = sys.modules[resource.__module__].__dict__
    for suffix in ("InitArgs", "Args"):
        found = module.get(f"{resource.__name__}{suffix}")
        if isinstance(found, type):
            return found
    return None


def _properties(of: type) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for python_name, value in vars(of).items():
        if isinstance(value, property) and value.fget is not None:
            name = getattr(value.fget, "_pulumi_name", python_name)
            found.append((name, value.fget.__annotations__.get("return")))
    return found


@cache
def _shape(of: type) -> Shape:
    space = _namespace(of)
    properties: dict[str, Property] = {}
    for name, annotation in _properties(of):
        kind, optional = _type_of(annotation, space)
        properties[name] = Property(kind, not optional)
    return Shape(properties)


def _namespace(of: type) -> dict[str, Any]:
    own = sys.modules[of.__module__].__dict__
    package = sys.modules[of.__module__.rsplit(".", 1)[0]].__dict__
    return {**package, **own}


def _type_of(annotation: Any, space: Mapping[str, Any]) -> tuple[PropertyType, bool]:
    """A value's type, and whether it may be left out. Of a union the part that is a plain value counts."""
    if isinstance(annotation, (str, typing.ForwardRef)):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return _named(text, space)
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        parts = typing.get_args(annotation)
        plain = [part for part in parts if not _is_wrapper(part)]
        found = [_type_of(part, space)[0] for part in plain if part is not type(None)]
        known = [kind for kind in found if kind.kind != "any"] or [ANY]
        return (known[0], type(None) in parts)
    if origin is not None:
        return _generic(origin, typing.get_args(annotation), space), False
    if annotation in _SCALARS:
        return PropertyType(_SCALARS[annotation]), False
    return _of_class(annotation), False


def _named(text: str, space: Mapping[str, Any]) -> tuple[PropertyType, bool]:
    return _of_class(space.get(text)), False


def _of_class(found: Any) -> PropertyType:
    if inspect.isclass(found) and issubclass(found, Enum):
        return PropertyType("string")
    if inspect.isclass(found) and getattr(found, "_pulumi_input_type", False):
        return PropertyType("object", shape=_lazy_shape(found))
    return ANY


def _lazy_shape(of: type) -> Shape:
    # A type may contain itself (filters of filters): its shape is read when it is needed.
    return cast(Shape, _LazyShape(of))


class _LazyShape:
    def __init__(self, of: type) -> None:
        self._of = of

    @property
    def properties(self) -> Mapping[str, Property]:
        return _shape(self._of).properties


def _generic(origin: Any, arguments: tuple[Any, ...], space: Mapping[str, Any]) -> PropertyType:
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return PropertyType("map", item=_type_of(arguments[1], space)[0])
    if inspect.isclass(origin) and issubclass(origin, Sequence):
        return PropertyType("list", item=_type_of(arguments[0], space)[0])
    return ANY


def _is_wrapper(part: Any) -> bool:
    """Whether a part of a union only says that the value may come later (Output, Awaitable) or as a dictionary."""
    if isinstance(part, (str, typing.ForwardRef)):
        text = part if isinstance(part, str) else part.__forward_arg__
        return text.startswith(("Output", "outputs.")) or text.endswith("ArgsDict")
    return "Awaitable" in str(typing.get_origin(part)) or "Output" in str(part)[:30]
