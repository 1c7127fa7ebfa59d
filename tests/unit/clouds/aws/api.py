"""From rendered inputs to the parameters of an AWS API call, guided by the API's own shapes."""

from functools import cache
from typing import Any

import botocore.session
from botocore.validate import ParamValidator


@cache
def input_shape(service: str, operation: str) -> Any:
    """The shape of an operation's input; read from the service model inside botocore, without any network."""
    return botocore.session.get_session().get_service_model(service).operation_model(operation).input_shape


def to_api(value: Any, shape: Any, renamed: dict[str, str] | None = None) -> Any:
    """A rendered value as the API writes it.

    Keys are matched without regard to case; what matches none is kept, so that validation names it. Numbers come as
    floats and some flags as texts from the engine, and a mapping of tags becomes a list of keys and values.
    """
    names = renamed or {}
    if shape.type_name == "structure":
        members = {member.lower(): member for member in shape.members}
        found: dict[str, Any] = {}
        for key, inner in value.items():
            member = members.get(names.get(key, key).lower())
            found[member or key] = to_api(inner, shape.members[member], names) if member else inner
        return found
    if shape.type_name == "list":
        if isinstance(value, dict):
            value = [{"key": key, "value": inner} for key, inner in value.items()]
        return [to_api(inner, shape.member, names) for inner in (value if isinstance(value, list) else [value])]
    if shape.type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    if shape.type_name in ("integer", "long") and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def faults(service: str, operation: str, parameters: dict[str, Any]) -> list[str]:
    """What the API would refuse without looking at the account: names, types, lengths, ranges and enumerations."""
    shape = input_shape(service, operation)
    report = ParamValidator().validate(parameters, shape)
    return [*([report.generate_report()] if report.has_errors() else []), *_outside_enums(parameters, shape, operation)]


def _outside_enums(value: Any, shape: Any, path: str) -> list[str]:
    if shape.type_name == "structure":
        return [
            fault
            for key, inner in value.items()
            if key in shape.members
            for fault in _outside_enums(inner, shape.members[key], f"{path}.{key}")
        ]
    if shape.type_name == "list":
        return [fault for inner in value for fault in _outside_enums(inner, shape.member, path)]
    allowed = getattr(shape, "enum", None)
    return [f"{path}: {value!r} is none of {allowed}"] if allowed and value not in allowed else []
