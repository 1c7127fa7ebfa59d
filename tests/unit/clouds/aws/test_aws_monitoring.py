"""Alarms, topic and budget, as rendered for the engine."""

import json
import re
from typing import Any

import pytest

from gpuyard import GpuMonitoring
from gpuyard.catalog.xid_errors import hardware_xid_errors
from gpuyard.clouds.aws.alarms import hardware_xid_pattern

from ..recorder import ACCOUNT, Rendered, render
from .monitoring_helpers import BUDGET, FILE_SYSTEM, RDMA_POOL, SMALLEST, WHOLE, monitoring

TOPIC = "arn:mock:x-messages"
POOL_ALARMS = {"gpu-idle", "gpu-memory", "xid", "xid-hardware"}
RDMA_ALARMS = {"efa-drops", "efa-unresponsive"}


def alarm(rendered: Rendered, part: str) -> dict[str, Any]:
    return rendered.one("MetricAlarm", f"x-{part}").inputs


def policy(rendered: Rendered, kind: str) -> dict[str, dict[str, Any]]:
    document = json.loads(rendered.one(kind).inputs["policy"])
    assert document["Version"] == "2012-10-17"
    return {statement["Sid"]: statement for statement in document["Statement"]}


def names(rendered: Rendered) -> set[str]:
    return {found.name.removeprefix("x-") for found in rendered.all("MetricAlarm")}


def test_every_pool_has_its_alarms_and_only_an_rdma_pool_those_of_efa(preview: bool):
    expected = {f"train-{part}" for part in POOL_ALARMS | RDMA_ALARMS} | {f"prep-{part}" for part in POOL_ALARMS}
    assert names(monitoring(WHOLE, preview=preview)) == expected | {"file-system-full", "file-system-busy"}
    assert names(monitoring(SMALLEST, preview=preview)) == {f"train-{part}" for part in POOL_ALARMS}


def test_every_alarm_sends_to_the_topic_and_says_what_it_is_about():
    for found in monitoring(WHOLE).all("MetricAlarm"):
        assert found.inputs["alarmActions"] == [TOPIC]
        assert found.inputs["tags"]["gpuyard:cluster"] == "llm"
        assert found.inputs["region"] == "us-east-1"
        assert found.inputs["alarmDescription"].endswith(".")


def test_idle_gpus_are_found_by_the_mean_over_the_pool():
    found = alarm(monitoring(SMALLEST, gpu_utilization_below_percent=60, for_minutes=20), "train-gpu-idle")
    assert (found["namespace"], found["metricName"]) == ("gpuyard/nodes", "nvidia_smi_utilization_gpu")
    assert found["dimensions"] == {"AutoScalingGroupName": "grp-train"}
    assert (found["statistic"], found["period"], found["evaluationPeriods"]) == ("Average", 300, 4)
    assert (found["comparisonOperator"], found["threshold"]) == ("LessThanThreshold", 60)
    assert (
        "less than 60 % of the time for 20 minutes. That is the time in which any kernel ran"
        in (found["alarmDescription"])
    )


def test_an_empty_pool_is_quiet():
    for part in POOL_ALARMS | RDMA_ALARMS:
        assert alarm(monitoring(WHOLE), f"train-{part}")["treatMissingData"] == "notBreaching"


