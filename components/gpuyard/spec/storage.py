"""The models of storage: file system, checkpoint bucket and snapshots."""

from typing import Annotated, Literal

from pydantic import Field

from gpuyard.spec.alicloud import AlicloudFileSystemSpec
from gpuyard.spec.base import Model
from gpuyard.spec.tencentcloud import TencentcloudFileSystemSpec
from gpuyard.spec.values import Count, Days, Flag, Hours, Name, PositiveCount, Text, Whole

Durability = Literal["persistent", "scratch"]
BucketSync = Literal["import_export", "import", "export", "none"]
Tier = Literal["automatic", "infrequent", "archive", "deep_archive"]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
AwsLustreDeployment = Literal["SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"]


class AwsFileSystemSpec(Model):
    """What only AWS has."""

    deployment: AwsLustreDeployment
    """Deployment type of FSx for Lustre, in place of the one that ``durability`` stands for."""


class FileSystemSpec(Model):
    """A parallel file system next to the nodes."""

    capacity_gib: Annotated[Whole, Field(ge=1, le=100_000_000)]
    """Capacity in GiB; each kind has its steps."""
    throughput_mb_per_s: Annotated[Whole, Field(ge=1, le=10_000_000)] | None = None
    """Throughput the whole file system must give, in MB/s. Left out: what the workload needs, else the least."""
    durability: Durability = "persistent"
    """``persistent``: replicated, data survives a failed server; ``scratch``: short work only."""
    region: Text | None = None
    """Region, the cluster's when left out."""
    backup_keep_days: Annotated[Whole, Field(ge=0, le=90)] | None = None
    """Days that daily backups are kept, 0 for none. Left out: 7, or none where the checkpoint bucket is linked."""
    rdma: Flag = False
    """Whether nodes reach it over their RDMA network; chosen when it is made and for good."""
    metadata_iops: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """Operations on files and folders a second; by the capacity when left out."""
    compression: Flag = True
    """Whether data is compressed on the way to the disks."""
    bucket_sync: BucketSync = "import_export"
    """How ``/checkpoints`` follows the linked bucket."""
    kms_key: Text | None = None
    """ARN of the key that encrypts it; the cloud's own key when left out."""
    aws: AwsFileSystemSpec | None = None
    """What only AWS has."""
    alicloud: AlicloudFileSystemSpec | None = None
    """What only Alibaba Cloud has."""
    tencentcloud: TencentcloudFileSystemSpec | None = None
    """What only Tencent Cloud has."""


class PrefixSpec(Model):
    """How long objects below one prefix are kept, and when they move to cheaper storage."""

    keep_days: Days
    """Days after which an object is removed."""
    tiers: dict[Tier, Days] = {}
    """Days after which an object moves to a cheaper tier, by tier."""


class CheckpointSpec(Model):
    """The bucket that checkpoints go to."""

    keep_days: Days
    """Days after which a checkpoint is removed."""
    tiers: dict[Tier, Days] = {}
    """Days after which a checkpoint moves to a cheaper tier, by tier."""
    prefixes: dict[Name, PrefixSpec] = {}
    """Further prefixes beside ``checkpoints``, such as cold backups, each with its own retention."""
    region: Text | None = None
    """Region, the cluster's when left out."""
    replicate_to: Text | None = None
    """A second region that receives a copy."""
    kms_key: Text | None = None
    """ARN of the key that encrypts it; the cloud's own key when left out."""
    replica_kms_key: Text | None = None
    """ARN of the key that encrypts the copy, a key of the copy's region; needed where ``kms_key`` is given."""


class AwsFastRestoreSpec(Model):
    """Snapshots that give a disk its full speed at once; paid for each zone by the hour."""

    zones: Annotated[list[Text], Field(min_length=1)]
    """Zones that disks are restored in."""
    count: PositiveCount = 1
    """How many of the newest snapshots."""


class AwsSnapshotSpec(Model):
    """What only AWS has."""

    cron: Text | None = None
    """When, as a cron expression of Data Lifecycle Manager (UTC), in place of hours: ``cron(0 3 ? * MON *)``."""
    fast_restore: AwsFastRestoreSpec | None = None
    """Fast snapshot restore."""


class SnapshotSpec(Model):
    """How the pools' disks are snapshotted: when, how long they are kept, and where a copy goes."""

    every_hours: Hours | None = None
    """Hours between two snapshots."""
    hours_utc: Annotated[list[Annotated[Count, Field(le=23)]], Field(min_length=1, max_length=24)] | None = None
    """Hours of the day (UTC) at which a snapshot is made, in place of ``every_hours``."""
    weekdays: Annotated[list[Weekday], Field(min_length=1, max_length=7)] | None = None
    """Days of the week (UTC) of ``hours_utc``; every day when left out."""
    keep_days: Days | None = None
    """Days that a snapshot is kept."""
    keep_count: PositiveCount | None = None
    """Newest snapshots of each disk that are kept, in place of ``keep_days``."""
    copy_to: Text | None = None
    """A second region that receives an encrypted copy."""
    copy_keep_days: Days | None = None
    """Days that the copy is kept; as the snapshot when left out."""
    copy_kms_key: Text | None = None
    """ARN of the key that encrypts the copy, a key of the copy's region; the cloud's own key when left out."""
    aws: AwsSnapshotSpec | None = None
    """What only AWS has."""
