"""What a simulated provider's functions return: look-ups of accounts, regions, zones and images.

The sandbox knows no images. Each look-up finds one that is made up from what was asked, the same every time.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from gpuyard.sandbox.behaviour import cloud, slots_of
from gpuyard.sandbox.templates import filled


def look_up(token: str, arguments: Mapping[str, Any], region: str, partition: str) -> dict[str, Any] | None:
    """What a function of the provider returns, or None when the sandbox does not simulate it.

    Args:
        token: The function's token, such as ``alicloud:ecs/getImages:getImages``.
        arguments: What it was given.
        region: Region it looks in.
        partition: Partition of that region.

    Returns:
        The result with camelCase names; what was given is part of it, as with every function of a provider.
    """
    package = token.split(":")[0]
    if package == "aws":
        return _aws(token, arguments, region, partition, cloud("aws").account)
    template = cloud(package).functions.get(token)
    if template is None:
        return None
    asked = json.dumps(dict(arguments), sort_keys=True)
    digest = hashlib.sha256(f"{token}{region}{asked}".encode()).hexdigest()
    words = {f"words.{key}": _literal_part(value) for key, value in arguments.items() if isinstance(value, str)}
    slots = {**slots_of(package, region, partition), "digest8": digest[:8], "digest17": digest[:17]}
    return {**arguments, **filled(template, slots, {**arguments, **words})}


def _literal_part(pattern: str) -> str:
    """A name that fits a pattern people use to find one: the letters of it, without what is special in a regex."""
    return re.sub(r"\\[a-zA-Z]|[^\w. -]", "", pattern).replace(".*", "").strip(".")


def _aws(token: str, arguments: Mapping[str, Any], region: str, partition: str, account: str) -> dict[str, Any] | None:
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
