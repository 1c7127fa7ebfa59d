"""The account that resources on Tencent Cloud belong to, and how access policies name what is in it."""

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import Output, ResourceOptions
from tencentcloud_iac_pulumi.user import GetInfoResult

from gpuyard.clouds.regions import invoke_options


def account_of(opts: ResourceOptions) -> Output[GetInfoResult]:
    """The account that a component's provider works for: its app id, its owner's number, and the user's own.

    Args:
        opts: Options of the component's children.

    Returns:
        What the provider knows of it.
    """
    return tencentcloud.user.get_info_output(opts=invoke_options(opts))


def file_system_resource(region: str, file_system_id: Output[str], opts: ResourceOptions) -> Output[str]:
    """The name of a file system in access policies.

    Source: https://cloud.tencent.com/document/product/598/10606 (six segments: service, region, account, resource)
    """
    return Output.concat("qcs::cfs:", region, ":uin/", account_of(opts).owner_uin, ":filesystem/", file_system_id)


def bucket_resource(region: str, bucket: Output[str], app_id: Output[str]) -> Output[str]:
    """The name of a bucket in access policies, without what is in it.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of cos.BucketPolicy.policy
    """
    return Output.concat("qcs::cos:", region, ":uid/", app_id, ":", bucket)
