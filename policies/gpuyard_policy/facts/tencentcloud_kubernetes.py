"""Node pools of Kubernetes on Tencent Cloud: classic and native ones, and machines that join a cluster."""

from collections.abc import Iterable
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import NodePoolFact, Record, Unknown
from gpuyard_policy.facts.reading import as_flag, as_list, as_number, as_tags, read
from gpuyard_policy.facts.tencentcloud_machines import (
    disks_of,
    elastic_of,
    grouped_tags,
    groups_of,
    image_of,
    lies,
    pool_of,
    price_of,
    public_of,
    purchase_of,
    script_of,
    taints_of,
    types_of,
    watches,
)

NODE_POOL = "tencentcloud:Kubernetes/nodePool:NodePool"
NATIVE_POOL = "tencentcloud:Kubernetes/nativeNodePool:NativeNodePool"
WORKERS = "tencentcloud:Kubernetes/scaleWorker:ScaleWorker"
CLUSTER = "tencentcloud:Kubernetes/cluster:Cluster"
KUBERNETES = (NODE_POOL, NATIVE_POOL, WORKERS, CLUSTER)


def kubernetes_pools(record: Record, among: Among) -> Iterable[NodePoolFact]:
    """The pools of nodes that a resource launches: one, or as many as a cluster has kinds of workers."""
    if record.type == NODE_POOL:
        yield _classic(record, among)
    elif record.type == NATIVE_POOL:
        yield _native(record, among)
    elif record.type == WORKERS:
        yield _workers(record, among, record.props.get("workerConfig"), "workerConfig")
    elif record.type == CLUSTER:
        configs = as_list(record.props.get("workerConfigs"))
        for config in [configs] if isinstance(configs, Unknown) else configs:
            yield _workers(record, among, config, "workerConfigs")


def _classic(record: Record, among: Among) -> NodePoolFact:
    props, within = record.props, "autoScalingConfig"
    scaling = props.get(within)
    low, high = as_number(props.get("minSize")), as_number(props.get("maxSize"))
    tags, config = as_tags(props.get("tags")), props.get("nodeConfig")
    user_data = script_of(read(config, "preStartUserScript"), read(config, "userData"))
    root = read(scaling, "systemDiskType"), read(scaling, "systemDiskSize")
    return pool_of(
        record,
        among,
        instance_types=types_of(read(scaling, "instanceType"), read(scaling, "backupInstanceTypes")),
        nodes_min=low,
        nodes_max=high,
        tags=tags,
        purchase=purchase_of(read(scaling, "instanceChargeType")),
        spot_price_limit=price_of(read(scaling, "spotMaxPrice")),
        placement=None,
        rdma_interfaces=0,
        public_address=public_of(read(scaling, "publicIpAssigned"), read(scaling, "internetMaxBandwidthOut")),
        security_groups=groups_of(record, among, scaling, "orderlySecurityGroupIds", "securityGroupIds", within=within),
        disks=disks_of(record, tags, root, read(scaling, "dataDisks")),
        user_data=user_data,
        **image_of(props.get("nodeOs")),
        handles_interruption=watches(user_data),
        elastic=elastic_of(low, high, props.get("enableAutoScale")),
        taints=taints_of(props.get("taints")),
    )


def _native(record: Record, among: Among) -> NodePoolFact:
    native, within = record.props.get("native"), "native"
    scaling, scales = read(native, "scaling"), read(native, "enableAutoscaling")
    fixed = as_number(read(native, "replicas"))
    low, high = as_number(read(scaling, "minReplicas")), as_number(read(scaling, "maxReplicas"))
    if as_flag(scales) is False:
        low = high = fixed
    low, high = fixed if low is None else low, fixed if high is None else high
    tags, root = grouped_tags(record.props.get("tags")), read(native, "systemDisk")
    user_data = script_of(read(native, "lifecycle", "preInit"), read(native, "lifecycle", "postInit"), or_plain=True)
    return pool_of(
        record,
        among,
        native,
        within,
        instance_types=types_of(read(native, "instanceTypes")),
        nodes_min=low,
        nodes_max=high,
        tags=tags,
        purchase=purchase_of(read(native, "instanceChargeType")),
        spot_price_limit=None,
        placement=None,
        rdma_interfaces=0,
        public_address=public_of(None, read(native, "internetAccessible", "maxBandwidthOut")),
        security_groups=groups_of(record, among, native, "securityGroupIds", within=within),
        disks=disks_of(record, tags, (read(root, "diskType"), read(root, "diskSize")), read(native, "dataDisks")),
        user_data=user_data,
        # The cloud chooses: nothing of a native pool names an image.
        # Source: PyPI tencentcloud_iac_pulumi 0.2.3, kubernetes.NativeNodePoolNativeArgs
        image=None,
        image_pinned=False,
        handles_interruption=watches(user_data),
        elastic=elastic_of(low, high, scales),
        taints=taints_of(record.props.get("taints")),
    )


def _workers(record: Record, among: Among, config: Any, within: str) -> NodePoolFact:
    """Machines that are made for a cluster and join it; the only nodes of Kubernetes that an RDMA cluster takes.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, kubernetes.ScaleWorkerWorkerConfigArgs and ClusterWorkerConfigArgs
    """
    count = 1 if read(config, "count") is None else as_number(read(config, "count"))
    tags = as_tags(record.props.get("tags") if record.type == CLUSTER else read(config, "tags"))
    user_data = script_of(
        record.props.get("preStartUserScript"), read(config, "userData"), record.props.get("userScript")
    )
    root = read(config, "systemDiskType"), read(config, "systemDiskSize")
    return pool_of(
        record,
        among,
        config,
        within,
        instance_types=types_of(read(config, "instanceType")),
        nodes_min=count,
        nodes_max=count,
        tags=tags,
        purchase=purchase_of(read(config, "instanceChargeType")),
        spot_price_limit=None,
        **lies(read(config, "hpcClusterId"), read(config, "disasterRecoverGroupIds")),
        public_address=public_of(read(config, "publicIpAssigned"), read(config, "internetMaxBandwidthOut")),
        security_groups=groups_of(record, among, config, "securityGroupIds", within=within),
        disks=disks_of(record, tags, root, read(config, "dataDisks")),
        user_data=user_data,
        **image_of(read(config, "imgId")),
        handles_interruption=watches(user_data),
        elastic=False,
        taints=taints_of(record.props.get("taints")),
    )
