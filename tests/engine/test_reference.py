"""The references say what the models, the catalog and the planner say: keys, limits, file systems, tiers, refusals."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpuyard.catalog.file_stores import ParallelFileSystem, object_storage_classes, parallel_file_systems
from gpuyard.catalog.limits import limit
from gpuyard.planning.alicloud.file_system_kinds import classes_of
from gpuyard.planning.cluster import try_plan_cluster
from gpuyard.planning.tencentcloud.file_system import file_system_kinds
from gpuyard.spec.models import ClusterSpec
from gpuyard.spec.parse import parse_spec
from gpuyard.spec.problems import SpecError
from gpuyard.spec.stack_file import read_stack_file
from tests.engine.conftest import REPOSITORY

TEMPLATES = Path(str(files("gpuyard.bootstrap") / "templates"))
AWS, OTHERS = "aws", ("alicloud", "tencentcloud")
PAGES = {cloud: (REPOSITORY / "docs" / f"{cloud}.md").read_text() for cloud in (AWS, *OTHERS)}
# Of other clouds; AWS refuses 'purchase: prepaid'.
NOT_OF_AWS = {"alicloud", "tencentcloud", "prepaid"}
KEYS = r"^\| `([A-Za-z_.]+)` \| ([^|]*) \| ([^|]*) \|$"
LIMITS = r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$"
PURCHASES = r"^\| `(\w+)` \| [^|]* \|$"
SCRIPTS = r"^\| `(\d\d-[a-z-]+\.sh)` \| [^|]* \|$"
REFUSED = r"^\| `([^`]+: [^`]+)` \| ([^|]*) \|$"
TIERS = r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$"
FILE_SYSTEMS = r"^\| `([^`]+)` \|" + r" ([^|]*) \|" * 5 + "$"


def rows(pattern: str, cloud: str) -> list[Any]:
    return re.findall(pattern, PAGES[cloud], flags=re.M)


def models_in(annotation: Any) -> Iterator[tuple[bool, type[BaseModel]]]:
    """Models of a field, each with whether it stands under names that a person chooses."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield False, annotation
    named = get_origin(annotation) is dict
    for inner in get_args(annotation):
        yield from ((named or below, model) for below, model in models_in(inner))


