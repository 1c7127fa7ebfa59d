"""Every example lives its whole life on the real engine, and shows what it is there to show."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gpuyard.sandbox.cloud import CloudResource
from gpuyard.sandbox.engine import Engine
from gpuyard.sandbox.session import Session
from gpuyard.sandbox.workspace import Workspace, read_project
from tests.engine import alicloud_examples, component_examples
from tests.engine.conftest import POLICIES, REPOSITORY, Sandbox

# A program that imports a whole SDK is told of what that SDK gave up.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_alicloud.*")

EXAMPLES = REPOSITORY / "examples"
STACK = "dev"
# The services are loaded piece by piece, as by the sandbox's commands.
MODULES = ("gpuyard.resources.cluster",)
CHANGES = ("created", "updated", "replaced", "deleted", "to update", "to replace")


def projects_below(folder: Path) -> list[Path]:
    """Folders with a Pulumi.yaml, but for the sandboxes that people leave behind."""
    found = (path.parent for path in folder.rglob("Pulumi.yaml"))
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))


# An example is a folder with a README; its projects share one state and depend on those before them. Those in YAML have
# a test of their own.
ALL = {
    str(readme.parent.relative_to(EXAMPLES)): projects_below(readme.parent)
    for readme in sorted(EXAMPLES.rglob("README.md"))
    if not readme.is_relative_to(EXAMPLES / "yaml")
}
# What these show is a change from one program to another: test_reuse.py.
STORIES = ("adopt-existing", "rename")


class Example:
    """One example in a sandbox of its own: its projects by name, in the order in which they are made."""

    def __init__(self, name: str, engine: Engine, folder: Path) -> None:
        self.name = name
        self.projects = {
            root.name: Sandbox(Session(Workspace(read_project(root), engine, folder), [POLICIES], MODULES), root)
            for root in ALL[name]
        }

    def cloud(self, project: str = "") -> list[CloudResource]:
        """What exists, of all projects or of one."""
        everything = next(iter(self.projects.values())).cloud()
        if not project:
            return everything
        name = self.projects[project].session.workspace.project.name
        return [thing for thing in everything if thing.urn.split("::")[1] == name]

    def up(self) -> None:
        """Preview, update, and update again: a preview creates nothing, and a second update changes nothing."""
        for project, sandbox in self.projects.items():
            preview = sandbox.run(STACK, "preview")
            assert preview.code == 0, preview.output
            assert "to create" in preview.output
            assert "gpuyard@v0.1.0" in preview.output, "the policy pack has judged it"
            assert self.cloud(project) == [], "a preview creates nothing"

            up = sandbox.run(STACK, "up", "--yes", "--skip-preview")
            assert up.code == 0, up.output
            recorded = sandbox.recorded_ids(STACK)
            assert sorted(recorded.values()) == sorted(thing.id for thing in self.cloud(project))
            assert recorded

            again = sandbox.run(STACK, "up", "--yes", "--skip-preview")
            assert again.code == 0, again.output
            assert "unchanged" in again.output
            assert not [change for change in CHANGES if change in again.output], again.output
            assert sandbox.recorded_ids(STACK) == recorded

    def destroy(self) -> None:
        """Remove the projects, the last one first."""
        for project, sandbox in reversed(self.projects.items()):
            if any(one.get("protect") for one in sandbox.session.workspace.state(STACK)["resources"]):
                unprotect = sandbox.session.run_state(STACK, "unprotect", "--all", "--yes")
                assert unprotect.code == 0, unprotect.output
            destroy = sandbox.run(STACK, "destroy", "--yes", "--skip-preview", "--remove")
            assert destroy.code == 0, destroy.output
            assert self.cloud(project) == []
            assert not sandbox.session.workspace.exists(STACK)


@pytest.fixture
def example(request: pytest.FixtureRequest, engine: Engine, tmp_path: Path) -> Example:
    return Example(request.param, engine, tmp_path / "sandbox")


def test_the_examples_of_the_issue_are_there() -> None:
    assert set(ALL) == {
        *alicloud_examples.SHOWS,
        *component_examples.SHOWS,
        *STORIES,
        "aws/bare-metal",
        "aws/existing-network",
        "aws/inference-g5",
        "aws/nlp-zero-p4d",
        "aws/rl-v100",
        "aws/separate-stacks",
        "aws/two-regions",
        "aws/vision-p4de",
        "tencentcloud/bare-metal",
        "tencentcloud/existing-network",
        "tencentcloud/inference-a10",
        "tencentcloud/nlp-zero-hcc",
        "tencentcloud/vision-gt4",
    }


@pytest.mark.parametrize("example", [name for name in ALL if name not in STORIES], indirect=True)
def test_preview_up_second_up_destroy(example: Example) -> None:
    example.up()
    told_from_things = alicloud_examples.SHOWS | component_examples.SHOWS
    if example.name in told_from_things:
        told_from_things[example.name](example.cloud())
    else:
        SHOWS[example.name](example)
    example.destroy()
    assert example.cloud() == []


@pytest.mark.parametrize("name", [*component_examples.SHOWS, *STORIES])
def test_an_example_of_reuse_is_read_in_a_minute(name: str) -> None:
    assert len((EXAMPLES / name / "README.md").read_text().splitlines()) <= 25
    for root in ALL[name]:
        assert len((root / "__main__.py").read_text().splitlines()) < 60


@pytest.mark.parametrize("name", ALL)
def test_the_official_cli_finds_the_repositorys_environment(name: str) -> None:
    for root in ALL[name]:
        runtime = read_project(root).settings["runtime"]
        assert runtime["name"] == "python"
        assert (root / runtime["options"]["virtualenv"]).resolve() == (REPOSITORY / ".venv").resolve()


@pytest.mark.parametrize("name", ALL)
def test_the_readme_names_folders_that_exist(name: str) -> None:
    readme = (EXAMPLES / name / "README.md").read_text()
    shown = {REPOSITORY / folder for folder in re.findall(r"gpuyard up dev -C (\S+)", readme)}
    assert shown == set(ALL[name])
    (start,) = re.findall(r"^cd (\S+)$", readme, flags=re.M)
    packs = re.findall(r"^(?:\(cd (\S+) && )?.*pulumi up --policy-pack ([^)\s]+)", readme, flags=re.M)
    assert packs
    for inner, pack in packs:
        assert (REPOSITORY / start / inner / pack).resolve() == POLICIES.resolve()


def of_type(things: list[CloudResource], token: str) -> list[CloudResource]:
    return [thing for thing in things if thing.token == token]


def instance_types(things: list[CloudResource]) -> set[str]:
    return {thing.inputs["instanceType"] for thing in of_type(things, "aws:ec2/launchTemplate:LaunchTemplate")}


def interface_kinds(things: list[CloudResource]) -> list[str | None]:
    (template,) = of_type(things, "aws:ec2/launchTemplate:LaunchTemplate")
    return [one.get("interfaceType") for one in template.inputs["networkInterfaces"]]


def shows_vision(example: Example) -> None:
    things = example.cloud()
    assert instance_types(things) == {"p4de.24xlarge"}
    (files,) = of_type(things, "aws:fsx/lustreFileSystem:LustreFileSystem")
    assert (files.inputs["storageCapacity"], files.inputs["perUnitStorageThroughput"]) == (9600, 500)
    (link,) = of_type(things, "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
    (bucket,) = of_type(things, "aws:s3/bucket:Bucket")
    assert link.inputs["dataRepositoryPath"].startswith(f"s3://{bucket.id}/")


def shows_two_nodes_joined_by_efa(example: Example) -> None:
    things = example.cloud()
    assert instance_types(things) == {"p4d.24xlarge"}
    assert interface_kinds(things) == [None, "efa-only", "efa-only", "efa-only", "efa-only"]
    (group,) = of_type(things, "aws:autoscaling/group:Group")
    assert (group.inputs["minSize"], group.inputs["maxSize"]) == (2, 2)
    (placement,) = of_type(things, "aws:ec2/placementGroup:PlacementGroup")
    assert placement.inputs["strategy"] == "cluster"


def shows_v100_with_a_data_disk(example: Example) -> None:
    things = example.cloud()
    assert instance_types(things) == {"p3dn.24xlarge"}
    (template,) = of_type(things, "aws:ec2/launchTemplate:LaunchTemplate")
    disks = [disk["ebs"] for disk in template.inputs["blockDeviceMappings"]]
    assert ("gp3", 1000) in [(disk["volumeType"], disk["volumeSize"]) for disk in disks]
    (schedule,) = of_type(things, "aws:dlm/lifecyclePolicy:LifecyclePolicy")
    volumes = next(one for one in template.inputs["tagSpecifications"] if one["resourceType"] == "volume")
    assert schedule.inputs["policyDetails"]["targetTags"].items() <= volumes["tags"].items(), "it finds the disk"


def shows_serving_on_spot_that_follows_its_queue_and_the_hour(example: Example) -> None:
    things = example.cloud()
    (group,) = of_type(things, "aws:autoscaling/group:Group")
    policy = group.inputs["mixedInstancesPolicy"]
    types = [one["instanceType"] for one in policy["launchTemplate"]["overrides"]]
    assert {"g5.xlarge", "g5.2xlarge", "g5.4xlarge"} <= set(types)
    assert all(name.startswith("g5.") for name in types)
    assert policy["instancesDistribution"]["onDemandPercentageAboveBaseCapacity"] == 0
    assert (group.inputs["minSize"], group.inputs["maxSize"]) == (0, 8)
    assert len(set(group.inputs["vpcZoneIdentifiers"])) == 2
    requests = next(one for one in of_type(things, "aws:sqs/queue:Queue") if one.urn.endswith("::requests"))
    (scaling,) = of_type(things, "aws:autoscaling/policy:Policy")
    target = scaling.inputs["targetTrackingConfiguration"]
    assert target["targetValue"] == 20
    waiting, nodes, _ = target["customizedMetricSpecification"]["metrics"]
    assert dimension_of(waiting) == {"name": "QueueName", "value": requests.outputs["name"]}
    assert dimension_of(nodes) == {"name": "AutoScalingGroupName", "value": group.outputs["name"]}
    schedules = of_type(things, "aws:autoscaling/schedule:Schedule")
    assert {one.inputs["recurrence"]: one.inputs["minSize"] for one in schedules} == {
        "0 7 * * MON-FRI": 1,
        "0 19 * * MON-FRI": 0,
    }
    # The program's own right, on what it has made: nodes take requests off the queue.
    (own,) = [one for one in of_type(things, "aws:iam/rolePolicy:RolePolicy") if one.urn.endswith("::serve")]
    assert json.loads(own.inputs["policy"])["Statement"][0]["Resource"] == requests.outputs["arn"]
    (sandbox,) = example.projects.values()
    outputs = sandbox.session.outputs(STACK)
    assert outputs["request_queue_url"] == requests.outputs["url"]
    interruptions = next(one for one in of_type(things, "aws:sqs/queue:Queue") if one is not requests)
    assert outputs["interruption_queue_url"] == interruptions.outputs["url"]
    targets = of_type(things, "aws:cloudwatch/eventTarget:EventTarget")
    assert [one.inputs["arn"] for one in targets] == [interruptions.outputs["arn"]] * 2


def dimension_of(metric: dict[str, Any]) -> dict[str, str]:
    (dimension,) = metric["metricStat"]["metric"]["dimensions"]
    return dimension


def shows_bare_metal_of_fixed_size(example: Example) -> None:
    things = example.cloud()
    assert instance_types(things) == {"g4dn.metal"}
    assert interface_kinds(things) == [None], "nothing joins the machines"
    (group,) = of_type(things, "aws:autoscaling/group:Group")
    assert (group.inputs["minSize"], group.inputs["desiredCapacity"], group.inputs["maxSize"]) == (2, 2, 2)
    assert group.inputs["waitForCapacityTimeout"] == "70m", "an hour to set up, and the time to start"
    made = {thing.token.split(":")[1].split("/")[0] for thing in things}
    assert made == {"ec2", "vpc", "autoscaling", "iam", "cloudwatch"}, "no file system, bucket or scaler"
    assert "/opt/gpuyard/parts/10-scratch.sh" in boot_files(things)


def boot_files(things: list[CloudResource]) -> dict[str, str]:
    """The files that a node of the only pool has when it has booted: written by cloud-init, and from the archive."""
    (template,) = of_type(things, "aws:ec2/launchTemplate:LaunchTemplate")
    text = gzip.decompress(base64.b64decode(template.inputs["userData"])).decode()
    assert text.startswith("#cloud-config\n")
    written = {one["path"]: one["content"] for one in json.loads(text.split("\n", 1)[1])["write_files"]}
    packed = base64.b64decode(written.pop("/opt/gpuyard/files.tar.gz"))
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = {f"/{one.name}": archive.extractfile(one) for one in archive}
        return written | {path: file.read().decode() for path, file in members.items() if file is not None}


def shows_components_usable_alone_in_an_existing_network(example: Example) -> None:
    things = example.cloud()
    made = {thing.token for thing in things}
    network = {"vpc:Vpc", "subnet:Subnet", "securityGroup:SecurityGroup", "routeTable:RouteTable"}
    assert not {f"aws:ec2/{token}" for token in network} & made
    (sandbox,) = example.projects.values()
    config = sandbox.session.workspace.project.stack_file(STACK).read_text()
    subnet, group = re.findall(r"(?:subnet|sg)-[0-9a-f]+", config)
    (key,) = re.findall(r"arn:aws:kms:\S+", config)
    (scaling,) = of_type(things, "aws:autoscaling/group:Group")
    assert scaling.inputs["vpcZoneIdentifiers"] == [subnet]
    (files,) = of_type(things, "aws:fsx/lustreFileSystem:LustreFileSystem")
    assert (files.inputs["subnetIds"], files.inputs["securityGroupIds"]) == (subnet, [group])
    for direction in ("Ingress", "Egress"):
        (rule,) = of_type(things, f"aws:vpc/securityGroup{direction}Rule:SecurityGroup{direction}Rule")
        assert rule.inputs["securityGroupId"] == rule.inputs["referencedSecurityGroupId"] == group
        assert rule.inputs["ipProtocol"] == "-1"
    (template,) = of_type(things, "aws:ec2/launchTemplate:LaunchTemplate")
    assert {tuple(one["securityGroups"]) for one in template.inputs["networkInterfaces"]} == {(group,)}
    shows_one_key_on_everything(things, key)
    shows_monitoring_alone(things, scaling)
    environment = boot_files(things)["/etc/gpuyard/node.env"]
    assert files.outputs["dnsName"] in environment
    assert files.outputs["mountName"] in environment
    outputs = sandbox.session.outputs(STACK)
    assert outputs["file_system_mb_per_s"] == 600, "derived: the program gives none"
    assert outputs["addresses_needed"] == 2, "one for each node"


def shows_one_key_on_everything(things: list[CloudResource], key: str) -> None:
    (files,) = of_type(things, "aws:fsx/lustreFileSystem:LustreFileSystem")
    assert files.inputs["kmsKeyId"] == key
    (template,) = of_type(things, "aws:ec2/launchTemplate:LaunchTemplate")
    assert {disk["ebs"]["kmsKeyId"] for disk in template.inputs["blockDeviceMappings"]} == {key}
    (encryption,) = of_type(
        things, "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    )
    (rule,) = encryption.inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"]["kmsMasterKeyId"] == key
    rights = [one.inputs["policy"] for one in of_type(things, "aws:iam/rolePolicy:RolePolicy")]
    assert sum(key in policy for policy in rights) == 1, "nodes may use the bucket's key"


def shows_monitoring_alone(things: list[CloudResource], group: CloudResource) -> None:
    alarms = of_type(things, "aws:cloudwatch/metricAlarm:MetricAlarm")
    assert len(alarms) == 6
    (topic,) = of_type(things, "aws:sns/topic:Topic")
    assert {tuple(one.inputs["alarmActions"]) for one in alarms} == {(topic.outputs["arn"],)}
    watched = [one.inputs["dimensions"] for one in alarms if one.inputs.get("dimensions")]
    assert watched == [{"AutoScalingGroupName": group.outputs["name"]}] * len(watched)
    assert watched
    (logs,) = of_type(things, "aws:cloudwatch/logGroup:LogGroup")
    filters = of_type(things, "aws:cloudwatch/logMetricFilter:LogMetricFilter")
    assert [one.inputs["logGroupName"] for one in filters] == [logs.outputs["name"]] * 2
    (reader,) = of_type(things, "aws:sns/topicSubscription:TopicSubscription")
    assert reader.inputs["endpoint"] == "ml-platform@example.com"


def shows_two_clusters_in_two_regions_of_one_program(example: Example) -> None:
    things = example.cloud()
    regions = {"america": "us-east-1", "europe": "eu-west-1"}
    (sandbox,) = example.projects.values()
    records = {
        record["urn"]: record for record in sandbox.session.workspace.state(STACK)["resources"] if record.get("custom")
    }
    counts = dict.fromkeys(regions, 0)
    for thing in things:
        (cluster,) = [name for name in regions if thing.urn.rsplit("::", 1)[1].startswith(f"{name}-")] or ["?"]
        here, other = regions[cluster], next(region for name, region in regions.items() if name != cluster)
        counts[cluster] += 1
        if not thing.token.startswith("aws:iam/"):
            assert thing.outputs["region"] == here, thing.urn
        assert other not in json.dumps([thing.inputs, thing.outputs]), f"{thing.urn} speaks of the other region"
        explicit = records[thing.urn]["provider"].split("::")[3] == "ireland"
        assert explicit is (cluster == "europe"), thing.urn
    assert counts["america"] == counts["europe"] > 20


def shows_training_on_the_bucket_of_the_storage_stack(example: Example) -> None:
    outputs = example.projects["storage"].session.outputs(STACK)
    buckets = of_type(example.cloud("storage"), "aws:s3/bucket:Bucket")
    assert outputs["bucket_name"] in {bucket.id for bucket in buckets}
    things = example.cloud("training")
    assert not of_type(things, "aws:s3/bucket:Bucket")
    (link,) = of_type(things, "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation")
    assert link.inputs["dataRepositoryPath"].startswith(f"s3://{outputs['bucket_name']}/")
    rights = [one.inputs["policy"] for one in of_type(things, "aws:iam/rolePolicy:RolePolicy")]
    (policy,) = [policy for policy in rights if "s3:PutObject" in policy]
    assert outputs["bucket_name"] in policy
    (files,) = of_type(things, "aws:fsx/lustreFileSystem:LustreFileSystem")
    assert files.outputs["dnsName"] in boot_files(things)["/etc/gpuyard/node.env"], "nodes mount it"
    training = example.projects["training"].session.outputs(STACK)
    assert training["checkpoints"] == outputs["checkpoints"]


def machines_of(things: list[CloudResource]) -> list[CloudResource]:
    """The single machines of Tencent Cloud, by name."""
    found = of_type(things, "tencentcloud:Instance/instance:Instance")
    return sorted(found, key=lambda one: one.inputs["instanceName"])


def shows_two_machines_in_one_hpc_cluster(example: Example) -> None:
    things = example.cloud()
    (cluster,) = of_type(things, "tencentcloud:Cvm/hpcCluster:HpcCluster")
    machines = machines_of(things)
    assert [one.inputs["hpcClusterId"] for one in machines] == [cluster.id] * 2
    assert {one.inputs["availabilityZone"] for one in machines} == {cluster.inputs["zone"]}
    assert {one.inputs["instanceType"] for one in machines} == {"HCCPNV4h.48XLARGE1024"}
    assert not of_type(things, "tencentcloud:Placement/group:Group"), "they would only spread the machines"
    (files,) = of_type(things, "tencentcloud:Cfs/fileSystem:FileSystem")
    kind = (files.inputs["protocol"], files.inputs["storageType"], files.inputs["capacity"])
    assert kind == ("TURBO", "TP", 20_480)
    (network,) = of_type(things, "tencentcloud:Vpc/instance:Instance")
    assert files.inputs["vpcId"] == network.id
    (rule,) = of_type(things, "tencentcloud:Cfs/accessRule:AccessRule")
    assert rule.inputs["authClientIp"] == network.inputs["cidrBlock"]
    (sandbox,) = example.projects.values()
    mount = sandbox.session.outputs(STACK)["mount"]
    assert mount.endswith(f"{files.outputs['mountIp']}@tcp0:/{files.outputs['fsId']}/cfs /cfs")


def shows_one_machine_with_a_fast_disk_that_is_snapshotted(example: Example) -> None:
    things = example.cloud()
    (machine,) = machines_of(things)
    assert machine.inputs["instanceType"] == "GT4.41XLARGE948"
    assert "hpcClusterId" not in machine.inputs
    (disk,) = of_type(things, "tencentcloud:Cbs/storage:Storage")
    assert (disk.inputs["storageType"], disk.inputs["storageSize"], disk.inputs["encrypt"]) == (
        "CLOUD_HSSD",
        4_000,
        True,
    )
    assert disk.inputs["throughputPerformance"] in (250, 251), "350 MB/s come with the size"
    (schedule,) = of_type(things, "tencentcloud:Cbs/snapshotPolicy:SnapshotPolicy")
    # 18:00 UTC from Monday to Friday is 02:00 from Tuesday to Saturday there.
    assert (schedule.inputs["repeatWeekdays"], schedule.inputs["repeatHours"]) == ([2, 3, 4, 5, 6], [2])
    (attached,) = of_type(things, "tencentcloud:Cbs/snapshotPolicyAttachment:SnapshotPolicyAttachment")
    assert (attached.inputs["storageId"], attached.inputs["snapshotPolicyId"]) == (disk.id, schedule.id)
    (bucket,) = of_type(things, "tencentcloud:Cos/bucket:Bucket")
    (sandbox,) = example.projects.values()
    checkpoints = sandbox.session.outputs(STACK)["checkpoints"]
    assert checkpoints["uri"] == f"cos://{bucket.id}/checkpoints"
    assert checkpoints["endpoint"] == f"{bucket.id}.cos.ap-shanghai.myqcloud.com"


def shows_bare_metal_paid_months_ahead(example: Example) -> None:
    machines = machines_of(example.cloud())
    assert [one.inputs["instanceChargeType"] for one in machines] == ["PREPAID"] * 2
    assert {one.inputs["instanceChargeTypePrepaidPeriod"] for one in machines} == {6}
    assert {one.inputs["instanceChargeTypePrepaidRenewFlag"] for one in machines} == {"NOTIFY_AND_MANUAL_RENEW"}
    assert not of_type(example.cloud(), "tencentcloud:Cvm/hpcCluster:HpcCluster")


def shows_two_scaling_groups_and_alarms_by_tag(example: Example) -> None:
    things = example.cloud()
    groups = of_type(things, "tencentcloud:As/scalingGroup:ScalingGroup")
    configs = {one.id: one.inputs for one in of_type(things, "tencentcloud:As/scalingConfig:ScalingConfig")}
    charged = {configs[group.inputs["configurationId"]]["instanceChargeType"]: group.inputs for group in groups}
    assert set(charged) == {"SPOTPAID", "POSTPAID_BY_HOUR"}
    spot, steady = charged["SPOTPAID"], charged["POSTPAID_BY_HOUR"]
    assert (spot["minSize"], spot["maxSize"], steady["minSize"], steady["maxSize"]) == (0, 7, 1, 1)
    assert len(set(spot["subnetIds"])) == 2
    config = configs[spot["configurationId"]]
    assert (config["spotInstanceType"], float(config["spotMaxPrice"])) == ("one-time", 12)
    assert config["instanceTags"]["gpuyard:pool"] == "serve"
    alarms = of_type(things, "tencentcloud:Monitor/alarmPolicy:AlarmPolicy")
    assert {one.inputs["policyName"] for one in alarms} == {"gpu-idle-serve", "gpu-memory-serve"}
    assert all(one.inputs["policyTags"] == [{"key": "gpuyard:pool", "value": "serve"}] for one in alarms)
    (reader,) = of_type(things, "tencentcloud:Cam/user:User")
    assert reader.inputs["email"] == "ml-platform@example.com"


def shows_components_in_an_existing_network_of_tencent_cloud(example: Example) -> None:
    things = example.cloud()
    services = {thing.token.split(":")[1].split("/")[0] for thing in things}
    assert services == {"Cam", "Cbs", "Cfs", "Cos", "Instance", "Monitor"}, "no network, no security group"
    (sandbox,) = example.projects.values()
    config = sandbox.session.workspace.project.stack_file(STACK).read_text()
    (key,) = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", config)
    (bucket,) = of_type(things, "tencentcloud:Cos/bucket:Bucket")
    assert (bucket.inputs["encryptionAlgorithm"], bucket.inputs["kmsId"]) == ("KMS", key)
    disks = of_type(things, "tencentcloud:Cbs/storage:Storage")
    assert [disk.inputs["kmsKeyId"] for disk in disks] == [key] * 2
    attached = of_type(things, "tencentcloud:Cbs/snapshotPolicyAttachment:SnapshotPolicyAttachment")
    assert {one.inputs["storageId"] for one in attached} == {disk.id for disk in disks}
    (files,) = of_type(things, "tencentcloud:Cfs/fileSystem:FileSystem")
    assert (files.inputs["storageType"], files.inputs["vpcId"]) == ("TB", "vpc-1a2b3c4d")
    (rule,) = of_type(things, "tencentcloud:Cfs/accessRule:AccessRule")
    assert rule.inputs["authClientIp"] == "10.20.0.0/16"
    bound = of_type(things, "tencentcloud:Monitor/policyBindingObject:PolicyBindingObject")
    machines = {one.id for one in machines_of(things)}
    for one in bound:
        assert {json.loads(to["dimensionsJson"])["unInstanceId"] for to in one.inputs["dimensions"]} == machines
    outputs = sandbox.session.outputs(STACK)
    assert outputs["checkpoints_endpoint"] == f"{bucket.id}.cos.ap-shanghai.myqcloud.com"
    assert outputs["addresses_needed"] == 2, "one for each node"


SHOWS = {
    "aws/bare-metal": shows_bare_metal_of_fixed_size,
    "aws/existing-network": shows_components_usable_alone_in_an_existing_network,
    "aws/inference-g5": shows_serving_on_spot_that_follows_its_queue_and_the_hour,
    "aws/nlp-zero-p4d": shows_two_nodes_joined_by_efa,
    "aws/rl-v100": shows_v100_with_a_data_disk,
    "aws/separate-stacks": shows_training_on_the_bucket_of_the_storage_stack,
    "aws/two-regions": shows_two_clusters_in_two_regions_of_one_program,
    "aws/vision-p4de": shows_vision,
    "tencentcloud/bare-metal": shows_bare_metal_paid_months_ahead,
    "tencentcloud/existing-network": shows_components_in_an_existing_network_of_tencent_cloud,
    "tencentcloud/inference-a10": shows_two_scaling_groups_and_alarms_by_tag,
    "tencentcloud/nlp-zero-hcc": shows_two_machines_in_one_hpc_cluster,
    "tencentcloud/vision-gt4": shows_one_machine_with_a_fast_disk_that_is_snapshotted,
}
