"""Monitoring as rendered, sent to AWS's own service models (botocore)."""

from collections.abc import Callable
from typing import Any

import pytest

from ..recorder import ACCOUNT, Registered, Rendered
from .api import faults, input_shape, to_api
from .monitoring_helpers import BUDGET, SMALLEST, WHOLE, monitoring

VARIANTS: dict[str, dict[str, Any]] = {
    "least": SMALLEST,
    "all": WHOLE,
    "no readers": {**SMALLEST, "budget": BUDGET},
    "china": {**WHOLE, "region": "cn-northwest-1", "budget": {**BUDGET, "currency": "CNY"}},
    "most thresholds": {**WHOLE, "budget": {"monthly_amount": 1, "alert_at_percent": [10, 20, 30, 40, 1_000]}},
    "a day": {**WHOLE, "for_minutes": 1_439},
}


def without(inputs: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in inputs.items() if key not in ("region", "tags", *keys)}


def pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"Name": name, "Value": value} for name, value in values.items()]


def alarm(found: Registered) -> dict[str, Any]:
    inputs = without(found.inputs, "metricQueries", "dimensions")
    parameters = to_api({**inputs, "alarmName": found.name}, input_shape("cloudwatch", "PutMetricAlarm"))
    parameters["Tags"] = [{"Key": key, "Value": value} for key, value in found.inputs["tags"].items()]
    if "dimensions" in found.inputs:
        parameters["Dimensions"] = pairs(found.inputs["dimensions"])
    if "metricQueries" in found.inputs:
        parameters["Metrics"] = [query(one) for one in found.inputs["metricQueries"]]
    return parameters


def query(inputs: dict[str, Any]) -> dict[str, Any]:
    shape = input_shape("cloudwatch", "PutMetricAlarm").members["Metrics"].member
    parameters = to_api(without(inputs, "metric"), shape)
    if "metric" in inputs:
        metric = inputs["metric"]
        parameters["MetricStat"] = {
            "Metric": {
                "Namespace": metric["namespace"],
                "MetricName": metric["metricName"],
                "Dimensions": pairs(metric["dimensions"]),
            },
            "Period": int(metric["period"]),
            "Stat": metric["stat"],
        }
    return parameters


def dashboard(found: Registered) -> dict[str, Any]:
    return to_api(without(found.inputs), input_shape("cloudwatch", "PutDashboard"))


def log_filter(found: Registered) -> dict[str, Any]:
    inputs = without(found.inputs, "pattern", "metricTransformation")
    change = found.inputs["metricTransformation"]
    return {
        **inputs,
        "filterName": found.name,
        "filterPattern": found.inputs["pattern"],
        "metricTransformations": [
            {
                "metricName": change["name"],
                "metricNamespace": change["namespace"],
                "metricValue": change["value"],
                "unit": change["unit"],
            }
        ],
    }


def topic(found: Registered) -> dict[str, Any]:
    assert set(without(found.inputs)) == {"kmsMasterKeyId"}
    return {"Name": found.name, "Attributes": {"KmsMasterKeyId": found.inputs["kmsMasterKeyId"]}}


def topic_policy(found: Registered) -> dict[str, Any]:
    assert set(without(found.inputs)) == {"arn", "policy"}
    return {
        "TopicArn": found.inputs["arn"],
        "AttributeName": "Policy",
        "AttributeValue": found.inputs["policy"],
    }


def subscription(found: Registered) -> dict[str, Any]:
    return to_api(without(found.inputs), input_shape("sns", "Subscribe"), {"topic": "TopicArn"})


def key(found: Registered) -> dict[str, Any]:
    # Rotation is switched on by a call of its own, EnableKeyRotation.
    return to_api(without(found.inputs, "enableKeyRotation"), input_shape("kms", "CreateKey"))


def alias(found: Registered) -> dict[str, Any]:
    return {"AliasName": f"{found.inputs['namePrefix']}20261201", "TargetKeyId": found.inputs["targetKeyId"]}


