"""Components run against mocks that record every registration with its rendered inputs and options."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from pulumi.runtime import mocks
from ruamel.yaml import YAML

STACKS = Path(__file__).parents[3] / "stacks"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
AMI = "ami-0123456789abcdef0"
ACCOUNT = "123456789012"
ALICLOUD_ACCOUNT = "1234567890123456"
APP_ID, OWNER, USER = "1250000000", "100000000001", "100000000002"
ALARM_METRICS = ("CpuUsage", "gpu_util", "GpuMemUsage")


@dataclass(frozen=True)
class Registered:
    """One registration: its type, name, inputs as the engine gets them, and options."""

    type: str
    name: str
    inputs: dict[str, Any]
    request: Any

    @property
    def depends_on(self) -> list[str]:
        """Names of the resources it waits for by ``depends_on`` or by an input."""
        return [urn.rsplit("::", 1)[1] for urn in self.request.dependencies]

    @property
    def parent(self) -> str:
        """Name of its parent."""
        return self.request.parent.rsplit("::", 1)[-1]


@dataclass(frozen=True)
class Rendered:
    """Everything a program registered, in order."""

    resources: tuple[Registered, ...]

    def __iter__(self) -> Iterator[Registered]:
        return iter(self.resources)

    def all(self, kind: str) -> list[Registered]:
        """Every resource of a type, such as ``aws:ec2/vpc:Vpc``; its last part is enough."""
        return [found for found in self.resources if found.type.rsplit(":", 1)[-1] == kind or found.type == kind]

    def one(self, kind: str, name: str | None = None) -> Registered:
        """The only resource of a type, or the one of that type with this name."""
        (found,) = [found for found in self.all(kind) if name is None or found.name == name]
        return found

    def of_pool(self, kind: str, pool: str = "train") -> Registered:
        """The only resource of a type that belongs to one pool of the cluster."""
        (found,) = [found for found in self.all(kind) if f"-{pool}-" in found.name]
        return found


class _Mocks(mocks.Mocks):
    def __init__(self, *, preview: bool) -> None:
        self.preview = preview

    def call(self, args: mocks.MockCallArgs) -> Any:
        if args.token == "aws:index/getCallerIdentity:getCallerIdentity":
            return {"accountId": ACCOUNT, "arn": f"arn:aws:iam::{ACCOUNT}:user/x", "id": ACCOUNT, "userId": "AIDA"}
        if args.token == "alicloud:index/getAccount:getAccount":
            return {"id": ALICLOUD_ACCOUNT}
        if args.token == "alicloud:ecs/getImages:getImages":
            # The pattern stands in the id, so that tests see which image was looked for.
            return {"images": [{"imageId": f"m-{args.args['nameRegex'].strip('^')}"}], **args.args}
        if args.token == "tencentcloud:Images/getInstance:getInstance":
            return {"images": [{"imageId": f"img-{args.args['instanceType']}"}], **args.args}
        if args.token == "tencentcloud:Vpc/getSubnets:getSubnets":
            return {"instanceLists": [{"vpcId": f"vpc-of-{args.args['subnetId']}"}], **args.args}
        if args.token == "tencentcloud:User/getInfo:getInfo":
            return {"id": "user", "appId": APP_ID, "uin": USER, "ownerUin": OWNER, "name": "x"}
        if args.token == "tencentcloud:Monitor/getAlarmMetric:getAlarmMetric":
            # As alarms may spell them: not as the list of metrics does.
            return {"id": "metrics", "metrics": [{"metricName": name} for name in ALARM_METRICS], **args.args}
        return {"name": args.args["name"], "value": AMI, "insecureValue": AMI, "type": "String", "version": 1}

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if self.preview:
            return None, dict(args.inputs)
        computed = {
            "arn": f"arn:mock:{args.name}",
            "name": args.name,
            "bucket": f"{args.name}-1a2b3c",
            "dnsName": f"{args.name}.example",
            "mountName": "mnt",
            "prefixListId": f"{args.name}-list",
            "latestVersion": 1,
            "url": f"https://queues.example/{args.name}",
            "resourceId": f"ins-of-{args.name}",
            "roleArn": f"qcs::cam::uin/1:roleName/{args.name}",
            "publicIp": "203.0.113.7",
            "ipAddress": "203.0.113.7",
            "snatTableIds": f"{args.name}-snat",
            "systemDiskId": f"{args.name}-system-id",
            "ari": f"ari:{args.name}",
            "intranetEndpoint": f"{args.name}-internal.example",
            "location": f"{args.name}-location",
            "mountTargetDomain": f"{args.name}.nas.example",
            "protocolServiceId": f"ptc-{args.name}",
            "filesetId": f"fset-{args.name}",
            "mountIp": "10.64.0.9",
            "fsId": "1a2b3c4d",
            "uid": 20_000_001,
        }
        return f"{args.name}-id", {**computed, **args.inputs}


class _Monitor(mocks.MockMonitor):
    def __init__(self, *, preview: bool) -> None:
        super().__init__(_Mocks(preview=preview))
        self.registered: list[Registered] = []

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the engine's own name
        inputs = MessageToDict(request.object)
        self.registered.append(Registered(request.type, request.name, inputs, request))
        return super().RegisterResource(request)


def render(program: Callable[[], object], *, preview: bool) -> Rendered:
    """What a program registers, as a preview (ids and computed values unknown) or as an update."""
    monitor = _Monitor(preview=preview)
    mocks.set_mocks(monitor.mocks, "gpuyard", "trial", preview, monitor=monitor)
    mocks.test(lambda: (program(), None)[1])()
    return Rendered(tuple(found for found in monitor.registered if found.type != "pulumi:pulumi:Stack"))


def stack_cluster(stack: str) -> dict[str, Any]:
    """The cluster description of a stack of the repository, as plain data."""
    text = (STACKS / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    return YAML(typ="safe").load(text)["config"]["gpuyard:cluster"]


@cache
def rendered_stack(stack: str, *, preview: bool) -> Rendered:
    """A stack of the repository, rendered once."""
    from gpuyard import TrainingCluster

    cluster: Any = stack_cluster(stack)
    return render(lambda: TrainingCluster(stack, cluster), preview=preview)
