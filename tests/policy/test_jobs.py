"""Single machines that one job runs on are judged as one job."""

from typing import Any

import pytest

from gpuyard_policy.facts import Unknown
from gpuyard_policy.facts.collect import collect_facts
from gpuyard_policy.facts.model import Record
from tests.policy.resources import record

AWS, ALICLOUD, TENCENT = (
    "aws:ec2/instance:Instance",
    "alicloud:ecs/instance:Instance",
    "tencentcloud:Instance/instance:Instance",
)


def machines(kind: str, count: int, **props: Any) -> list[Record]:
    return [record(kind, f"node-{number}", {"instanceType": "x", **props}) for number in range(count)]


def sizes(records: list[Record]) -> list[int | None]:
    return [pool.job_nodes for pool in collect_facts(records).node_pools]


@pytest.mark.parametrize(
    ("kind", "by"),
    [
        (AWS, {"placementGroup": "train"}),
        (AWS, {"tags": {"gpuyard:pool": "llm-train"}}),
        (ALICLOUD, {"hpcClusterId": "hpc-1"}),
        (ALICLOUD, {"deploymentSetId": "ds-1"}),
        (TENCENT, {"hpcClusterId": "hpc-1"}),
        (TENCENT, {"placementGroupId": "ps-1"}),
        (TENCENT, {"tags": {"gpuyard:pool": "llm-train"}}),
    ],
)
def test_machines_that_one_thing_brings_together_are_one_job(kind: str, by: dict[str, Any]) -> None:
    assert sizes(machines(kind, 4, **by)) == [4] * 4
    assert sizes(machines(kind, 1, **by)) == [None]


@pytest.mark.parametrize("kind", [AWS, ALICLOUD, TENCENT])
def test_machines_that_nothing_brings_together_are_alone(kind: str) -> None:
    assert sizes(machines(kind, 3)) == [None] * 3


def test_machines_of_two_types_are_two_jobs() -> None:
    here = {"placementGroup": "one"}
    found = [*machines(AWS, 2, **here), record(AWS, "other", {"instanceType": "y", **here})]
    assert sizes(found) == [2, 2, None]


def test_a_cluster_that_is_still_to_be_made_brings_together_by_its_resource() -> None:
    urn = "urn:pulumi:test::project::tencentcloud:Cvm/hpcCluster:HpcCluster::fabric"
    later = [
        Record(
            one.urn, one.type, one.name, {**one.props, "hpcClusterId": Unknown("later")}, {"hpcClusterId": (urn,)}, {}
        )
        for one in machines(TENCENT, 3)
    ]
    assert sizes(later) == [3] * 3
