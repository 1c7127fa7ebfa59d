"""Values as they travel between engine and provider."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2

from gpuyard.sandbox.marks import SIGNATURE, UNKNOWN


def is_unknown(value: object) -> bool:
    """Whether a value is known only after the update."""
    return value == UNKNOWN


def is_wrapped(value: object) -> bool:
    """Whether a value is a secret, an asset or another wrapped thing."""
    return isinstance(value, Mapping) and SIGNATURE in value


def from_struct(struct: struct_pb2.Struct) -> dict[str, Any]:
    """Plain data of a message; whole numbers come back as integers."""
    return {key: _from_value(value) for key, value in struct.fields.items()}


def to_struct(values: Mapping[str, Any]) -> struct_pb2.Struct:
    """A message of plain data."""
    struct = struct_pb2.Struct()
    struct.update(dict(values))
    return struct


def _from_value(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return from_struct(value.struct_value)
    if kind == "list_value":
        return [_from_value(item) for item in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return None if kind in (None, "null_value") else getattr(value, kind)
