"""How a simulated cloud answers: ids, computed outputs, names, and what a change replaces."""

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, cast

from gpuyard.sandbox.check import Allowed
from gpuyard.sandbox.schema import ResourceSchema
from gpuyard.sandbox.templates import filled

# Of a template every change makes a new version: the output that counts them, the flag that makes the newest the
# default, and the output that says which the default is.
VERSIONS = {
    "latestVersion": ("updateDefaultVersion", "defaultVersion"),
    "latestVersionNumber": ("updateDefaultVersionNumber", "defaultVersionNumber"),
}
# A property of every resource of these clouds; where there is none, a resource is where its provider is.
REGION_PROPERTIES = {"aws": "region"}


@dataclass(frozen=True)
class Behaviour:
    """One resource type's behaviour; ``source`` says where ``replace_on`` is from.

    A path of ``replace_on`` names a property whose change replaces the resource, through lists and objects by dots; one
    that ends in ``[]`` means only how many there are, and not what is in them.
    """

    id: Any
    replace_on: tuple[str, ...]
    outputs: Mapping[str, Any]
    source: str
    auto_name: str | None = None
    auto_form: str | None = None
    allowed: Mapping[str, Allowed] = field(default_factory=dict[str, Allowed])


@dataclass(frozen=True)
class Cloud:
    """One cloud's behaviours by type token, the made-up account they are in, and what its functions return."""

    account: str
    types: Mapping[str, Behaviour]
    constants: Mapping[str, str]
    functions: Mapping[str, Mapping[str, Any]]


@cache
def cloud(package: str) -> Cloud:
    """The behaviours of one cloud, from the package's data."""
    data = json.loads((files("gpuyard.sandbox") / "data" / f"{package}.json").read_text(encoding="utf-8"))
    source = data.get("source", "")
    types = {token: _behaviour(token, row, source) for token, row in data["types"].items()}
    return Cloud(data["account"], types, data.get("constants", {}), data.get("functions", {}))


def behaviour(token: str) -> Behaviour:
    """One type's behaviour; a plain one for a type without data."""
    known = cloud(token.split(":")[0]).types.get(token)
    return known or Behaviour(_plain_id(token), (), {}, "none: a type without data replaces on nothing")


def auto_name(token: str, schema: ResourceSchema, inputs: Mapping[str, Any], urn: str, seed: bytes) -> dict[str, str]:
    """The physical name a provider gives when the program gives none: the logical name and seven random characters.

    Args:
        token: Type token.
        schema: The type's schema.
        inputs: What the program gave.
        urn: The resource's URN.
        seed: The engine's random seed of this resource.

    Returns:
        The name property and its value; empty when the type has none or the program gave one.
    """
    how = behaviour(token)
    key = how.auto_name
    if key is None or key not in schema.inputs.properties:
        return {}
    if inputs.get(key) is not None or inputs.get(f"{key}Prefix") is not None:
        return {}
    chance = random.Random(seed or urn.encode())  # noqa: S311 - a name, not a secret
    if how.auto_form is not None:
        return {key: filled(how.auto_form, {}, inputs, chance)}
    suffix = chance.randrange(16**7)
    name = urn.rsplit("::", 1)[1].lower() if token.endswith(":Bucket") else urn.rsplit("::", 1)[1]
    return {key: f"{name[:55]}-{suffix:07x}"}


def computed(
    token: str, schema: ResourceSchema, inputs: Mapping[str, Any], region: str, partition: str
) -> tuple[str, dict[str, Any]]:
    """A new thing's id and all its outputs: its inputs, and what the cloud adds.

    Args:
        token: Type token.
        schema: The type's schema.
        inputs: Checked inputs.
        region: Region it is made in.
        partition: Partition of that region.

    Returns:
        The id and the outputs.
    """
    how = behaviour(token)
    package, module, _ = token.split(":")
    slots = slots_of(package, region, partition)
    # A thing that is known by its name, and was given none, has at least an id.
    resource_id = str(filled(how.id, slots, inputs)) or str(filled(_plain_id(token), slots, inputs))
    # An id may be made of those of other things; what this one adds to them is its last part.
    slots |= {"id": resource_id, "id_tail": resource_id.rsplit(":", 1)[-1]}
    outputs: dict[str, Any] = dict(inputs)
    if package == "aws":
        outputs |= _of_every_aws_resource(schema, inputs, module, slots)
    for name, template in how.outputs.items():
        if inputs.get(name) is None:
            outputs[name] = filled(template, slots, inputs)
            slots[f"out.{name}"] = str(outputs[name])
    return resource_id, outputs


