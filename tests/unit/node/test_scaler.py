"""What the scaler is told, by stand-ins for the clouds' commands."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuyard.node import scaler

from .conftest import Service


class Cloud:
    """One cloud's command, what it answers, and the calls."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, cloud: str, service: Service) -> None:
        self._root, self._patch = root, monkeypatch
        service.answers |= {"instance-id": "i-1", "ram/security-credentials/": "role-1"}
        monkeypatch.setenv("PATH", f"{root}:/usr/bin:/bin")
        self.told(CLOUD=cloud, REGION="region-1", METADATA=service.url, PAUSE="0.01", ENV=str(root / "none"))

    def told(self, **values: str) -> None:
        for name, value in values.items():
            self._patch.setenv(f"GPUYARD_{name}", value)

    def answers(self, command: str, **answers: object) -> None:
        cases = "".join(f"*{verb.replace('_', '-')}*) echo '{json.dumps(said)}' ;;\n" for verb, said in answers.items())
        fail = self._root / "fail"
        text = (
            f'#!/bin/bash\necho "$*" >> {self._root}/calls\n'
            f"if [ -e {fail} ]; then cat {fail} >&2; exit 254; fi\n"
            f'case "$*" in\n{cases}esac\n'
        )
        (self._root / command).write_text(text)
        (self._root / command).chmod(0o755)

    def fails(self, text: str) -> None:
        (self._root / "fail").write_text(text)

    def calls(self, verb: str) -> list[str]:
        path = self._root / "calls"
        return [line for line in path.read_text().splitlines() if verb in line] if path.exists() else []


