"""Values as they travel between programs, engine and state, as plain data with Unknowns.

Source of the marks: pulumi/pulumi, sdk/go/common/resource/properties.go and sdk/python/lib/pulumi/runtime/rpc.py.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from gpuyard.sandbox.marks import SIGNATURE, UNKNOWN
from gpuyard_policy.facts import Unknown

# A text that stands for a value which nobody here can know: it may be a part of a longer text.
STAND_IN = "{gpuyard: not known here}"

# The same for what a cloud gives a resource when it makes it: its id, its ARN, its address.
LATER = "{gpuyard: known after the update}"

# Texts that programs put together, and that rules read as a whole: what is not known in them is a word among others.
_DOCUMENT = re.compile(r"(^|\.)(policy|policyDocument|assumeRolePolicy|document|userData|userDataRaw|userDataBase64)$")
_SECRET = "1b47061264138c4ac30d75fd1eb44270"
_ASSET = "c44067f5952c0a294b673a41bacd8c17"
_RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e"
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"


def plain_properties(values: Mapping[str, Any]) -> dict[str, Any]:
    """A resource's properties as plain data; a value that is not known is an Unknown that says why."""
    return {key: plain(value, key) for key, value in values.items() if not key.startswith("__")}


def plain(value: Any, path: str) -> Any:
    """One value as plain data.

    Args:
        value: What travels: scalars, lists, mappings and marked mappings.
        path: Where it stands, for the reason of an Unknown.

    Returns:
        The same with secrets, assets and references resolved as far as they are known.
    """
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, dict):
        known = cast(dict[str, Any], value)
        if SIGNATURE in known:
            return _marked(known, path)
        return {key: plain(inner, f"{path}.{key}") for key, inner in known.items()}
    if isinstance(value, list):
        return [plain(item, f"{path}[{place}]") for place, item in enumerate(cast(list[Any], value))]
    return value


def _text(value: str, path: str) -> str | Unknown:
    if "{" not in value and value != UNKNOWN:
        return value
    if value == UNKNOWN:
        return Unknown(f"'{path}' is known only after the update")
    if _DOCUMENT.search(path) and value not in (LATER, STAND_IN):
        return value
    if LATER in value:
        return Unknown(f"'{path}' is known only after the update")
    if STAND_IN in value:
        return Unknown(f"'{path}' comes from what only the account or the stack's own backend can tell")
    return value


def _marked(value: Mapping[str, Any], path: str) -> Any:
    kind = value[SIGNATURE]
    if kind == _SECRET:
        return _secret(value, path)
    if kind == _OUTPUT:
        return plain(value["value"], path) if "value" in value else _text(UNKNOWN, path)
    if kind == _RESOURCE:
        return plain(value["id"], path) if value.get("id") else _text(UNKNOWN, path)
    if kind == _ASSET and isinstance(value.get("text"), str):
        return plain(value["text"], path)
    return Unknown(f"'{path}' is a file whose content is not looked at")


def _secret(value: Mapping[str, Any], path: str) -> Any:
    if "value" in value:
        return plain(value["value"], path)
    if isinstance(value.get("plaintext"), str):
        # State holds the plain text of a secret as JSON.
        try:
            return plain(json.loads(value["plaintext"]), path)
        except ValueError:
            return plain(value["plaintext"], path)
    return Unknown(f"'{path}' is encrypted")