def known_after_update(token: str, schema: ResourceSchema, inputs: Mapping[str, Any]) -> set[str]:
    """Names of what a thing that is still to be made will put out, and nobody can know before."""
    added = {name for name in behaviour(token).outputs if inputs.get(name) is None}
    return (set(schema.output_names) - {"id", "urn", *schema.inputs.properties}) | added


def after_update(token: str, old: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A changed thing's outputs: what the cloud added before, with the new inputs; a template gets a new version."""
    added = behaviour(token).outputs
    kept = {key: value for key, value in old.items() if key in added or key in ("arn", "region")}
    outputs = {**kept, **inputs}
    if "tagsAll" in old:
        outputs["tagsAll"] = inputs.get("tags") or {}
    for version, (newest_is_default, default) in VERSIONS.items():
        if version in added:
            outputs[version] = int(old.get(version, 0)) + 1
            if inputs.get(newest_is_default):
                outputs[default] = outputs[version]
    return outputs


def replacing(token: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """Paths at which two sets of inputs differ so that the thing is replaced; empty when it can be changed.

    Args:
        token: Type token.
        old: Inputs before.
        new: Inputs after; values not known yet count as different.

    Returns:
        Paths of the type's ``replace_on``, and the region's property where the cloud has one.
    """
    region = REGION_PROPERTIES.get(token.split(":")[0])
    paths = {*behaviour(token).replace_on, *([region] if region else [])}
    return {path for path in paths if _values(old, path.split(".")) != _values(new, path.split("."))}


def slots_of(package: str, region: str, partition: str) -> dict[str, str]:
    """The named slots that every template of one cloud may use."""
    known = cloud(package)
    return {
        **known.constants,
        "region": region,
        "partition": partition,
        "account": known.account,
        "dns_suffix": "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com",
    }


def _behaviour(token: str, row: Mapping[str, Any], source: str) -> Behaviour:
    return Behaviour(
        id=row.get("id", _plain_id(token)),
        replace_on=tuple(row["replace_on"]),
        outputs=row.get("outputs", {}),
        source=row.get("source", source),
        auto_name=row.get("auto_name"),
        auto_form=row.get("auto_form"),
        allowed={path: Allowed(**rule) for path, rule in row.get("allowed", {}).items()},
    )


def _of_every_aws_resource(
    schema: ResourceSchema, inputs: Mapping[str, Any], module: str, slots: Mapping[str, str]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "arn" in schema.output_names and "arn" not in inputs:
        found["arn"] = filled(f"arn:{{partition}}:{module.split('/')[0]}:{{region}}:{{account}}:{{id}}", slots, {})
    if "tagsAll" in schema.output_names:
        found["tagsAll"] = inputs.get("tags") or {}
    if "region" in schema.output_names:
        found["region"] = slots["region"]
    return found


def _values(value: Any, path: list[str]) -> list[Any]:
    """What is at a path, through every list on the way; a count for a last part that ends in ``[]``."""
    if value is None or not path:
        return [] if value is None else [value]
    if isinstance(value, list):
        return [found for item in cast(list[Any], value) for found in _values(item, path)]
    if not isinstance(value, Mapping):
        return [value]
    inner = cast(Mapping[str, Any], value).get(path[0].removesuffix("[]"))
    if path[0].endswith("[]"):
        return [len(cast(list[Any], inner))] if isinstance(inner, list) else [inner is not None]
    return _values(inner, path[1:])


def _plain_id(token: str) -> str:
    name = token.split(":")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower() + "-{hex17}"
