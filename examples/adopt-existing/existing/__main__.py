"""What somebody made years ago, by hand or with another tool. Only the sandbox needs this program: it begins empty."""

import pulumi
import pulumi_aws as aws

# Removing this program's stack leaves both where they are: from then on the other stack alone answers for them.
left_alone = pulumi.ResourceOptions(retain_on_delete=True)
region = pulumi.Config("aws").require("region")

bucket = aws.s3.Bucket(
    "checkpoints", region=region, bucket="acme-speech-checkpoints", tags={"team": "speech"}, opts=left_alone
)
# Its security groups are left out, as FSx leaves them out of its answers.
files = aws.fsx.LustreFileSystem(
    "scratch",
    region=region,
    deployment_type="PERSISTENT_2",
    storage_type="SSD",
    storage_capacity=4800,
    per_unit_storage_throughput=250,
    data_compression_type="LZ4",
    file_system_type_version="2.15",
    metadata_configuration={"mode": "AUTOMATIC"},
    subnet_ids="subnet-0a1b2c3d4e5f60718",
    tags={"team": "speech"},
    opts=left_alone,
)

pulumi.export("bucket", bucket.bucket)
pulumi.export("file_system_id", files.id)
