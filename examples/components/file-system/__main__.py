"""A Lustre file system alone, for nodes that something else makes, in a network and on a bucket that exist already."""

import pulumi

from gpuyard import ParallelFileSystem

config = pulumi.Config()

files = ParallelFileSystem(
    "vision",
    {
        "region": pulumi.Config("aws").require("region"),
        # The nodes' zone: from another zone each GB costs money and milliseconds.
        "zone": config.require("zone"),
        "subnet_id": config.require("subnet_id"),
        # It has to let Lustre through: TCP 988 and 1018 to 1023, from itself and from the nodes.
        "security_group_ids": [config.require("security_group_id")],
        "capacity_gib": 9600,
        # 16 GPUs that read images: 500 MB/s for each TiB.
        "throughput_mb_per_s": 4800,
        # What appears in the bucket appears at /fsx/checkpoints; nothing is written back.
        "bucket_name": config.require("bucket"),
        "bucket_sync": "import",
        "protect_data": True,
    },
)

pulumi.export("id", files.file_system_id)
pulumi.export("dns_name", files.dns_name)
pulumi.export("mount_name", files.mount_name)
pulumi.export("mount", files.mount_command)
pulumi.export("throughput_mb_per_s", files.throughput_mb_per_s)
