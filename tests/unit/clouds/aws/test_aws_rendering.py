"""What must hold for every resource of every stack, in a preview and in an update."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ..conftest import STACKS
from ..recorder import UNKNOWN, Rendered, rendered_stack

DATA = {"aws:s3/bucket:Bucket", "aws:fsx/lustreFileSystem:LustreFileSystem"}
GLOBAL_SERVICES = ("aws:iam/", "aws:budgets/")
# Keys below these are a person's own words, or a service's own.
FREE_KEYS = {"tags", "targetTags", "tagsToAdd", "dimensions"}
CAMEL_CASE = re.compile(r"^[a-z][a-zA-Z0-9]*$")


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in FREE_KEYS:
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def cloud_resources(rendered: Rendered) -> list[Any]:
    found = [one for one in rendered if one.type.startswith("aws:")]
    assert found
    return found


def test_br_085_no_output_was_written_into_a_text(stack: Rendered):
    for found in stack:
        for text in (found.name, *strings(found.inputs)):
            assert "Calling __str__" not in text, found.name
            assert "<pulumi." not in text, found.name


def test_br_080_every_key_is_camel_case(stack: Rendered):
    for found in stack:
        assert [key for key in keys(found.inputs) if not CAMEL_CASE.match(key)] == [], found.name


@pytest.mark.parametrize("name", STACKS)
def test_every_regional_resource_names_its_region(name: str, preview: bool):
    rendered = rendered_stack(name, preview=preview)
    regions = {"aws-dev": {"us-east-1"}, "aws-staging": {"us-west-2"}, "aws-prod": {"us-east-1", "us-west-2"}}[name]
    found = {
        one.name: one.inputs.get("region")
        for one in cloud_resources(rendered)
        if not one.type.startswith(GLOBAL_SERVICES)
    }
    assert {name for name, region in found.items() if region not in regions} == set()
    away = {name for name, region in found.items() if region != min(regions)}
    assert all("replica" in name for name in away)


@pytest.mark.parametrize("name", STACKS)
def test_br_079_only_data_is_protected_and_only_in_prod(name: str, preview: bool):
    protected = {found.name for found in rendered_stack(name, preview=preview) if found.request.protect}
    expected = {"aws-prod-checkpoints", "aws-prod-replica", "aws-prod-lustre"} if name == "aws-prod" else set()
    assert protected == expected


@pytest.mark.parametrize("name", STACKS)
def test_br_079_data_follows_the_flag_whatever_the_environment(name: str):
    from gpuyard import TrainingCluster

    from ..recorder import render, stack_cluster

    for flag in (True, False):
        cluster: Any = {**stack_cluster(name), "protect_data": flag}
        rendered = render(lambda cluster=cluster: TrainingCluster(name, cluster), preview=False)
        data = [found for found in rendered if found.type in DATA]
        assert data
        assert {bool(found.request.protect) for found in data} == {flag}
        assert not any(found.request.protect for found in rendered if found.type not in DATA)


def test_every_resource_belongs_to_a_component(stack: Rendered):
    components = {found.name for found in stack if found.type.startswith("gpuyard:")}
    assert all(found.parent in components for found in cloud_resources(stack))


@pytest.mark.parametrize("name", STACKS)
def test_a_preview_registers_what_the_update_does(name: str):
    preview, update = (rendered_stack(name, preview=flag) for flag in (True, False))
    assert sorted((found.type, found.name) for found in preview) == sorted((found.type, found.name) for found in update)


@pytest.mark.parametrize("name", STACKS)
def test_what_is_known_before_the_update_is_the_same_in_the_preview(name: str):
    def same(before: Any, after: Any) -> bool:
        if before in (UNKNOWN, after):
            return True
        if isinstance(before, dict):
            return before.keys() == after.keys() and all(same(before[key], after[key]) for key in before)
        if isinstance(before, list):
            return len(before) == len(after) and all(map(same, before, after))
        return False

    update = {(found.type, found.name): found.inputs for found in rendered_stack(name, preview=False)}
    for found in rendered_stack(name, preview=True):
        assert same(found.inputs, update[found.type, found.name]), found.name


@pytest.mark.parametrize("name", STACKS)
def test_no_two_resources_share_type_and_name(name: str):
    found = [(one.type, one.name) for one in rendered_stack(name, preview=False)]
    assert len(found) == len(set(found))


def test_everything_that_takes_tags_names_its_cluster(stack: Rendered):
    cluster = stack.one("TrainingCluster").name
    tagged = [found for found in cloud_resources(stack) if isinstance(found.inputs.get("tags"), dict)]
    assert len(tagged) > 20
    assert {found.inputs["tags"].get("gpuyard:cluster") for found in tagged} == {cluster}


def test_tags_of_people_are_on_everything_that_takes_tags():
    from gpuyard import TrainingCluster

    from ..recorder import render, stack_cluster

    cluster: Any = {**stack_cluster("aws-prod"), "tags": {"team": "vision"}}
    rendered = render(lambda: TrainingCluster("aws-prod", cluster), preview=False)
    for found in cloud_resources(rendered):
        tags = found.inputs.get("tags")
        if isinstance(tags, list):
            assert {"key": "team", "value": "vision", "propagateAtLaunch": False} in tags
        elif tags is not None:
            assert tags["team"] == "vision"
