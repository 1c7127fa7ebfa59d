"""What changes an elastic pool's size, and what is told before a node goes."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from ..recorder import Rendered, rendered_stack

ProdWith = Callable[[dict[str, Any]], Rendered]
POOL = "node_pools.prepare"
GROUP = "aws-prod-prepare-group"


def prod() -> Rendered:
    return rendered_stack("aws-prod", preview=False)


def metrics(policy: dict[str, Any]) -> dict[str, Any]:
    found = policy["targetTrackingConfiguration"]["customizedMetricSpecification"]["metrics"]
    return {one["id"]: one for one in found}


def test_a_node_is_held_long_enough_for_its_checkpoint():
    hook = prod().one("LifecycleHook", "aws-prod-prepare-checkpoint").inputs
    assert hook["lifecycleTransition"] == "autoscaling:EC2_INSTANCE_TERMINATING"
    assert hook["heartbeatTimeout"] == 120
    assert hook["defaultResult"] == "CONTINUE"
    assert hook["autoscalingGroupName"] == GROUP


def test_a_pool_of_fixed_size_has_neither_queue_nor_a_hook_at_its_end():
    staging = rendered_stack("aws-staging", preview=False)
    ends = {hook.inputs["lifecycleTransition"] for hook in staging.all("LifecycleHook")}
    assert ends == {"autoscaling:EC2_INSTANCE_LAUNCHING"}
    for kind in ("Queue", "EventRule", "Policy", "Schedule"):
        assert staging.all(kind) == []


@pytest.mark.parametrize("with_desired", [True, False])
def test_br_046_the_size_is_left_to_the_scaler(with_desired: bool, prod_with: ProdWith):
    rendered = prod_with({} if with_desired else {f"{POOL}.nodes": {"min": 1, "max": 8}})
    group = rendered.of_pool("Group", "prepare")
    assert set(group.request.ignoreChanges) == {"desiredCapacity", "initialLifecycleHooks"}
    assert group.inputs.get("desiredCapacity") == (2 if with_desired else None)
    # The size of a fixed pool is the plan's.
    assert list(rendered.of_pool("Group").request.ignoreChanges) == ["initialLifecycleHooks"]


def test_on_demand_nodes_are_bought_before_any_spot():
    distribution = prod().of_pool("Group", "prepare").inputs["mixedInstancesPolicy"]["instancesDistribution"]
    assert distribution == {
        "onDemandBaseCapacity": 1,
        "onDemandPercentageAboveBaseCapacity": 0,
        "spotAllocationStrategy": "price-capacity-optimized",
    }


def test_scaling_by_utilization_follows_the_pools_own_metric():
    policy = prod().one("Policy").inputs
    assert policy["policyType"] == "TargetTrackingScaling"
    target = policy["targetTrackingConfiguration"]
    assert target["targetValue"] == 70
    assert target["customizedMetricSpecification"] == {
        "namespace": "gpuyard/nodes",
        "metricName": "nvidia_smi_utilization_gpu",
        "statistic": "Average",
        "unit": "Percent",
        "metricDimensions": [{"name": "AutoScalingGroupName", "value": GROUP}],
    }


def test_scaling_by_waiting_jobs_can_bring_the_first_node(prod_with: ProdWith):
    rendered = prod_with({f"{POOL}.scaling": {"queue": {"name": "jobs", "jobs_per_node": 3}}})
    found = metrics(rendered.one("Policy").inputs)
    assert rendered.one("Policy").inputs["targetTrackingConfiguration"]["targetValue"] == 3
    waiting = found["waiting"]["metricStat"]["metric"]
    assert (waiting["namespace"], waiting["metricName"]) == ("AWS/SQS", "ApproximateNumberOfMessagesVisible")
    assert waiting["dimensions"] == [{"name": "QueueName", "value": "jobs"}]
    # Nothing is divided by nothing: an empty group sends no metric at all.
    assert found["per_node"]["expression"] == "IF(FILL(nodes, 0) > 0, waiting / FILL(nodes, 1), waiting)"
    assert [one for one in found.values() if one["returnData"]] == [found["per_node"]]
    group = rendered.of_pool("Group", "prepare").inputs
    assert group["enabledMetrics"] == ["GroupInServiceInstances"]
    assert group["metricsGranularity"] == "1Minute"


def test_periodic_work_has_its_size_by_the_clock():
    schedules = {one.name: one.inputs for one in rendered_stack("aws-dev", preview=False).all("Schedule")}
    weekend, week = schedules["aws-dev-try-weekend"], schedules["aws-dev-try-week"]
    assert (weekend["recurrence"], weekend["timeZone"]) == ("0 20 * * FRI", "Europe/Berlin")
    assert (weekend["minSize"], weekend["maxSize"], weekend["desiredCapacity"]) == (-1, 0, 0)
    assert (week["minSize"], week["maxSize"], week["desiredCapacity"]) == (-1, 4, -1)


def test_interruptions_and_rebalance_recommendations_go_to_the_pools_queue():
    rendered = prod()
    patterns = {one.name: json.loads(one.inputs["eventPattern"]) for one in rendered.all("EventRule")}
    assert patterns == {
        "aws-prod-prepare-ends": {
            "source": ["aws.autoscaling"],
            "detail-type": ["EC2 Instance-terminate Lifecycle Action"],
            "detail": {"AutoScalingGroupName": [GROUP]},
        },
        "aws-prod-prepare-spot": {
            "source": ["aws.ec2"],
            "detail-type": ["EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation"],
        },
    }
    targets = {one.inputs["arn"] for one in rendered.all("EventTarget")}
    assert targets == {"arn:mock:aws-prod-prepare-interruptions"}


def test_an_elastic_pool_on_demand_hears_of_no_spot(prod_with: ProdWith):
    rendered = prod_with({f"{POOL}.purchase": "on_demand", f"{POOL}.on_demand_nodes": ...})
    assert [one.name for one in rendered.all("EventRule")] == ["aws-prod-prepare-ends"]


def test_the_queue_is_encrypted_and_takes_only_its_own_events():
    rendered = prod()
    queue = rendered.one("Queue").inputs
    assert queue["sqsManagedSseEnabled"] is True
    assert queue["messageRetentionSeconds"] == 345_600
    events, plain = json.loads(rendered.one("QueuePolicy").inputs["policy"])["Statement"]
    assert events["Principal"] == {"Service": "events.amazonaws.com"}
    assert events["Action"] == "sqs:SendMessage"
    rules = events["Condition"]["ArnEquals"]["aws:SourceArn"]
    assert sorted(rules) == ["arn:mock:aws-prod-prepare-ends", "arn:mock:aws-prod-prepare-spot"]
    assert (plain["Effect"], plain["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_names_of_rules_stay_within_64_characters():
    """The provider puts a hyphen and seven digits behind; a role's name is as long, and that is checked."""
    for one in prod().all("EventRule"):
        assert len(one.name.rsplit("-", 1)[1]) <= len("role")


def test_bare_metal_gets_the_time_that_it_boots():
    rendered = rendered_stack("aws-staging", preview=False)
    metal, virtual = rendered.of_pool("Group", "serve").inputs, rendered.of_pool("Group").inputs
    assert rendered.of_pool("LaunchTemplate", "serve").inputs["instanceType"] == "g4dn.metal"
    assert (metal["waitForCapacityTimeout"], metal["healthCheckGracePeriod"]) == ("70m", 1800)
    assert (virtual["waitForCapacityTimeout"], virtual["healthCheckGracePeriod"]) == ("40m", 300)
