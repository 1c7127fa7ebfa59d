"""The reference of AWS's keys says what the models say, and its limits are the catalog's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpuyard.catalog.limits import limit
from gpuyard.spec.models import ClusterSpec
from tests.engine.conftest import REPOSITORY

REFERENCE = (REPOSITORY / "docs" / "aws.md").read_text()
# Of other clouds; AWS refuses 'purchase: prepaid'.
NOT_OF_AWS = {"alicloud", "tencentcloud", "prepaid"}
KEYS = r"^\| `([A-Za-z_.]+)` \| ([^|]*) \| ([^|]*) \|$"
LIMITS = r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$"


def models_in(annotation: Any) -> Iterator[tuple[bool, type[BaseModel]]]:
    """Models of a field, each with whether it stands under names that a person chooses."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield False, annotation
    named = get_origin(annotation) is dict
    for inner in get_args(annotation):
        yield from ((named or below, model) for below, model in models_in(inner))


def fields(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        if name in NOT_OF_AWS:
            continue
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


def test_every_key_is_there_with_its_default_and_meaning() -> None:
    shown = {key: (default, meaning) for key, default, meaning in re.findall(KEYS, REFERENCE, flags=re.M)}
    known = {
        path: (default_of(field), re.sub(r"``", "`", field.description or "").removesuffix("."))
        for path, field in fields(ClusterSpec)
    }
    assert shown == known
    assert len(known) > 90


@pytest.mark.parametrize(("name", "values", "meaning", "source"), re.findall(LIMITS, REFERENCE, flags=re.M))
def test_every_limit_is_the_catalogs(name: str, values: str, meaning: str, source: str) -> None:
    row = limit("aws", name)
    assert (values, meaning, source) == (", ".join(map(str, row.values)), row.meaning, row.source)


def test_the_limits_that_people_meet_are_shown() -> None:
    assert {name for name, *_ in re.findall(LIMITS, REFERENCE, flags=re.M)} >= {
        "snapshot_interval_hours",
        "capacity_block_nodes_max",
        "lifecycle_hook_seconds",
        "log_retention_days",
        "lustre_metadata_iops",
        "budget_email_addresses_max",
    }
