"""Scalar types of the models: exact, yet open to the texts that ``pulumi config set`` stores for numbers and flags.

``pulumi config set x true`` stores a string, ``--path`` stores a flag, a YAML editor writes either: the same value
must mean the same thing, and anything else ('yes', '12 nodes') is refused rather than guessed.
"""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from math import inf, isfinite
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError, PydanticKnownError

NAME_PATTERN = r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$"
NAME_RULE = "lower-case letters, digits and hyphens, at most 32, beginning with a letter"
COUNT_MAX = 100_000

# What Python's own int() and float() read besides (blanks, underscores, digits of other scripts) is refused.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def positive_count(value: Any) -> int:
    """A whole number from 1 to 100 000, for a validator of a field that takes other things as well.

    Raises:
        PydanticCustomError: It is no whole number.
        PydanticKnownError: It is outside the limits.
    """
    number = _whole(value)
    if number < 1:
        raise PydanticKnownError("greater_than_equal", {"ge": 1})
    if number > COUNT_MAX:
        raise PydanticKnownError("less_than_equal", {"le": COUNT_MAX})
    return number


def network(text: str) -> IPv4Network | IPv6Network:
    """The network that a checked CIDR text names."""
    return ip_network(text)


def _whole(value: Any) -> int:
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
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if not isfinite(number):
        raise PydanticCustomError("number", "should be a finite number")
    return number


def _flag(value: Any) -> Any:
    if isinstance(value, str) and value in ("true", "false"):
        return value == "true"
    if not isinstance(value, bool):
        raise PydanticCustomError("flag", "should be true or false")
    return value


def _number_in(text: str) -> int | float | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)


def _network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError:
        pass
    else:
        return text
    try:
        whole = ip_network(text, strict=False)
    except ValueError:
        raise PydanticCustomError("cidr", "should be a network in CIDR notation such as 10.0.0.0/8") from None
    message = "has host bits set: the network is {network}"
    raise PydanticCustomError("cidr", message, {"network": str(whole)})


def _device(text: str) -> str:
    if re.fullmatch(r"/dev/[a-z0-9]{3,16}", text) is None:
        raise PydanticCustomError("device", "should be the path of a device such as /dev/xvda")
    return text


def _address(text: str) -> str:
    if re.fullmatch(r"[^@\s]{1,64}@[^@\s]+\.[^@\s]+", text) is None:
        raise PydanticCustomError("address", "should be an e-mail address")
    return text


Whole = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=COUNT_MAX)]
PositiveCount = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=COUNT_MAX)]
Days = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=36_500)]
Hours = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=8_760)]
Percent = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=100)]
Real = Annotated[float, BeforeValidator(_real)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=256, strip_whitespace=False)]
Cidr = Annotated[str, AfterValidator(_network)]
Address = Annotated[str, StringConstraints(max_length=254), AfterValidator(_address)]
Device = Annotated[str, AfterValidator(_device)]
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
