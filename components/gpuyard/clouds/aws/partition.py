"""Names that differ between the AWS partitions (commercial, China, GovCloud ...)."""

import re
from collections.abc import Iterable

from pulumi import Input, Output

from gpuyard.catalog import regions

_DNS_SUFFIX = {"aws-cn": "amazonaws.com.cn"}
_ECR_IMAGE = re.compile(r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([^:@]+)")


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


def repository_arns(images: Iterable[str], region: str) -> list[str]:
    """ARNs of the repositories of Amazon ECR among container images.

    Args:
        images: Container images; those of other registries are left out.
        region: Region of the pool, whose partition the registry is in.

    Returns:
        One ARN for each repository.

    Source: https://docs.aws.amazon.com/AmazonECR/latest/userguide/Registries.html
    """
    found = [match for image in images if (match := _ECR_IMAGE.match(image))]
    partition = partition_of(region)
    return list(dict.fromkeys(f"arn:{partition}:ecr:{one[2]}:{one[1]}:repository/{one[3]}" for one in found))