def budget(found: Registered) -> dict[str, Any]:
    inputs = without(found.inputs, "limitAmount", "limitUnit", "costFilters", "notifications")
    shape = input_shape("budgets", "CreateBudget")
    body = {
        **to_api({**inputs, "budgetName": found.name}, shape.members["Budget"]),
        "BudgetLimit": {"Amount": found.inputs["limitAmount"], "Unit": found.inputs["limitUnit"]},
        "CostFilters": {one["name"]: one["values"] for one in found.inputs["costFilters"]},
    }
    notifications = [notification(one) for one in found.inputs["notifications"]]
    assert len(notifications) <= shape.members["NotificationsWithSubscribers"].metadata["max"]
    return {"AccountId": ACCOUNT, "Budget": body, "NotificationsWithSubscribers": notifications}


def notification(inputs: dict[str, Any]) -> dict[str, Any]:
    shape = input_shape("budgets", "CreateBudget").members["NotificationsWithSubscribers"].member
    readers = [("EMAIL", address) for address in inputs.get("subscriberEmailAddresses", [])]
    readers += [("SNS", arn) for arn in inputs["subscriberSnsTopicArns"]]
    assert len(readers) <= shape.members["Subscribers"].metadata["max"]
    plain = without(inputs, "subscriberEmailAddresses", "subscriberSnsTopicArns")
    return {
        "Notification": to_api(plain, shape.members["Notification"]),
        "Subscribers": [{"SubscriptionType": kind, "Address": address} for kind, address in readers],
    }


CALLS: dict[str, tuple[str, str, Callable[[Registered], dict[str, Any]]]] = {
    "MetricAlarm": ("cloudwatch", "PutMetricAlarm", alarm),
    "Dashboard": ("cloudwatch", "PutDashboard", dashboard),
    "LogMetricFilter": ("logs", "PutMetricFilter", log_filter),
    "Topic": ("sns", "CreateTopic", topic),
    "TopicPolicy": ("sns", "SetTopicAttributes", topic_policy),
    "TopicSubscription": ("sns", "Subscribe", subscription),
    "Key": ("kms", "CreateKey", key),
    "Alias": ("kms", "CreateAlias", alias),
    "Budget": ("budgets", "CreateBudget", budget),
}


def judged(rendered: Rendered) -> set[str]:
    """Kinds of the resources that were sent to their API's model; every one must be without fault."""
    kinds: set[str] = set()
    for found in rendered:
        if found.type.startswith("gpuyard:"):
            continue
        kind = found.type.rsplit(":", 1)[-1]
        service, operation, build = CALLS[kind]
        assert faults(service, operation, build(found)) == [], found.name
        kinds.add(kind)
    return kinds


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_renders_what_the_api_takes(variant: str):
    kinds = judged(monitoring(VARIANTS[variant]))
    assert kinds >= set(CALLS) - {"TopicSubscription", "Budget"}
    if variant == "all":
        assert kinds == set(CALLS)


def test_the_judge_sees_a_wrong_name_and_enumeration():
    found = monitoring(SMALLEST).one("MetricAlarm", "x-train-gpu-idle")
    right = alarm(found)
    assert "Unknown parameter" in faults("cloudwatch", "PutMetricAlarm", {**right, "Treshold": 1})[0]
    assert "is none of" in faults("cloudwatch", "PutMetricAlarm", {**right, "Statistic": "Mean"})[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_alarms_look_back_a_day_at_most_and_say_so_in_a_thousand_characters(variant: str):
    for found in monitoring(VARIANTS[variant]).all("MetricAlarm"):
        parameters = alarm(found)
        period = parameters.get("Period") or parameters["Metrics"][0]["MetricStat"]["Period"]
        assert period * parameters["EvaluationPeriods"] <= 86_400
        assert len(parameters["AlarmDescription"]) <= 1_024
        assert parameters["TreatMissingData"] in ("notBreaching", "ignore")
        assert sum(one["ReturnData"] for one in parameters.get("Metrics", [])) == ("Metrics" in parameters)
