"""Where alarms on Tencent Cloud send their messages: a notice template, and users of the account who only read mail."""

from collections.abc import Mapping
from hashlib import sha256

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import ResourceOptions

from gpuyard.clouds.tencentcloud.names import fitted
from gpuyard.planning.plans import MonitoringPlan

_WHOLE_WEEK = (1, 2, 3, 4, 5, 6, 7)
_LAST_SECOND_OF_DAY = 86_399
_DIGEST_CHARACTERS = 8


def build_notice(
    name: str, plan: MonitoringPlan, tags: Mapping[str, str], opts: ResourceOptions
) -> tencentcloud.monitor.AlarmNotice | None:
    """Create the notice template, and one user for each address.

    Cloud Monitor sends to users of the account, not to addresses. These users can do nothing: no console, no key, no
    policy. Each has to confirm the address once, by a link that the cloud mails.

    Args:
        name: Name in front of every resource.
        plan: Who gets the messages.
        tags: Tags on the users.
        opts: Options of the component's children.

    Returns:
        The template; None where nobody is to hear of anything, as a template without readers says nothing.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstrings of monitor.AlarmNotice and cam.User
    """
    readers = [_reader(name, address, tags, opts) for address in plan.notify]
    if not readers:
        return None
    return tencentcloud.monitor.AlarmNotice(
        f"{name}-messages",
        name=fitted(f"{name}-messages"),
        notice_type="ALL",
        notice_language="en-US",
        user_notices=[
            tencentcloud.monitor.AlarmNoticeUserNoticeArgs(
                receiver_type="USER",
                user_ids=[reader.uid for reader in readers],
                notice_ways=["EMAIL"],
                start_time=0,
                end_time=_LAST_SECOND_OF_DAY,
                weekdays=list(_WHOLE_WEEK),
            )
        ],
        opts=opts,
    )


def _reader(name: str, address: str, tags: Mapping[str, str], opts: ResourceOptions) -> tencentcloud.cam.User:
    # An address may be longer than a user's name.
    digest = sha256(address.lower().encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return tencentcloud.cam.User(
        f"{name}-messages-{address}",
        name=fitted(f"{name}-messages-{digest}"),
        email=address,
        console_login=False,
        use_api=False,
        need_reset_password=False,
        force_delete=False,
        remark=f"Gets the messages of {name}, and can do nothing",
        tags=dict(tags),
        opts=opts,
    )
