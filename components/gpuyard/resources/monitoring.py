"""GpuMonitoring: alarms, a dashboard and a budget of node pools and a file system."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import pulumi
from pydantic import Field

from gpuyard.catalog.limits import limit_values
from gpuyard.clouds.built import BuiltMonitoring
from gpuyard.clouds.watched import Watched, WatchedFileSystem, WatchedPool
from gpuyard.planning.monitoring import plan_monitoring
from gpuyard.planning.plans import MonitoringPlan, Place
from gpuyard.resources._common import Arguments, OwnSpec, builder
from gpuyard.resources.args import GpuMonitoringArgs
from gpuyard.spec.alicloud import AlicloudFileSystemKind
from gpuyard.spec.base import Model
from gpuyard.spec.models import MonitoringSpec
from gpuyard.spec.problems import Problem, one_of
from gpuyard.spec.values import Flag, Name, Real, Text, Whole

_POOL_INPUTS = ("group_name", "log_group_name", "instance_ids")
_FILE_SYSTEM_INPUTS = ("file_system_id",)


class _WatchedPoolSpec(Model):
    group_name: Text | None = None
    log_group_name: Text | None = None
    instance_ids: list[Text] | None = None
    pool_tag: Text | None = None
    rdma: Flag = False


class _WatchedFileSystemSpec(Model):
    file_system_id: Text
    capacity_gib: Annotated[Whole, Field(ge=1, le=100_000_000)]
    throughput_mb_per_s: Annotated[Real, Field(gt=0)] | None = None
    kind: AlicloudFileSystemKind | None = None


class _OwnSpec(OwnSpec):
    node_pools: Annotated[dict[Name, _WatchedPoolSpec], Field(min_length=1)]
    watched_file_system: _WatchedFileSystemSpec | None = None


class GpuMonitoring(pulumi.ComponentResource):
    """Alarms for GPUs, their errors, RDMA and storage, with a dashboard, and a budget where asked for."""

    topic_arn: pulumi.Output[str] | None
    """ARN of the topic that messages go to; the name of the group of contacts on Alibaba Cloud, the id of the notice
    template on Tencent Cloud, which has none where nobody is to hear of anything."""
    alarm_names: pulumi.Output[Sequence[str]]
    """Names of the alarms."""
    dashboard_name: pulumi.Output[str] | None
    """Name of the dashboard, where there is one."""
    budget_name: pulumi.Output[str] | None
    """Name of the budget, where there is one. It counts once gpuyard:cluster is an active cost allocation tag."""

    def __init__(self, name: str, args: GpuMonitoringArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Create the monitoring.

        Args:
            name: Name in front of every resource.
            args: Place, what is watched, thresholds, who hears of it, and the budget.
            opts: Resource options.

        Raises:
            SpecError: The arguments cannot be built; nothing has been registered then.
        """
        given: Mapping[str, Any] = dict(args)
        arguments = Arguments(name, _with_stand_ins(given), spec=MonitoringSpec, own=_OwnSpec)
        own: _OwnSpec | None = arguments.own

        def planned(spec: MonitoringSpec, place: Place) -> tuple[MonitoringPlan | None, list[Problem]]:
            plan, problems = plan_monitoring(spec, place)
            return plan, [*problems, *([] if own is None else _missing(own, place))]

        plan = arguments.plan(planned)
        super().__init__("gpuyard:index:GpuMonitoring", name, {}, opts)
        built: BuiltMonitoring = builder(arguments.built_in.cloud, "monitoring").build_monitoring(
            name, plan, _watched(arguments.own, given), arguments.cluster, arguments.tags(), self
        )
        self.topic_arn = built.topic_arn
        self.alarm_names = pulumi.Output.all(*built.alarm_names)
        self.dashboard_name = built.dashboard_name
        self.budget_name = built.budget_name
        self.register_outputs(
            {
                "topicArn": self.topic_arn,
                "alarmNames": self.alarm_names,
                "dashboardName": self.dashboard_name,
                "budgetName": self.budget_name,
            }
        )


def _with_stand_ins(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with a text for each id that is known only later: what is plain around it can be checked."""
    given = dict(args)
    pools = given.get("node_pools")
    if isinstance(pools, Mapping):
        items = cast(Mapping[str, Any], pools).items()
        given["node_pools"] = {pool: _stand_in(values, _POOL_INPUTS) for pool, values in items}
    given["watched_file_system"] = _stand_in(given.get("watched_file_system"), _FILE_SYSTEM_INPUTS)
    return given


def _stand_in(values: Any, keys: Sequence[str]) -> Any:
    if not isinstance(values, Mapping):
        return values
    items = cast(Mapping[str, Any], values).items()
    return {key: _later(value, several=key.endswith("_ids")) if key in keys else value for key, value in items}


def _later(value: Any, *, several: bool = False) -> Any:
    if isinstance(value, pulumi.Output):
        return ["known later"] if several else "known later"
    if isinstance(value, (list, tuple)):
        return [_later(inner) for inner in cast(list[Any], value)]
    return value


def _missing(own: _OwnSpec, place: Place) -> list[Problem]:
    """What the cloud needs of each pool to watch it: every key of the catalog, or one of several with | between."""
    needs = [needed.split("|") for needed in limit_values(place.cloud, "watched_pool_needs")]
    return [
        Problem(("node_pools", name, keys[0]), "is missing.", f"{place.cloud} watches a pool by {_any_of(keys)}.")
        for name, pool in own.node_pools.items()
        for keys in needs
        if all(getattr(pool, key) is None for key in keys)
    ]


def _any_of(keys: Sequence[str]) -> str:
    return "it" if len(keys) == 1 else f"one of {one_of(keys)}"


def _watched(own: _OwnSpec, given: Mapping[str, Any]) -> Watched:
    system = own.watched_file_system
    return Watched(
        pools=[
            WatchedPool(
                name=pool,
                group_name=given["node_pools"][pool].get("group_name"),
                log_group_name=given["node_pools"][pool].get("log_group_name"),
                instance_ids=given["node_pools"][pool].get("instance_ids"),
                rdma=spec.rdma,
                pool_tag=spec.pool_tag,
            )
            for pool, spec in own.node_pools.items()
        ],
        file_system=None
        if system is None
        else WatchedFileSystem(
            file_system_id=given["watched_file_system"]["file_system_id"],
            capacity_gib=system.capacity_gib,
            throughput_mb_per_s=system.throughput_mb_per_s,
            kind=system.kind,
        ),
    )
