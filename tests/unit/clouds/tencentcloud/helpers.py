"""Clusters on Tencent Cloud, rendered for the engine; and what a simulated provider says of what was rendered."""

import base64
import gzip
from typing import Any

from ruamel.yaml import YAML

from gpuyard import TrainingCluster
from gpuyard.sandbox.behaviour import behaviour
from gpuyard.sandbox.check import check_inputs
from gpuyard.sandbox.schema import resource_schema
from tests.changes import apply_changes

from ..recorder import UNKNOWN, Rendered, render

REGION, ZONE, OTHER_ZONE = "ap-beijing", "ap-beijing-5", "ap-beijing-7"
NODES = "tc-network-nodes-sg-id"
RDMA = {"gpu": "A100", "interconnect": "rdma", "tencentcloud": {"full_type": "HCCPNV4h.48XLARGE1024"}, "nodes": 2}
NVLINK = {"gpu": "A100", "gpus_per_node": 8, "interconnect": "nvlink", "nodes": 2}
SPOT = {"gpu": "A10", "nodes": {"min": 1, "max": 8}, "purchase": "spot", "spot_price_limit": 2.5}
PREPAID = {"purchase": "prepaid", "prepaid": {"months": 12}}
WORKSPACE = {
    "instance_type": "HCCPNV6.96XLARGE2304",
    "interconnect": "rdma",
    "nodes": 2,
    **PREPAID,
    "tencentcloud": {"thpc_space_type": "96A.96XLARGE2304"},
}
KINDS: dict[str, dict[str, Any]] = {"rdma": RDMA, "nvlink": NVLINK, "spot": SPOT, "workspace": WORKSPACE}


def cluster(pool: dict[str, Any], changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """A cluster of one pool that is called ``train``, with values set at dotted paths."""
    found: dict[str, Any] = {
        "cloud": "tencentcloud",
        "region": REGION,
        "zone": ZONE,
        "environment": "staging",
        "name": "tc",
        "workload": {"task": "inference"},
        "node_pools": {"train": dict(pool)},
    }
    apply_changes(found, changes or {})
    return found


def rendered(pool: dict[str, Any], changes: dict[str, Any] | None = None, *, preview: bool = False) -> Rendered:
    """What the engine gets of such a cluster."""
    args: Any = cluster(pool, changes)
    return render(lambda: TrainingCluster("tc", args), preview=preview)


def of_type(found: Rendered, token: str) -> list[dict[str, Any]]:
    """Inputs of every resource of one type, by the token behind ``tencentcloud:``."""
    return [one.inputs for one in found if one.type.startswith(f"tencentcloud:{token}:")]


def machines(found: Rendered) -> list[dict[str, Any]]:
    return sorted(of_type(found, "Instance/instance"), key=lambda one: one["instanceName"])


def failures(found: Rendered) -> list[str]:
    """What the simulated provider refuses: unknown properties, wrong types, values outside the documented ones."""
    said: list[str] = []
    for one in found:
        if not one.type.startswith("tencentcloud:"):
            continue
        schema = resource_schema(one.type)
        assert schema is not None, one.type
        known = {key: value for key, value in one.inputs.items() if value != UNKNOWN}
        said += [
            f"{one.name}: {failure.path}: {failure.reason}"
            for failure in check_inputs(schema.inputs, whole_numbers(one.inputs))
        ]
        for path, allowed in behaviour(one.type).allowed.items():
            if allowed.values and path in known and known[path] not in allowed.values:
                said.append(f"{one.name}: {path}: {known[path]}")
    return said


def whole_numbers(value: Any) -> Any:
    """The wire has floats only; the provider is given whole ones as integers."""
    if isinstance(value, dict):
        return {key: whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [whole_numbers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def written(user_data: str) -> dict[str, str]:
    """The files that user data writes, by path."""
    text = gzip.decompress(base64.b64decode(user_data)).decode()
    return {one["path"]: one["content"] for one in YAML(typ="safe").load(text)["write_files"]}
