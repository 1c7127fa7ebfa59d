"""What a program is told when it looks something up and nobody can be asked.

Accounts, regions and images are made up as in the sandbox: a rule reads nothing off their names. Of every other
function, zones among them, the result has the shape that the SDK declares, with stand-ins for its texts: whatever a
program makes of one of them stays recognizable, and becomes an Unknown of the resource that it reaches.
"""

import inspect
import re
import typing
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gpuyard.catalog import regions
from gpuyard.sandbox.functions import look_up
from gpuyard.sandbox.schema import sdk_module
from gpuyard_policy.sources.values import STAND_IN

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CLOUDS = ("aws", "alicloud", "tencentcloud")
# Rules compare zones, and parameters may hold anything: of these nothing is made up, but for the ids of images.
_TELLING = re.compile(r":get(Availability)?Zones|^aws:ssm/")
_IMAGE = re.compile(r"^ami-")
# As many as programs commonly ask of zones, subnets and the like.
_ITEMS = 3
# Results nest: a list of images has a list of disks each.
_DEEPEST = 3


def answer(token: str, arguments: Mapping[str, Any], region: str | None) -> dict[str, Any]:
    """The result of a function of a provider.

    Args:
        token: The function's token, such as ``aws:ec2/getAmi:getAmi``.
        arguments: What it is given.
        region: Region of the provider that is asked; None where nothing says.

    Returns:
        The result by the names of the protocol.
    """
    package = token.split(":")[0]
    where = region or STAND_IN
    if package in _CLOUDS:
        known = regions(package).get(where)
        made_up = look_up(token, arguments, where, known.partition if known else package)
        if made_up is not None and (not _TELLING.search(token) or _IMAGE.match(str(made_up.get("value")))):
            return made_up
    return {**_declared(token), **arguments}


def _declared(token: str) -> dict[str, Any]:
    """Stand-ins for what the SDK says that a function returns; nothing where the SDK cannot be asked."""
    package, module, function = token.split(":")
    folder = module.partition("/")[0]
    home = sdk_module(package) + ("" if folder == "index" else f".{folder.lower()}")
    file = f"{home}.{_WORD.sub('_', function).lower()}"
    # find_spec imports the package around the module, which may not exist either.
    if find_spec(sdk_module(package)) is None or find_spec(home) is None or find_spec(file) is None:
        return {}
    result = getattr(import_module(file), f"{function[:1].upper()}{function[1:]}Result", None)
    return _of_class(result, home, _DEEPEST) if inspect.isclass(result) else {}


def _of_class(result: type, home: str, deepest: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in vars(result).items():
        if isinstance(value, property) and value.fget is not None:
            stand_in = _stand_in(value.fget.__annotations__.get("return"), home, deepest)
            if stand_in is not None:
                found[getattr(value.fget, "_pulumi_name", name)] = stand_in
    return found


def _stand_in(kind: Any, home: str, deepest: int) -> Any:
    if kind is str:
        return STAND_IN
    if isinstance(kind, (str, typing.ForwardRef)):
        name = (kind if isinstance(kind, str) else kind.__forward_arg__).removeprefix("outputs.")
        nested = getattr(import_module(f"{home}.outputs"), name, None)
        return _of_class(nested, home, deepest - 1) if inspect.isclass(nested) and deepest else None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        known = (_stand_in(part, home, deepest) for part in arguments)
        return next((found for found in known if found is not None), None)
    if inspect.isclass(origin) and issubclass(origin, Sequence):
        item = _stand_in(arguments[0], home, deepest)
        return None if item is None else [item] * _ITEMS
    return None