@pytest.fixture
def cloud(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    service = Service(request.param)
    yield Cloud(tmp_path, monkeypatch, request.param, service)
    service.close()


aws = pytest.mark.parametrize("cloud", ["aws"], indirect=True)
alicloud = pytest.mark.parametrize("cloud", ["alicloud"], indirect=True)
tencentcloud = pytest.mark.parametrize("cloud", ["tencentcloud"], indirect=True)


def group(state: str) -> dict[str, object]:
    return {"AutoScalingInstances": [{"AutoScalingGroupName": "group-1", "LifecycleState": state}]}


@aws
@pytest.mark.parametrize(
    ("which", "state", "hook"),
    [
        ("terminating", "Terminating:Wait", "leave"),
        ("terminating", "Terminating", "leave"),
        ("launching", "Pending:Wait", "join"),
        ("launching", "Warmed:Pending:Wait", "join"),
    ],
)
def test_aws_takes_the_instance(which: str, state: str, hook: str, cloud: Cloud) -> None:
    cloud.told(HOOK="leave", LAUNCH_HOOK="join")
    cloud.answers("aws", describe_auto_scaling_instances=group(state))
    assert scaler.complete(which, "ABANDON") == "group-1: ABANDON"
    assert cloud.calls("complete") == [
        f"autoscaling complete-lifecycle-action --auto-scaling-group-name group-1 --lifecycle-hook-name {hook} "
        "--instance-id i-1 --lifecycle-action-result ABANDON --region region-1 --output json"
    ]


@aws
@pytest.mark.parametrize(
    ("said", "message"),
    [
        (group("InService"), "no scaler waits: i-1 is InService"),
        ({"AutoScalingInstances": []}, "no scaler waits: i-1 belongs to no group"),
    ],
)
def test_aws_does_not_wait(said: object, message: str, cloud: Cloud) -> None:
    cloud.told(HOOK="leave")
    cloud.answers("aws", describe_auto_scaling_instances=said)
    with pytest.raises(scaler.NotWaitingError) as error:
        scaler.complete("terminating", "CONTINUE")
    assert str(error.value) == message
    assert cloud.calls("complete") == []


@aws
def test_a_failure_is_tried_again_and_then_said(cloud: Cloud) -> None:
    cloud.told(HOOK="leave")
    cloud.answers("aws")
    cloud.fails("An error occurred (Throttling)")
    with pytest.raises(scaler.ScalerError) as error:
        scaler.complete("terminating", "CONTINUE")
    assert str(error.value) == "the scaler was not told: aws ended with 254: An error occurred (Throttling)"
    assert len(cloud.calls("describe")) == 3


@aws
def test_an_answer_of_another_form_is_a_failure(cloud: Cloud) -> None:
    cloud.told(HOOK="leave")
    cloud.answers("aws", describe_auto_scaling_instances=[])
    with pytest.raises(scaler.ScalerError, match="the scaler was not told"):
        scaler.complete("terminating", "CONTINUE")


@aws
def test_a_missing_command_is_named(cloud: Cloud) -> None:
    cloud.told(HOOK="leave")
    with pytest.raises(scaler.ScalerError) as error:
        scaler.complete("terminating", "CONTINUE")
    assert str(error.value) == "the scaler was not told: aws cannot be run: No such file or directory"


@pytest.mark.parametrize(
    ("cloud", "which", "missing"),
    [
        ("aws", "launching", "GPUYARD_LAUNCH_HOOK"),
        ("aws", "terminating", "GPUYARD_HOOK"),
        ("alicloud", "terminating", "GPUYARD_SCALING_GROUP"),
        ("tencentcloud", "terminating", "GPUYARD_HOOK"),
    ],
    indirect=["cloud"],
)
def test_without_a_hook_nobody_waits(which: str, missing: str, cloud: Cloud) -> None:
    with pytest.raises(scaler.NotWaitingError) as error:
        scaler.complete(which, "CONTINUE")
    assert str(error.value) == f"{missing} is not set: no scaler waits for this node"


MINE = {"LifecycleHookId": "ash-1", "LifecycleActionToken": "mine", "InstanceIds": ["i-1"]}
OTHER = {"LifecycleHookId": "ash-1", "LifecycleActionToken": "other", "InstanceIds": ["i-2"]}
NEW = {"activities": [{"ScalingActivityId": "asa-1"}], "actions": [OTHER, MINE]}
# The older version of the API wraps each list in an object of one key.
OLD = {
    "activities": {"ScalingActivity": [{"ScalingActivityId": "asa-1"}]},
    "actions": {"LifecycleAction": [MINE | {"InstanceIds": {"InstanceId": ["i-1"]}}]},
}
OPTIONS = "--mode EcsRamRole --ram-role-name role-1 --region region-1 --RegionId region-1"


@alicloud
@pytest.mark.parametrize("said", [NEW, OLD])
def test_alibaba_cloud_gets_the_token_of_this_nodes_wait(said: dict[str, object], cloud: Cloud) -> None:
    cloud.told(SCALING_GROUP="asg-1")
    cloud.answers(
        "aliyun",
        DescribeScalingActivities={"ScalingActivities": said["activities"]},
        DescribeLifecycleActions={"LifecycleActions": said["actions"]},
    )
    assert scaler.complete("terminating", "CONTINUE") == "asg-1: CONTINUE"
    assert cloud.calls("Complete") == [
        "ess CompleteLifecycleAction --LifecycleHookId ash-1 --LifecycleActionToken mine "
        f"--LifecycleActionResult CONTINUE {OPTIONS}"
    ]


@alicloud
def test_alibaba_clouds_hook_is_found_by_its_name(cloud: Cloud) -> None:
    cloud.told(SCALING_GROUP="asg-1", LAUNCH_HOOK="join")
    hooks = [
        {"LifecycleHookId": "ash-1", "LifecycleHookName": "of-another"},
        {"LifecycleHookId": "ash-2", "LifecycleHookName": "join"},
    ]
    cloud.answers(
        "aliyun",
        DescribeLifecycleHooks={"LifecycleHooks": hooks},
        DescribeScalingActivities={"ScalingActivities": NEW["activities"]},
        DescribeLifecycleActions={"LifecycleActions": [MINE, MINE | {"LifecycleHookId": "ash-2"}]},
    )
    scaler.complete("launching", "ABANDON")
    (call,) = cloud.calls("Complete")
    assert "--LifecycleHookId ash-2 " in call


@alicloud
def test_alibaba_clouds_waits_are_read_to_the_last_page(cloud: Cloud) -> None:
    cloud.told(SCALING_GROUP="asg-1")
    cloud.answers(
        "aliyun",
        DescribeScalingActivities={"ScalingActivities": NEW["activities"]},
        NextToken={"LifecycleActions": [MINE]},
        DescribeLifecycleActions={"LifecycleActions": [OTHER], "NextToken": "more"},
    )
    assert scaler.complete("terminating", "CONTINUE") == "asg-1: CONTINUE"
    assert len(cloud.calls("--NextToken more")) == 1


@alicloud
@pytest.mark.parametrize("actions", [[], [OTHER]])
def test_alibaba_cloud_does_not_wait(actions: list[object], cloud: Cloud) -> None:
    cloud.told(SCALING_GROUP="asg-1")
    cloud.answers(
        "aliyun",
        DescribeScalingActivities={"ScalingActivities": NEW["activities"]},
        DescribeLifecycleActions={"LifecycleActions": actions},
    )
    with pytest.raises(scaler.NotWaitingError) as error:
        scaler.complete("terminating", "CONTINUE")
    assert str(error.value) == "no scaling activity waits for i-1"
    assert cloud.calls("Complete") == []


HOOKS = [
    {"LifecycleHookId": "ash-1", "LifecycleHookName": "of-another"},
    {"LifecycleHookId": "ash-2", "LifecycleHookName": "leave"},
]


@tencentcloud
def test_tencent_cloud_takes_hook_and_instance(cloud: Cloud) -> None:
    cloud.told(HOOK="leave")
    cloud.answers(
        "tccli",
        DescribeAutoScalingInstances={"AutoScalingInstanceSet": [{"AutoScalingGroupId": "asg-1"}]},
        DescribeLifecycleHooks={"LifecycleHookSet": HOOKS},
    )
    assert scaler.complete("terminating", "CONTINUE") == "asg-1: CONTINUE"
    assert cloud.calls("Complete") == [
        "as CompleteLifecycleAction --LifecycleHookId ash-2 --InstanceId i-1 --LifecycleActionResult CONTINUE "
        "--region region-1 --use-cvm-role"
    ]
    assert '--Filters [{"Name": "auto-scaling-group-id", "Values": ["asg-1"]}]' in cloud.calls("Hooks")[0]


@tencentcloud
@pytest.mark.parametrize(
    ("instances", "hook", "message"),
    [
        ([], "leave", "no scaler waits: i-1 belongs to no group"),
        ([{"AutoScalingGroupId": "asg-1"}], "join", "asg-1 has no hook join"),
    ],
)
def test_tencent_cloud_does_not_wait(instances: list[object], hook: str, message: str, cloud: Cloud) -> None:
    cloud.told(HOOK=hook)
    cloud.answers(
        "tccli",
        DescribeAutoScalingInstances={"AutoScalingInstanceSet": instances},
        DescribeLifecycleHooks={"LifecycleHookSet": HOOKS},
    )
    with pytest.raises(scaler.NotWaitingError) as error:
        scaler.complete("terminating", "CONTINUE")
    assert str(error.value) == message
