"""Node pools of Tencent Cloud: of raw resources as well as of gpuyard's own."""

import base64
import binascii
import gzip
from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard.catalog import instance_types
from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import DiskFact, NodePoolFact, Record, Unknown
from gpuyard_policy.facts.reading import as_list, as_number, as_tags, as_text, merged, read
from gpuyard_policy.facts.tencentcloud_places import CLOUD, region_of, zones_of

MACHINE = "tencentcloud:Instance/instance:Instance"
MACHINES = "tencentcloud:Instance/set:Set"
WORKSPACE = "tencentcloud:Thpc/workspaces:Workspaces"
GROUP = "tencentcloud:As/scalingGroup:ScalingGroup"
CONFIGURATION = "tencentcloud:As/scalingConfig:ScalingConfig"
HOOK = "tencentcloud:As/lifecycleHook:LifecycleHook"
NODE_POOL = "tencentcloud:Kubernetes/nodePool:NodePool"
NATIVE_POOL = "tencentcloud:Kubernetes/nativeNodePool:NativeNodePool"
SECURITY_GROUP = "tencentcloud:Security/group:Group"

# Source: PyPI tencentcloud_iac_pulumi 0.2.3: no argument of a machine, scaling configuration or node pool names the
# metadata service.
NO_TOKENS = Unknown("the provider cannot ask for session tokens of the metadata service")
AS_THE_ACCOUNT = Unknown("the provider cannot ask for encryption of this disk: the account decides")
IN_A_TEMPLATE = Unknown("its launch template is not in this stack")
_PURCHASES = {
    "PREPAID": "prepaid",
    "SPOTPAID": "spot",
    "CDHPAID": "reserved",
    "CDCPAID": "reserved",
    "POSTPAID_BY_HOUR": "on_demand",
}
# What only a scaling configuration says.
_OF_A_CONFIGURATION = (
    *("instance_types", "purchase", "spot_price_limit", "public_address", "security_groups", "disks"),
    *("user_data", "image", "image_pinned"),
)
# What the name of an image starts with that stays the same.
_IMAGE_ID = "img-"
# How a machine learns by itself that it is taken back.
_NOTICE = "spot/termination-time"


def node_pools(record: Record, among: Among) -> Iterable[NodePoolFact]:
    """The pool that a resource launches, if it launches one."""
    readers = {
        MACHINE: _machine,
        MACHINES: _machine,
        WORKSPACE: _workspace,
        GROUP: _group,
        NODE_POOL: _kubernetes,
        NATIVE_POOL: _native,
    }
    if record.type in readers:
        yield readers[record.type](record, among)


