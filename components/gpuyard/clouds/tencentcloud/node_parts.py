"""What every node of a pool on Tencent Cloud starts with, a single machine as well as one of a scaling group."""

from collections.abc import Sequence
from dataclasses import dataclass

from pulumi import Input, Output


@dataclass(frozen=True)
class NodeParts:
    """Network, role, image and user data; ``subnet_ids`` has one for each of the plan's zones, in order."""

    network_id: Input[str]
    subnet_ids: Output[Sequence[str]]
    security_group_ids: Input[Sequence[Input[str]]]
    role_name: Input[str]
    image_id: Input[str]
    user_data: Input[str]
