"""Names that differ between the AWS partitions (commercial, China, GovCloud ...)."""

from pulumi import Input, Output

from gpuyard.catalog import regions

_DNS_SUFFIX = {"aws-cn": "amazonaws.com.cn"}


def partition_of(region: str) -> str:
    """The partition that stands in the ARNs of a region, such as ``aws`` or ``aws-cn``."""
    return regions("aws")[region].partition


def service_principal(service: str, region: str) -> str:
    """The principal by which a service assumes a role; EC2's differs in China.

    Source: https://docs.amazonaws.cn/en_us/aws/latest/userguide/endpoints-Beijing.html
    """
    if service == "ec2":
        return f"ec2.{_DNS_SUFFIX.get(partition_of(region), 'amazonaws.com')}"
    return f"{service}.amazonaws.com"


def bucket_arn(name: Input[str], region: str) -> Output[str]:
    """The ARN of a bucket: its name is the only one of its kind in the partition."""
    return Output.concat(f"arn:{partition_of(region)}:s3:::", name)


def managed_policy_arn(name: str, region: str) -> str:
    """The ARN of a policy that AWS manages."""
    return f"arn:{partition_of(region)}:iam::aws:policy/{name}"
