"""Scalar types of the models: exact, yet open to the texts that ``pulumi config set`` stores for numbers and flags.

``pulumi config set x true`` stores a string, ``--path`` stores a flag, a YAML editor writes either: the same value
must mean the same thing, and anything else ('yes', '12 nodes') is refused rather than guessed.
"""

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError


def _whole(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticCustomError("whole_number", "should be a whole number")
    if isinstance(value, str):
        value = _number_in(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int):
        raise PydanticCustomError("whole_number", "should be a whole number")
    return value


def _real(value: Any) -> Any:
    if isinstance(value, str):
        value = _number_in(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PydanticCustomError("number", "should be a number")
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        raise PydanticCustomError("number", "should be a finite number")
    return number


def _flag(value: Any) -> Any:
    if isinstance(value, str) and value in ("true", "false"):
        return value == "true"
    if not isinstance(value, bool):
        raise PydanticCustomError("flag", "should be true or false")
    return value


def _number_in(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError as error:
        raise PydanticCustomError(
            "cidr", "is not a network in CIDR notation: {reason}", {"reason": str(error)}
        ) from None
    return text


def network(text: str) -> IPv4Network | IPv6Network:
    """The network that a checked CIDR text names."""
    return ip_network(text)


Whole = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=100_000)]
PositiveCount = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=100_000)]
Days = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=36_500)]
Hours = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=8_760)]
Real = Annotated[float, BeforeValidator(_real)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=256, strip_whitespace=False)]
Cidr = Annotated[str, AfterValidator(_network)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$")]
