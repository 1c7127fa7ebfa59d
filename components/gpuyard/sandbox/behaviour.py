"""How a simulated cloud answers: ids, computed outputs, names, and what a change replaces."""

import hashlib
import json
import random
import re
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

from gpuyard.sandbox.schema import ResourceSchema

_SLOT = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class Behaviour:
    """One resource type's behaviour; ``source`` says where ``replace_on`` is from."""

    id: str
    replace_on: tuple[str, ...]
    outputs: Mapping[str, Any]
    source: str
    auto_name: str | None = None


@dataclass(frozen=True)
class Cloud:
    """One cloud's behaviours by type token, and the made-up account they are in."""

    account: str
    types: Mapping[str, Behaviour]


@cache
def cloud(package: str) -> Cloud:
    """The behaviours of one cloud, from the package's data."""
    data = json.loads((files("gpuyard.sandbox") / "data" / f"{package}.json").read_text(encoding="utf-8"))
    types = {
        token: Behaviour(
            id=row["id"],
            replace_on=tuple(row["replace_on"]),
            outputs=row["outputs"],
            source=row["source"],
            auto_name=row.get("auto_name"),
        )
        for token, row in data["types"].items()
    }
    return Cloud(data["account"], types)


def behaviour(token: str) -> Behaviour:
    """One type's behaviour; a plain one for a type without data."""
    package, _, name = token.split(":")
    known = cloud(package).types.get(token)
    plain = Behaviour(f"{_kebab(name)}-{{hex17}}", (), {}, "none: a type without data replaces on nothing")
    return known or plain


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
    key = behaviour(token).auto_name
    if key is None or key not in schema.inputs.properties:
        return {}
    if inputs.get(key) is not None or inputs.get(f"{key}Prefix") is not None:
        return {}
    suffix = random.Random(seed or urn.encode()).randrange(16**7)  # noqa: S311 - a name, not a secret
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
    slots: dict[str, str] = {
        "region": region,
        "partition": partition,
        "account": cloud(package).account,
        "dns_suffix": "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com",
    }
    resource_id = _filled(how.id, slots, inputs)
    slots["id"] = resource_id
    outputs: dict[str, Any] = dict(inputs)
    if "arn" in schema.output_names and "arn" not in inputs:
        service = module.split("/")[0]
        outputs["arn"] = f"arn:{partition}:{service}:{region}:{slots['account']}:{resource_id}"
    if "tagsAll" in schema.output_names:
        outputs["tagsAll"] = inputs.get("tags") or {}
    if "region" in schema.output_names:
        outputs["region"] = region
    for name, template in how.outputs.items():
        if inputs.get(name) is None:
            outputs[name] = _filled(template, slots, inputs)
    return resource_id, outputs


def after_update(token: str, old: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A changed thing's outputs: what the cloud added before, with the new inputs; a template gets a new version."""
    added = behaviour(token).outputs
    kept = {key: value for key, value in old.items() if key in added or key in ("arn", "region")}
    outputs = {**kept, **inputs}
    if "tagsAll" in old:
        outputs["tagsAll"] = inputs.get("tags") or {}
    if "latestVersion" in added:
        outputs["latestVersion"] = int(old.get("latestVersion", 0)) + 1
        if inputs.get("updateDefaultVersion"):
            outputs["defaultVersion"] = outputs["latestVersion"]
    return outputs


def look_up(
    token: str, arguments: Mapping[str, Any], region: str, partition: str, account: str
) -> dict[str, Any] | None:
    """What a function of the provider returns, or None when the sandbox does not simulate it."""
    if token == "aws:ssm/getParameter:getParameter":
        name = str(arguments.get("name"))
        digest = hashlib.sha256(f"{region}{name}".encode()).hexdigest()
        where = str(arguments.get("region") or region)
        return {
            "id": name,
            "name": name,
            "region": where,
            "arn": f"arn:{partition}:ssm:{where}:{account}:parameter{name}",
            "type": "String",
            "value": f"ami-{digest[:17]}" if name.endswith(("ami-id", "image_id")) else digest[:17],
            "insecureValue": "",
            "version": 1,
        }
    if token == "aws:index/getCallerIdentity:getCallerIdentity":
        return {
            "id": account,
            "accountId": account,
            "arn": f"arn:{partition}:iam::{account}:user/sandbox",
            "userId": "AIDASANDBOX",
        }
    if token == "aws:index/getRegion:getRegion":
        return {
            "id": region,
            "name": region,
            "region": region,
            "description": region,
            "endpoint": f"ec2.{region}.amazonaws.com",
        }
    if token == "aws:index/getPartition:getPartition":
        return {
            "id": partition,
            "partition": partition,
            "dnsSuffix": "amazonaws.com",
            "reverseDnsPrefix": "com.amazonaws",
        }
    return None


def _filled(template: Any, slots: Mapping[str, str], inputs: Mapping[str, Any]) -> Any:
    if isinstance(template, list):
        return [_filled(item, slots, inputs) for item in cast(list[Any], template)]
    if not isinstance(template, str):
        return template
    whole = re.fullmatch(r"\{in\.([^{}]+)\}", template)
    if whole:
        return _input(whole[1], inputs)
    return _SLOT.sub(lambda match: str(_slot(match[1], slots, inputs)), template)


def _slot(name: str, slots: Mapping[str, str], inputs: Mapping[str, Any]) -> Any:
    if name.startswith("in."):
        return _input(name[3:], inputs)
    if name in slots:
        return slots[name]
    if name == "uuid":
        return str(uuid.uuid4())
    if name == "byte":
        return str(secrets.randbelow(254) + 1)
    length = int(name[3:])
    text = secrets.token_hex(length)[:length]
    return text.upper() if name.startswith("HEX") else text


def _input(names: str, inputs: Mapping[str, Any]) -> Any:
    return next((inputs[name] for name in names.split("|") if inputs.get(name) is not None), "")


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
