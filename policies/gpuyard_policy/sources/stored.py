"""Resources as the engine writes them down: in the digest of a preview, and in an exported stack."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from gpuyard.spec.problems import Problem, SpecError
from gpuyard_policy.facts import Record
from gpuyard_policy.sources.model import Place
from gpuyard_policy.sources.values import plain, plain_properties

PROVIDER = "pulumi:providers:"
# What lies outside the project's folder, or is installed below it.
_FOREIGN = re.compile(r"^\.\./|(^|/)(site-packages|node_modules)/")
_POSITION = re.compile(r"^project:/{2,3}(?P<file>[^#]+)#(?P<line>\d+)")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        SpecError: The file cannot be read, or holds no JSON object.
    """
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError([Problem((), f"cannot be read: {error.strerror}.", file=str(path))]) from None
    except (ValueError, RecursionError) as error:
        raise SpecError([Problem((), f"is not valid JSON: {error}.", file=str(path))]) from None
    if not isinstance(found, dict):
        raise SpecError([Problem((), "holds no JSON object.", file=str(path), line=1)])
    return cast(dict[str, Any], found)


def records_of(resources: Iterable[Mapping[str, Any]], config: Mapping[str, Any] | None = None) -> tuple[Record, ...]:
    """Records of stored resources.

    The engine judges what a resource puts out, in which everything that was asked for stands again; so it is here.

    Args:
        resources: Resources with ``urn``, ``type``, ``inputs``, ``outputs`` and so on.
        config: The stack's configuration, which default providers have their settings from where they are not listed.

    Returns:
        One record for each, in their order.
    """
    known = list(resources)
    providers = {
        f"{one['urn']}::{one.get('id', '')}": plain_properties(_properties(one))
        for one in known
        if str(one["type"]).startswith(PROVIDER)
    }
    return tuple(_record(one, providers, config or {}) for one in known)


def places_of(resources: Iterable[Mapping[str, Any]]) -> dict[str, Place]:
    """Where each resource was asked for, as far as the engine wrote it down: a line of the project's own."""
    found: dict[str, Place] = {}
    for one in resources:
        frames = [one, *cast(list[Mapping[str, Any]], one.get("stackTrace") or ())]
        positions = (_POSITION.match(str(frame.get("sourcePosition") or "")) for frame in frames)
        own = next((match for match in positions if match and not _FOREIGN.search(match["file"])), None)
        if own:
            found[one["urn"]] = Place(own["file"], int(own["line"]))
    return found


def default_provider(package: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of a package's default provider: what the stack's configuration says of the package."""
    prefix = f"{package}:"
    return {key.removeprefix(prefix): plain(value, key) for key, value in config.items() if key.startswith(prefix)}


def stack_of(urn: str) -> str:
    """The stack that a URN names."""
    return urn.split("::")[0].rsplit(":", 1)[-1]


def faulty(one: Any) -> bool:
    """Whether something is no resource as the engine writes it."""
    if not isinstance(one, dict):
        return True
    known = cast(dict[str, Any], one)
    return not (isinstance(known.get("urn"), str) and known["urn"].count("::") >= 3 and "type" in known)


def _record(one: Mapping[str, Any], providers: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]) -> Record:
    urn, reference = str(one["urn"]), str(one.get("provider") or "")
    depends_on: Mapping[str, Any] = one.get("propertyDependencies") or {}
    props = plain_properties(_properties(one))
    if one.get("id") and "id" not in props:
        props["id"] = one["id"]
    return Record(
        urn=urn,
        type=str(one["type"]),
        name=urn.split("::", 3)[3],
        props=props,
        depends_on={key: tuple(urns or ()) for key, urns in depends_on.items()},
        provider=_provider(reference, providers, config),
        # The engine leaves the key out where it is false.
        protect=bool(one.get("protect")),
    )


def _properties(one: Mapping[str, Any]) -> dict[str, Any]:
    return {**(one.get("inputs") or {}), **(one.get("outputs") or {})}


def _provider(
    reference: str, providers: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]
) -> Mapping[str, Any]:
    if reference in providers:
        return providers[reference]
    # A provider that is still to be made has another id where it stands than where it is referred to.
    urn = reference.rsplit("::", 1)[0]
    for key, props in providers.items():
        if key.rsplit("::", 1)[0] == urn:
            return props
    # A preview lists no default providers; their names begin so.
    kind, _, name = urn.rpartition("::")
    return default_provider(kind.rsplit(PROVIDER, 1)[-1], config) if name.startswith("default") else {}
