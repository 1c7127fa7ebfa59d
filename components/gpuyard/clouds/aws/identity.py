"""Roles with nothing more than a component needs."""

import json
from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import ResourceOptions

from gpuyard.clouds.aws.partition import service_principal


def role_for_service(
    name: str, service: str, region: str, description: str, tags: Mapping[str, str], opts: ResourceOptions
) -> aws.iam.Role:
    """A role that one AWS service can assume and nobody else.

    Args:
        name: Resource name.
        service: The service's short name, such as ``ec2``.
        region: Region whose partition the role is for.
        description: What the role is for.
        tags: Tags on the role.
        opts: Resource options, the parent among them.

    Returns:
        The role, without any permission.
    """
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "sts:AssumeRole",
                "Principal": {"Service": service_principal(service, region)},
            }
        ],
    }
    return aws.iam.Role(name, description=description, assume_role_policy=json.dumps(trust), tags=dict(tags), opts=opts)