def _machine(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    several = record.type == MACHINES
    count = as_number(props.get("instanceCount")) if several else 1
    cluster, group = props.get("hpcClusterId"), props.get("placementGroupId")
    user_data = _user_data(props)
    purchase = _purchase(props.get("instanceChargeType"))
    return _pool(
        record,
        among,
        instance_types=_types([props.get("instanceType")]),
        nodes_min=count,
        nodes_max=count,
        tags=as_tags(props.get("tags")),
        purchase=purchase,
        spot_price_limit=_price(props.get("spotMaxPrice")),
        placement="close" if cluster is not None else "spread" if group is not None else None,
        rdma_interfaces=0 if cluster is None else 1,
        public_address=_public(props, "allocatePublicIp"),
        security_groups=_groups(record, among, "orderlySecurityGroups", "securityGroups"),
        disks=(_root(record, props), *_data_disks(record, props.get("dataDisks"), "dataDiskType", "dataDiskSize")),
        user_data=user_data,
        **_image(props),
        handles_interruption=_watches(user_data),
        elastic=False,
    )


def _workspace(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    user_data = _user_data(props)
    specifications = as_list(props.get("tagSpecifications"))
    tags = [as_tags(read(one, "tags")) for one in ([] if isinstance(specifications, Unknown) else specifications)]
    return _pool(
        record,
        among,
        instance_types=Unknown("a THPC workspace names its machine in other words than the catalog"),
        nodes_min=1,
        nodes_max=1,
        tags=merged(*tags),
        purchase="prepaid",
        placement="close" if props.get("hpcClusterId") is not None else None,
        rdma_interfaces=0 if props.get("hpcClusterId") is None else 1,
        public_address=_flag(read(props.get("internetAccessible"), "publicIpAssigned")),
        security_groups=_groups(record, among, "securityGroupIds"),
        user_data=user_data,
        **_image(props),
        handles_interruption=_watches(user_data),
        elastic=False,
    )


def _group(record: Record, among: Among) -> NodePoolFact:
    low, high = as_number(record.props.get("minSize")), as_number(record.props.get("maxSize"))
    own = as_tags(record.props.get("tags"))
    found = [
        *among.behind(record, "configurationId", CONFIGURATION),
        *among.called(record.props.get("configurationId"), CONFIGURATION),
    ]
    elastic: bool | Unknown = next((size for size in (low, high) if isinstance(size, Unknown)), low != high)
    if not found:
        unknown = Unknown("its scaling configuration is not in this stack")
        told: dict[str, Any] = dict.fromkeys(_OF_A_CONFIGURATION, unknown)
        return _pool(record, among, nodes_min=low, nodes_max=high, tags=own, elastic=elastic, **told)
    configuration = found[0]
    props = configuration.props
    user_data = _user_data(props)
    return _pool(
        record,
        among,
        instance_types=_types(as_list(props.get("instanceTypes"))),
        nodes_min=low,
        nodes_max=high,
        tags=merged(as_tags(props.get("tags")), as_tags(props.get("instanceTags")), own),
        purchase=_purchase(props.get("instanceChargeType")),
        spot_price_limit=_price(props.get("spotMaxPrice")),
        placement="spread" if props.get("disasterRecoverGroupIds") else None,
        rdma_interfaces=0,
        public_address=_public(props, "publicIpAssigned"),
        security_groups=_groups(configuration, among, "securityGroupIds"),
        disks=(_root(record, props), *_data_disks(record, props.get("dataDisks"), "diskType", "diskSize")),
        user_data=user_data,
        **_image(props),
        handles_interruption=_has_hook(record, among) or _watches(user_data),
        elastic=elastic,
    )


def _kubernetes(record: Record, among: Among) -> NodePoolFact:
    props = record.props
    scaling = props.get("autoScalingConfig")
    low, high = as_number(props.get("minSize")), as_number(props.get("maxSize"))
    backups = as_list(read(scaling, "backupInstanceTypes"))
    return _pool(
        record,
        among,
        instance_types=_types([read(scaling, "instanceType"), *([] if isinstance(backups, Unknown) else backups)]),
        nodes_min=low,
        nodes_max=high,
        tags=as_tags(props.get("tags")),
        purchase=_purchase(read(scaling, "instanceChargeType")),
        spot_price_limit=_price(read(scaling, "spotMaxPrice")),
        placement=None,
        rdma_interfaces=0,
        public_address=_public(scaling, "publicIpAssigned"),
        image=as_text(props.get("nodeOs")),
        image_pinned=_is_pinned(as_text(props.get("nodeOs"))),
        elastic=low != high,
        taints=_taints(props.get("taints")),
    )


def _native(record: Record, among: Among) -> NodePoolFact:
    native = record.props.get("native")
    scaling = read(native, "scaling")
    fixed = as_number(read(native, "replicas"))
    low, high = as_number(read(scaling, "minReplicas")), as_number(read(scaling, "maxReplicas"))
    return _pool(
        record,
        among,
        instance_types=_types(as_list(read(native, "instanceTypes"))),
        nodes_min=fixed if low is None else low,
        nodes_max=fixed if high is None else high,
        tags=as_tags(record.props.get("tags")),
        purchase=_purchase(read(native, "instanceChargeType")),
        placement=None,
        rdma_interfaces=0,
        # The cloud chooses: nothing of a native pool names an image.
        # Source: PyPI tencentcloud_iac_pulumi 0.2.3, kubernetes.NativeNodePoolNativeArgs
        image=None,
        image_pinned=False,
        elastic=low != high,
        taints=_taints(record.props.get("taints")),
    )


def _pool(record: Record, among: Among, **facts: Any) -> NodePoolFact:
    return NodePoolFact(
        urn=record.urn,
        name=record.name,
        cloud=CLOUD,
        region=region_of(record, among),
        zones=zones_of(record, among),
        metadata_hardened=NO_TOKENS,
        **facts,
    )


def _types(values: list[Any] | Unknown) -> tuple[str, ...] | Unknown:
    if isinstance(values, Unknown):
        return values
    unknown = next((value for value in values if isinstance(value, Unknown)), None)
    if unknown is not None:
        return unknown
    names = tuple(_known_as(value) for value in values if isinstance(value, str))
    return names or Unknown("it names no instance type")


def _known_as(name: str) -> str:
    """A machine's name in the catalog's words: of some families the catalog knows only the family's name."""
    known = instance_types(CLOUD)
    family = name.split(".", 1)[0]
    return family if name not in known and family in known else name


def _purchase(charge_type: Any) -> str | Unknown:
    if isinstance(charge_type, Unknown):
        return charge_type
    if charge_type is None:
        return "on_demand"
    known = _PURCHASES.get(charge_type) if isinstance(charge_type, str) else None
    return known or Unknown(f"'{charge_type}' is no charge type that is known")


def _price(value: Any) -> float | None | Unknown:
    if isinstance(value, Unknown) or value is None:
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return Unknown(f"'{value}' is no price")


def _flag(value: Any) -> bool | Unknown:
    return value if isinstance(value, Unknown) else value is True


def _public(props: Any, key: str) -> bool | Unknown:
    asked, bandwidth = read(props, key), as_number(read(props, "internetMaxBandwidthOut"))
    if asked is True or (isinstance(bandwidth, int) and bandwidth > 0):
        return True
    return next((value for value in (asked, bandwidth) if isinstance(value, Unknown)), False)


def _groups(record: Record, among: Among, *names: str) -> tuple[str, ...] | Unknown:
    found: list[str] = []
    for name in names:
        behind = [group.urn for group in among.behind(record, name, SECURITY_GROUP)]
        values = as_list(record.props.get(name))
        if isinstance(values, Unknown):
            if not behind:
                return values
            values = []
        ids = [value for value in values if isinstance(value, str)]
        in_stack = {group.props.get("id"): group.urn for value in ids for group in among.called(value, SECURITY_GROUP)}
        found += [*behind, *(in_stack.get(value, value) for value in ids)]
    return tuple(dict.fromkeys(found))


def _root(record: Record, props: Mapping[str, Any]) -> DiskFact:
    return _disk(record, "root", props.get("systemDiskType"), props.get("systemDiskSize"), AS_THE_ACCOUNT, None)


def _data_disks(record: Record, value: Any, type_key: str, size_key: str) -> list[DiskFact]:
    items = as_list(value)
    return [
        _disk(
            record,
            "data",
            read(item, type_key),
            read(item, size_key),
            _flag(read(item, "encrypt")),
            as_number(read(item, "throughputPerformance")),
        )
        for item in ([] if isinstance(items, Unknown) else items)
    ]


def _disk(
    record: Record, role: str, disk_type: Any, size: Any, encrypted: bool | Unknown, extra: int | None | Unknown
) -> DiskFact:
    return DiskFact(
        urn=record.urn,
        name=f"{record.name} ({role})",
        cloud=CLOUD,
        role=role,
        disk_type=as_text(disk_type),
        size_gib=as_number(size),
        iops=None,
        throughput_mb_per_s=extra,
        encrypted=encrypted,
        tags=as_tags(record.props.get("tags")),
        pool_urn=record.urn,
    )


def _image(props: Mapping[str, Any]) -> dict[str, Any]:
    """The image as it is named, by id or by family, and whether it stays the same.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstrings of as_.ScalingConfig (imageFamily) and instance.Instance
    (launchTemplateId)
    """
    own = as_text(props.get("imageId"))
    image = as_text(props.get("imageFamily")) if own is None else own
    if image is None and props.get("launchTemplateId") is not None:
        image = IN_A_TEMPLATE
    return {"image": image, "image_pinned": _is_pinned(image)}


def _is_pinned(image: str | None | Unknown) -> bool | Unknown:
    """Whether an image stays: an id does; a family or a system's name is the newest of its kind, none the cloud's."""
    return image if isinstance(image, Unknown) else image is not None and image.startswith(_IMAGE_ID)


def _user_data(props: Mapping[str, Any]) -> str | None | Unknown:
    """What a machine runs when it boots: plain, or in base64 and perhaps compressed."""
    raw, packed = as_text(props.get("userDataRaw")), as_text(props.get("userData"))
    if raw is not None:
        return raw
    if packed is None or isinstance(packed, Unknown):
        return packed
    try:
        data = base64.b64decode(packed, validate=True)
        return (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()
    except (binascii.Error, OSError, EOFError, UnicodeDecodeError):
        return Unknown("its user data is no text in base64")


def _watches(user_data: str | None | Unknown) -> bool | Unknown:
    return user_data if isinstance(user_data, Unknown) else user_data is not None and _NOTICE in user_data


def _has_hook(group: Record, among: Among) -> bool:
    by_id = group.props.get("id")
    hooks = [
        *among.users_of(group.urn, HOOK),
        *(hook for hook in among.of_type(HOOK) if isinstance(by_id, str) and hook.props.get("scalingGroupId") == by_id),
    ]
    return any(hook.props.get("lifecycleTransition") == "INSTANCE_TERMINATING" for hook in hooks)


def _taints(value: Any) -> tuple[str, ...] | Unknown:
    items = as_list(value)
    if isinstance(items, Unknown):
        return items
    return tuple(key for item in items if isinstance(key := read(item, "key"), str))
