"""What must hold for every resource of every stack on Tencent Cloud, in a preview and in an update."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from ..recorder import Registered, Rendered, rendered_stack
from .helpers import KINDS, failures, of_type, rendered

STACKS = ("tencentcloud-dev", "tencentcloud-staging", "tencentcloud-prod")
CAMEL_CASE = re.compile(r"^[a-z][a-zA-Z0-9]*$")
# Keys below these are a person's own words.
FREE_KEYS = {"tags", "instanceTags"}


@pytest.fixture(params=STACKS)
def cluster(request: pytest.FixtureRequest, preview: bool) -> Rendered:
    """Each stack of this cloud, as a preview and as an update."""
    return rendered_stack(request.param, preview=preview)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
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


def cloud_resources(found: Rendered) -> list[Registered]:
    resources = [one for one in found if one.type.startswith("tencentcloud:")]
    assert resources
    return resources


def test_the_simulated_provider_takes_every_stack(cluster: Rendered):
    assert failures(cluster) == []


def test_br_085_no_output_was_written_into_a_text(cluster: Rendered):
    for one in cluster:
        for text in (one.name, *strings(one.inputs)):
            assert "Calling __str__" not in text, one.name
            assert "<pulumi." not in text, one.name


def test_br_080_every_key_is_camel_case(cluster: Rendered):
    for one in cluster_resources_with_plain_keys(cluster):
        assert [key for key in keys(one.inputs) if not CAMEL_CASE.match(key)] == [], one.name


def cluster_resources_with_plain_keys(found: Rendered) -> list[Registered]:
    # The dimensions of an alarm are keys of the service's own.
    return [one for one in cloud_resources(found) if "Monitor/" not in one.type]


def test_every_resource_has_a_component_as_its_parent(cluster: Rendered):
    for one in cloud_resources(cluster):
        assert "gpuyard:index:" in one.request.parent, one.name


def test_no_machine_and_no_group_is_reached_from_the_internet(cluster: Rendered):
    for one in of_type(cluster, "Instance/instance"):
        assert one["allocatePublicIp"] is False
    for one in of_type(cluster, "As/scalingConfig"):
        assert (one["publicIpAssigned"], one["internetMaxBandwidthOut"]) == (False, 0)
    for one in of_type(cluster, "Security/groupRuleSet"):
        accepted = [rule for rule in one["ingresses"] if rule["action"] == "ACCEPT"]
        assert [rule for rule in accepted if rule.get("cidrBlock") == "0.0.0.0/0"] == []


def test_br_047_every_data_disk_is_encrypted(cluster: Rendered):
    for one in of_type(cluster, "Cbs/storage"):
        assert one["encrypt"] is True
    for token in ("Instance/instance", "As/scalingConfig"):
        assert [one for one in of_type(cluster, token) if "dataDisks" in one] == []


def test_nodes_carry_the_tags_that_policies_read(cluster: Rendered):
    tags = [one["tags"] for one in of_type(cluster, "Instance/instance")]
    tags += [one["instanceTags"] for one in of_type(cluster, "As/scalingConfig")]
    assert tags
    for one in tags:
        assert {"gpuyard:cluster", "gpuyard:pool", "gpuyard:task", "gpuyard:environment"} <= set(one)


def test_br_074_the_same_program_renders_the_same_but_for_when_a_schedule_begins():
    def stable(found: Rendered) -> list[tuple[str, str, Any]]:
        passing = {"startTime", "endTime"}
        return sorted(
            (one.type, one.name, sorted((key, str(value)) for key, value in one.inputs.items() if key not in passing))
            for one in found
        )

    for pool in KINDS.values():
        assert stable(rendered(pool)) == stable(rendered(pool))
