"""What a stack on Tencent Cloud costs and who pays: services that cost by themselves, and tags."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuyard_policy.facts.among import Among
from gpuyard_policy.facts.model import Record, ServiceFact, TaggedFact, Unknown
from gpuyard_policy.facts.reading import as_tags, as_text, first_unknown, items_of, merged, read
from gpuyard_policy.facts.tencentcloud_places import CLOUD, SUBNET, region_of
from gpuyard_policy.facts.tencentcloud_pools import (
    CONFIGURATION,
    GROUP,
    MACHINE,
    NATIVE_POOL,
    NODE_POOL,
    SECURITY_GROUP,
    WORKSPACE,
)
from gpuyard_policy.facts.tencentcloud_storage import BUCKET, DISK, FILE_SYSTEM

NETWORK = "tencentcloud:Vpc/instance:Instance"
# Resources of an instance of Anti-DDoS that was bought, by its id; the threshold of an alarm may be of basic
# protection, which costs nothing.
# Source: PyPI tencentcloud_iac_pulumi 0.2.3, modules dayu and antiddos
_DDOS = ("tencentcloud:Dayu/", "tencentcloud:Antiddos/")
_DDOS_INSTANCES = ("instanceId", "resourceId", "bgpInstanceId")
_FREE = "tencentcloud:Antiddos/ipAlarmThresholdConfig:IpAlarmThresholdConfig"
_PEERING = "tencentcloud:Vpc/peerConnectManager:PeerConnectManager"
_BANDWIDTH = "tencentcloud:Ccn/bandwidthLimit:BandwidthLimit"
# Resources that join regions, and the property that names the other one.
_JOINS = {
    _PEERING: "destinationRegion",
    _BANDWIDTH: "dstRegion",
    "tencentcloud:Ccn/attachment:Attachment": "instanceRegion",
    "tencentcloud:Ccn/attachmentV2:AttachmentV2": "instanceRegion",
}
# Types that take tags and that rules about tags are meant for; others are looked at where they have any.
# Source: PyPI tencentcloud_iac_pulumi 0.2.3: a set of machines and a snapshot policy take none.
_TAGGABLE = frozenset(
    (
        *(MACHINE, WORKSPACE, GROUP, CONFIGURATION, NODE_POOL, NATIVE_POOL),
        *(FILE_SYSTEM, BUCKET, DISK, NETWORK, SUBNET, SECURITY_GROUP),
    )
)


def services(record: Record, among: Among) -> Iterable[ServiceFact]:
    """What a resource costs by being there: Anti-DDoS that was bought, or traffic to another region."""
    if record.type.startswith(_DDOS) and record.type != _FREE:
        if any(record.props.get(key) is not None for key in _DDOS_INSTANCES):
            yield ServiceFact(record.urn, record.name, CLOUD, "advanced_ddos")
    elif record.type in _JOINS:
        other = as_text(record.props.get(_JOINS[record.type]))
        own = as_text(record.props.get("region")) if record.type == _BANDWIDTH else region_of(record, among)
        if other is not None and other != own:
            where = first_unknown(other, own) or other
            yield ServiceFact(record.urn, record.name, CLOUD, "cross_region_traffic", where)


def tagged(record: Record, among: Among) -> Iterable[TaggedFact]:
    """A resource that takes tags; the provider has no tags of its own that it adds.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, ProviderArgs
    """
    if record.type in _TAGGABLE or record.props.get("tags") is not None:
        yield TaggedFact(record.urn, record.name, CLOUD, _tags_of(record))


def _tags_of(record: Record) -> Mapping[str, Any] | Unknown:
    """Tags of a resource: a scaling configuration's with those of its machines, a workspace's in a list of lists."""
    if record.type == CONFIGURATION:
        return merged(as_tags(record.props.get("tags")), as_tags(record.props.get("instanceTags")))
    if record.type == WORKSPACE:
        specifications = record.props.get("tagSpecifications")
        return first_unknown(specifications) or merged(
            *(as_tags(read(one, "tags")) for one in items_of(specifications))
        )
    return as_tags(record.props.get("tags"))
