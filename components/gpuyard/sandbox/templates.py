"""Text with slots: how the sandbox's data writes the ids and outputs that a cloud makes up.

``{hex8}``, ``{HEX8}``, ``{alnum8}`` and ``{num8}`` are random; ``{uuid}``, ``{byte}`` and ``{now}`` are new each time
too. ``{in.x|y|=z}`` is the first of the inputs x and y that was given, else the text z; ``{name}`` is a slot of that
name. Instead of a text a mapping ``{"of": "x", "cases": {regex: template}}`` chooses by the input x: the first that
matches.
"""

import random
import re
import secrets
import string
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

_SLOT = re.compile(r"\{([^{}]+)\}")
_RANDOM = re.compile(r"(hex|HEX|alnum|num)(\d+)")
_ALPHABETS = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "alnum": string.ascii_lowercase + string.digits,
    "num": string.digits,
}
_NEW: dict[str, Callable[[], str]] = {
    "uuid": lambda: str(uuid.uuid4()),
    "byte": lambda: str(secrets.randbelow(254) + 1),
    "now": lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
}


def filled(
    template: Any, slots: Mapping[str, str], inputs: Mapping[str, Any], chance: random.Random | None = None
) -> Any:
    """A template with every slot filled, at any depth of lists and mappings.

    Args:
        template: Text with slots, or lists and mappings of them; other values stay as they are.
        slots: Values of the named slots.
        inputs: What ``{in.…}`` reads. A text that is nothing but such a slot keeps the input's type.
        chance: Where the random letters come from; the system's own chance when left out.

    Returns:
        The value.

    Raises:
        KeyError: The template names a slot that nobody fills.
    """
    if isinstance(template, list):
        return [filled(item, slots, inputs, chance) for item in cast(list[Any], template)]
    if isinstance(template, Mapping):
        return _filled_mapping(cast(Mapping[str, Any], template), slots, inputs, chance)
    if not isinstance(template, str):
        return template
    whole = re.fullmatch(r"\{in\.([^{}]+)\}", template)
    if whole:
        return _input(whole[1], inputs)
    return _SLOT.sub(lambda match: str(_slot(match[1], slots, inputs, chance)), template)


def _filled_mapping(
    template: Mapping[str, Any], slots: Mapping[str, str], inputs: Mapping[str, Any], chance: random.Random | None
) -> Any:
    if "cases" not in template:
        return {key: filled(value, slots, inputs, chance) for key, value in template.items()}
    given = str(inputs.get(template["of"]) or "")
    chosen = next(text for pattern, text in template["cases"].items() if re.search(pattern, given))
    return filled(chosen, slots, inputs, chance)


def _slot(name: str, slots: Mapping[str, str], inputs: Mapping[str, Any], chance: random.Random | None) -> Any:
    if name.startswith("in."):
        return _input(name[3:], inputs)
    if name in slots:
        return slots[name]
    if name in _NEW:
        return _NEW[name]()
    shape = _RANDOM.fullmatch(name)
    if shape is None:
        raise KeyError(name)
    return "".join((chance or secrets.SystemRandom()).choices(_ALPHABETS[shape[1]], k=int(shape[2])))


def _input(names: str, inputs: Mapping[str, Any]) -> Any:
    for name in names.split("|"):
        if name.startswith("="):
            return name[1:]
        if inputs.get(name) is not None:
            return inputs[name]
    return ""