def fields(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        path = f"{above}{name}"
        yield path, field
        for named, inner in dict.fromkeys(models_in(field.annotation)):
            yield from fields(inner, f"{path}.{'NAME.' if named else ''}")


def default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value: Any = field.default
    if value is None or value in ({}, []) or isinstance(value, BaseModel):
        return "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def known_keys(cloud: str) -> dict[str, tuple[str, str]]:
    """Keys that a cloud's page lists: of AWS all that it takes, of another cloud those that AWS does not take."""
    elsewhere = NOT_OF_AWS if cloud == AWS else NOT_OF_AWS - {cloud, "prepaid"}
    return {
        path: (default_of(field), re.sub(r"``", "`", field.description or "").removesuffix("."))
        for path, field in fields(ClusterSpec)
        if elsewhere.isdisjoint(path.split(".")) and (cloud == AWS or not NOT_OF_AWS.isdisjoint(path.split(".")))
    }


def words_of(values: tuple[Any, ...]) -> str:
    """Values of a limit as a page shows them; a pair has a colon in between."""
    if any(isinstance(value, list) for value in values):
        return "; ".join(": ".join(map(str, value)) for value in values)
    return ", ".join(map(str, values))


def number(value: float | None) -> str:
    return "?" if value is None else f"{value:.7g}"


def built_file_systems(cloud: str) -> list[ParallelFileSystem]:
    if cloud == "tencentcloud":
        return file_system_kinds(cloud)
    return [parallel_file_systems(cloud)[one.words] for one in classes_of("cpfs")]


def node_scripts(cloud: str | None) -> set[str]:
    """The parts of one cloud's nodes, or those of every node."""
    folder = TEMPLATES if cloud is None else TEMPLATES / cloud
    return {path.name for path in folder.glob("[0-9][0-9]-*.sh")}


def cluster_of(stack: str) -> dict[str, Any]:
    cluster: Any = read_stack_file(REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml").cluster
    return copy.deepcopy(cluster)


def with_asked_for(cluster: dict[str, Any], asked: str) -> dict[str, Any]:
    ((path, value),) = yaml.safe_load(asked).items()
    *above, last = path.split(".")
    at = cluster
    for part in above:
        at = at.setdefault(part, {})
    at[last] = value
    return cluster


def answers(cluster: dict[str, Any]) -> list[str]:
    try:
        _, problems = try_plan_cluster(parse_spec(ClusterSpec, cluster), "stack")
    except SpecError as error:
        problems = list(error.problems)
    return [problem.message for problem in problems]


@pytest.mark.parametrize("cloud", PAGES)
def test_every_key_is_there_with_its_default_and_meaning(cloud: str) -> None:
    shown = {key: (default, meaning) for key, default, meaning in rows(KEYS, cloud)}
    assert shown == known_keys(cloud)


def test_the_pages_together_have_every_key() -> None:
    shown = {key for cloud in PAGES for key, *_ in rows(KEYS, cloud)}
    assert shown == {path for path, _ in fields(ClusterSpec)}
    assert len(known_keys(AWS)) > 90


@pytest.mark.parametrize(
    ("cloud", "name", "values", "meaning", "source"), [(cloud, *row) for cloud in PAGES for row in rows(LIMITS, cloud)]
)
def test_every_limit_is_the_catalogs(cloud: str, name: str, values: str, meaning: str, source: str) -> None:
    row = limit(cloud, name)
    assert (values, meaning, source) == (words_of(row.values), row.meaning, row.source)


@pytest.mark.parametrize(
    ("cloud", "names"),
    {
        AWS: {
            "snapshot_interval_hours",
            "capacity_block_nodes_max",
            "lifecycle_hook_seconds",
            "log_retention_days",
            "lustre_metadata_iops",
            "budget_email_addresses_max",
        },
        "alicloud": {
            "private_pool_id_prefixes",
            "prepaid_months",
            "erdma_mtu_bytes",
            "deployment_set_nodes_max",
            "cpfs_regions",
            "nas_extreme_mb_per_s",
            "snapshots_per_disk_max",
            "lifecycle_hook_seconds",
            "monitoring_lacks",
        },
        "tencentcloud": {
            "prepaid_months",
            "rdma_only_type_prefixes",
            "thpc_families",
            "hpc_cluster_nodes_quota",
            "file_system_clients_max",
            "snapshot_keep_days_max",
            "snapshots_per_disk",
            "snapshot_utc_offset_hours",
            "lifecycle_hook_seconds",
            "monitoring_lacks",
        },
    }.items(),
)
def test_the_limits_that_people_meet_are_shown(cloud: str, names: set[str]) -> None:
    assert {name for name, *_ in rows(LIMITS, cloud)} >= names


@pytest.mark.parametrize("cloud", OTHERS)
def test_the_limits_that_the_text_points_to_are_shown(cloud: str) -> None:
    text = re.findall(r"`(\w+)`(?: and `(\w+)`)? below", " ".join(PAGES[cloud].split()))
    pointed_to = {name for names in text for name in names if name}
    assert pointed_to
    assert pointed_to <= {name for name, *_ in rows(LIMITS, cloud)}


@pytest.mark.parametrize("cloud", OTHERS)
def test_every_way_to_buy_is_there(cloud: str) -> None:
    assert tuple(rows(PURCHASES, cloud)) == limit(cloud, "purchases").values


@pytest.mark.parametrize("cloud", OTHERS)
def test_every_file_system_that_is_built_is_there_with_its_steps_and_throughput(cloud: str) -> None:
    built = built_file_systems(cloud)
    assert rows(FILE_SYSTEMS, cloud) == [
        (
            kind.name,
            number(kind.capacity_min_gib),
            number(kind.capacity_step_gib),
            number(kind.capacity_max_gib),
            ", ".join(map(number, kind.throughput_mb_per_s_per_tib or ())),
            number(kind.throughput_max_mb_per_s),
        )
        for kind in built
    ]
    assert {kind.source for kind in built} <= set(rows(r"^Source: (.*)$", cloud))


@pytest.mark.parametrize("cloud", OTHERS)
def test_every_tier_is_there_with_its_class_and_what_is_billed_at_least(cloud: str) -> None:
    classes = [row for row in object_storage_classes(cloud).values() if row.tier is not None]
    assert rows(TIERS, cloud) == [
        (
            row.tier,
            row.name,
            number(row.min_storage_days),
            number(row.billed_object_min_kib),
            ", ".join(row.moves_on_to or ()) or "none",
        )
        for row in classes
    ]
    assert {row.source for row in classes} <= set(rows(r"^Source: (.*)$", cloud))


@pytest.mark.parametrize("cloud", PAGES)
def test_every_script_of_a_node_is_there_in_its_order(cloud: str) -> None:
    assert rows(SCRIPTS, cloud) == sorted(node_scripts(cloud))


def test_every_part_of_every_node_is_told() -> None:
    page = (REPOSITORY / "docs" / "node.md").read_text()
    assert {name for name in node_scripts(None) if f"`{name.removesuffix('.sh')}`" not in page} == set()


@pytest.mark.parametrize(
    ("cloud", "asked", "answer"), [(cloud, *row) for cloud in OTHERS for row in rows(REFUSED, cloud)]
)
def test_what_is_refused_gets_the_answer_that_is_shown(cloud: str, asked: str, answer: str) -> None:
    cluster = cluster_of(f"{cloud}-prod")
    assert answers(cluster) == []
    assert answer in answers(with_asked_for(cluster, asked))


@pytest.mark.parametrize("cloud", OTHERS)
def test_what_monitoring_lacks_is_among_the_refused(cloud: str) -> None:
    refused = {asked.split(":")[0] for asked, _ in rows(REFUSED, cloud)}
    assert {f"monitoring.{key}" for key, _ in limit(cloud, "monitoring_lacks").values} <= refused


@pytest.mark.parametrize("cloud", OTHERS)
def test_every_made_up_value_of_a_stack_or_a_machine_is_told(cloud: str) -> None:
    stacks = (REPOSITORY / "stacks").glob(f"Pulumi.{cloud}-*.yaml")
    # What stands for an id of the reader's own is no claim about the cloud.
    examples = (REPOSITORY / "examples" / cloud).glob("*/Pulumi.*.yaml")
    files = [*stacks, *(path for path in examples if path.parent.name != "existing-network")]
    made_up = {
        value for path in files for value in re.findall(r"# (?:.*\. )?Made up:.*\n\s*\S+: (\S+)", path.read_text())
    }
    (told,) = re.findall(r"^## Unverified, and made up\n(.*?)^## ", PAGES[cloud], flags=re.M | re.S)
    assert made_up
    assert {value for value in made_up if not re.search(rf"\b{re.escape(value)}`", told)} == set()