def queries(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    assert [query["id"] for query in found["metricQueries"] if query["returnData"]] == [
        found["metricQueries"][-1]["id"]
    ]
    return {query["id"]: query for query in found["metricQueries"]}


def test_memory_is_that_of_the_fullest_gpu():
    found = alarm(monitoring(SMALLEST, gpu_memory_above_percent=90), "train-gpu-memory")
    parts = queries(found)
    assert parts["used"]["metric"] == {
        "namespace": "gpuyard/nodes",
        "metricName": "nvidia_smi_memory_used",
        "dimensions": {"AutoScalingGroupName": "grp-train"},
        "stat": "Maximum",
        "period": 300,
    }
    assert parts["total"]["metric"] == {**parts["used"]["metric"], "metricName": "nvidia_smi_memory_total"}
    assert parts["percent"]["expression"] == "100 * used / total"
    assert (found["comparisonOperator"], found["threshold"]) == ("GreaterThanThreshold", 90)
    assert found["evaluationPeriods"] == 6


def test_minutes_that_are_no_multiple_of_five_have_periods_of_a_minute():
    found = monitoring(SMALLEST, for_minutes=7)
    idle, memory = alarm(found, "train-gpu-idle"), alarm(found, "train-gpu-memory")
    assert (idle["period"], idle["evaluationPeriods"], memory["evaluationPeriods"]) == (60, 7, 7)
    assert queries(memory)["used"]["metric"]["period"] == 60


@pytest.mark.parametrize("part", ["xid", "xid-hardware"])
def test_one_xid_error_is_enough_and_pools_are_told_apart(part: str):
    rendered = monitoring(WHOLE)
    for pool in ("train", "prep"):
        log_filter = rendered.one("LogMetricFilter", f"x-{pool}-{part}").inputs
        assert log_filter["logGroupName"] == f"/gpuyard/{pool}"
        assert log_filter["metricTransformation"] == {
            "name": f"{part}-errors/grp-{pool}",
            "namespace": "gpuyard/nodes",
            "value": "1",
            "unit": "Count",
        }
        found = alarm(rendered, f"{pool}-{part}")
        assert (found["namespace"], found["metricName"]) == ("gpuyard/nodes", f"{part}-errors/grp-{pool}")
        assert (found["statistic"], found["threshold"], found["evaluationPeriods"]) == ("Sum", 1, 1)
        assert found["comparisonOperator"] == "GreaterThanOrEqualToThreshold"


LINES = {
    79: "[ 12.3] NVRM: Xid (PCI:0000:10:1c): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    48: "kernel: NVRM: Xid (PCI:0000:00:1e): 48, pid=1, An uncorrectable double bit error (DBE) has been detected",
    63: "NVRM: Xid (PCI:0000:53:00): 63, pid=2, Row Remapper: New row marked for remapping",
    64: "NVRM: Xid (PCI:0000:53:00): 64, pid=2, Row Remapper: Error: All reserved rows for bank are remapped",
    74: "NVRM: Xid (PCI:0000:0f:00): 74, pid=3, NVLink: fatal error detected on link 10",
    92: "NVRM: Xid (PCI:0000:53:00): 92, pid=2, High single-bit ECC error rate",
    94: "NVRM: Xid (PCI:0000:01:00): 94, pid=7194, Contained: FBHUB. RST: No, D-RST: No",
    95: "NVRM: Xid (0000:03:00): 95, pid=4, Uncontained: LTC",
}
OTHER_LINES = [
    "NVRM: Xid (PCI:0000:10:1c): 13, pid=95, Graphics Exception: ESR 0x79, 48, 63",
    "NVRM: Xid (PCI:0000:10:1c): 31, pid=794, MMU Fault",
    "NVRM: Xid (PCI:0000:10:1c): 179, pid=1",
    "NVRM: Xid (PCI:0000:10:1c): 790, pid=1",
    "NVRM: GPU at PCI:0000:10:1c: GPU-79, 48,",
    "eth0: link (up): 79, 48, 95,",
]


def hardware_error(line: str) -> bool:
    """Whether CloudWatch's pattern finds a line; what it holds means the same in Python."""
    pattern = hardware_xid_pattern()
    assert pattern[0] == pattern[-1] == "%"
    return re.search(pattern[1:-1], line) is not None


def test_every_error_of_the_hardware_is_found():
    assert set(LINES) == {error.code for error in hardware_xid_errors()}
    assert [code for code, line in LINES.items() if not hardware_error(line)] == []


@pytest.mark.parametrize("line", OTHER_LINES)
def test_an_error_of_the_job_is_no_error_of_the_hardware(line: str):
    assert not hardware_error(line)


def test_the_pattern_holds_nothing_that_a_filter_does_not_know():
    """FilterAndPatternSyntax: letters, digits, some symbols and operators; no groups, no blanks."""
    pattern = hardware_xid_pattern()
    assert re.fullmatch(r"[A-Za-z0-9:_#=@/;,\-^$?\[\]{}|\\*+.]+", pattern[1:-1])
    assert len(pattern) <= 1_024


def test_any_xid_error_is_found_by_a_phrase():
    assert monitoring(SMALLEST).one("LogMetricFilter", "x-train-xid").inputs["pattern"] == '"NVRM: Xid"'


def test_lasting_drops_and_a_single_silent_peer_are_alarms_of_an_rdma_pool():
    rendered = monitoring(SMALLEST, node_pools={"train": RDMA_POOL})
    drops, silent = alarm(rendered, "train-efa-drops"), alarm(rendered, "train-efa-unresponsive")
    assert (drops["metricName"], silent["metricName"]) == ("efa_rx_dropped", "efa_unresponsive_remote_events")
    # A packet a second, in each of three periods of five minutes.
    assert (drops["threshold"], drops["period"], drops["evaluationPeriods"]) == (300, 300, 3)
    assert (silent["threshold"], silent["evaluationPeriods"]) == (1, 1)
    for found in (drops, silent):
        assert found["statistic"] == "Sum"
        assert found["comparisonOperator"] == "GreaterThanOrEqualToThreshold"
        assert found["dimensions"] == {"AutoScalingGroupName": "grp-train"}
        assert found["namespace"] == "gpuyard/nodes"


def test_a_full_file_system_is_measured_in_bytes_once_a_minute():
    found = alarm(monitoring(WHOLE, file_system_full_percent=85), "file-system-full")
    assert (found["namespace"], found["metricName"]) == ("AWS/FSx", "FreeDataStorageCapacity")
    assert found["dimensions"] == {"FileSystemId": "fs-1"}
    # 15 % of 24 000 GiB, each 2^30 bytes.
    assert found["threshold"] == 3_600 * 2**30
    assert found["comparisonOperator"] == "LessThanThreshold"
    # Each target sends its free bytes every minute: a sum over more than a minute counts them several times.
    assert (found["statistic"], found["period"], found["evaluationPeriods"]) == ("Sum", 60, 15)
    assert found["treatMissingData"] == "ignore"


def test_a_busy_file_system_is_measured_against_nine_tenths_of_what_it_promises():
    found = alarm(monitoring(WHOLE), "file-system-busy")
    parts = queries(found)
    assert [parts[part]["metric"]["metricName"] for part in ("read", "written")] == ["DataReadBytes", "DataWriteBytes"]
    assert all(parts[part]["metric"]["stat"] == "Sum" for part in ("read", "written"))
    assert parts["throughput"]["expression"] == "(FILL(read, 0) + FILL(written, 0)) / PERIOD(read) / 1000000"
    assert (found["threshold"], found["comparisonOperator"]) == (5_400, "GreaterThanThreshold")
    assert (parts["read"]["metric"]["period"], found["evaluationPeriods"]) == (300, 3)
    assert "90% of its 6000 MB/s" in found["alarmDescription"]


def test_a_file_system_that_promises_no_throughput_is_never_busy():
    system = {key: value for key, value in FILE_SYSTEM.items() if key != "throughput_mb_per_s"}
    rendered = monitoring(SMALLEST, watched_file_system=system)
    assert names(rendered) == {f"train-{part}" for part in POOL_ALARMS} | {"file-system-full"}


def test_the_topic_is_under_a_key_of_ones_own_that_rotates(preview: bool):
    rendered = monitoring(WHOLE, preview=preview)
    key, topic, alias = rendered.one("Key").inputs, rendered.one("Topic"), rendered.one("Alias").inputs
    assert key["enableKeyRotation"] is True
    assert "x-messages" in topic.depends_on
    assert alias["namePrefix"] == "alias/x-messages-"
    if not preview:
        assert topic.inputs["kmsMasterKeyId"] == alias["targetKeyId"] == "arn:mock:x-messages"


def test_only_senders_may_use_the_key_and_only_the_account_manages_it():
    statements = policy(monitoring(WHOLE), "Key")
    assert statements == {
        "ManagedByTheAccount": {
            "Sid": "ManagedByTheAccount",
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
            "Action": "kms:*",
            "Resource": "*",
        },
        "UsedBySenders": {
            "Sid": "UsedBySenders",
            "Effect": "Allow",
            "Principal": {"Service": ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"]},
            "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
            "Resource": "*",
            "Condition": {"StringEquals": {"aws:SourceAccount": ACCOUNT}},
        },
    }


def test_only_alarms_and_budgets_of_the_account_publish_and_nobody_over_plain_http():
    statements = policy(monitoring(WHOLE), "TopicPolicy")
    assert set(statements) == {"PublishCloudwatch", "PublishBudgets", "RefusePlainHttp"}
    for service, source in (
        ("cloudwatch", f"arn:aws:cloudwatch:us-east-1:{ACCOUNT}:alarm:*"),
        ("budgets", f"arn:aws:budgets::{ACCOUNT}:*"),
    ):
        statement = statements[f"Publish{service.capitalize()}"]
        assert (statement["Effect"], statement["Action"], statement["Resource"]) == ("Allow", "sns:Publish", TOPIC)
        assert statement["Principal"] == {"Service": f"{service}.amazonaws.com"}
        assert statement["Condition"] == {
            "StringEquals": {"aws:SourceAccount": ACCOUNT},
            "ArnLike": {"aws:SourceArn": source},
        }
    refused = statements["RefusePlainHttp"]
    assert (refused["Effect"], refused["Principal"], refused["Action"]) == ("Deny", "*", "sns:Publish")
    assert refused["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_without_a_budget_budgets_have_no_rights():
    rendered = monitoring(SMALLEST)
    assert "budgets" not in rendered.one("TopicPolicy").inputs["policy"] + rendered.one("Key").inputs["policy"]
    assert rendered.all("Budget") == []


def test_in_china_arns_are_of_its_partition():
    rendered = monitoring(WHOLE, region="cn-north-1", budget={**BUDGET, "currency": "CNY"})
    text = rendered.one("TopicPolicy").inputs["policy"] + rendered.one("Key").inputs["policy"]
    assert "arn:aws:" not in text
    assert f"arn:aws-cn:cloudwatch:cn-north-1:{ACCOUNT}:alarm:*" in text
    assert rendered.one("Budget").inputs["limitUnit"] == "CNY"


def test_each_reader_has_a_subscription_of_their_own(preview: bool):
    found = {one.inputs["endpoint"]: one.inputs for one in monitoring(WHOLE, preview=preview).all("TopicSubscription")}
    assert set(found) == {"ml@example.com", "ops@example.com"}
    assert {one["protocol"] for one in found.values()} == {"email"}
    assert monitoring(SMALLEST, preview=preview).all("TopicSubscription") == []


def test_a_budget_counts_the_clusters_tag_before_credits():
    found = monitoring(WHOLE).one("Budget").inputs
    assert (found["budgetType"], found["timeUnit"]) == ("COST", "MONTHLY")
    assert (found["limitAmount"], found["limitUnit"]) == ("40000.0", "USD")
    assert found["costFilters"] == [{"name": "TagKeyValue", "values": ["user:gpuyard:cluster$llm"]}]
    assert found["costTypes"] == {"includeCredit": False, "includeRefund": False}
    assert "region" not in found


def test_a_budget_warns_of_each_share_and_of_the_forecast_of_the_last():
    found = monitoring(WHOLE).one("Budget").inputs["notifications"]
    assert [(one["notificationType"], one["threshold"]) for one in found] == [
        ("ACTUAL", 50),
        ("ACTUAL", 80),
        ("ACTUAL", 100),
        ("FORECASTED", 100),
    ]
    for one in found:
        assert (one["comparisonOperator"], one["thresholdType"]) == ("GREATER_THAN", "PERCENTAGE")
        assert one["subscriberSnsTopicArns"] == [TOPIC]
        assert one["subscriberEmailAddresses"] == ["ml@example.com", "ops@example.com"]


def test_a_budget_without_readers_sends_to_the_topic():
    found = monitoring(SMALLEST, budget=BUDGET).one("Budget").inputs["notifications"]
    assert all("subscriberEmailAddresses" not in one and one["subscriberSnsTopicArns"] == [TOPIC] for one in found)


@pytest.mark.parametrize(("amount", "text"), [(1e12, "1000000000000.0"), (0.00001, "0.00001"), (99.5, "99.5")])
def test_amounts_are_written_in_plain_digits(amount: float, text: str):
    found = monitoring(SMALLEST, budget={"monthly_amount": amount}).one("Budget").inputs
    assert found["limitAmount"] == text


def test_a_budget_waits_for_its_right_to_publish():
    policies = [one.name for one in monitoring(WHOLE).all("TopicPolicy")]
    waited = [urn for urn in monitoring(WHOLE).one("Budget").request.dependencies if "TopicPolicy" in urn]
    assert [urn.rsplit("::", 1)[1] for urn in waited] == policies


def test_everything_is_a_child_in_the_region_and_nothing_is_protected(preview: bool):
    for found in monitoring(WHOLE, preview=preview):
        if found.type.startswith("gpuyard:"):
            continue
        assert found.parent == "x"
        assert found.name.startswith("x-")
        assert not found.request.protect
        assert found.type == "aws:budgets/budget:Budget" or found.inputs["region"] == "us-east-1"


def test_names_of_pools_may_be_outputs():
    import pulumi

    pools: Any = {"train": {key: pulumi.Output.from_input(value) for key, value in RDMA_POOL.items() if key != "rdma"}}
    system: Any = {**FILE_SYSTEM, "file_system_id": pulumi.Output.from_input("fs-9")}
    rendered = render(
        lambda: GpuMonitoring("x", {**SMALLEST, "node_pools": pools, "watched_file_system": system}),  # pyright: ignore[reportArgumentType]
        preview=False,
    )
    assert alarm(rendered, "train-gpu-idle")["dimensions"] == {"AutoScalingGroupName": "grp-train"}
    assert rendered.one("LogMetricFilter", "x-train-xid").inputs["logGroupName"] == "/gpuyard/train"
    assert alarm(rendered, "file-system-full")["dimensions"] == {"FileSystemId": "fs-9"}
    assert "known later" not in str([found.inputs for found in rendered])
