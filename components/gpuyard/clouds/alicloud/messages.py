"""Who hears of alarms on Alibaba Cloud: contacts and their group."""

from hashlib import sha256

import pulumi_alicloud as alicloud
from pulumi import ResourceOptions

from gpuyard.catalog.limits import limit
from gpuyard.planning.plans import MonitoringPlan

_SUM_CHARACTERS = 8


def build_contacts(name: str, plan: MonitoringPlan, opts: ResourceOptions) -> alicloud.cms.AlarmContactGroup:
    """Create a contact for each address, and the group that alarms send to; it is there without a contact as well.

    CloudMonitor sends each address a link, and nothing else until somebody has followed it. Until then it tells no
    address, which is no change: an address that changes has another contact.

    Args:
        name: Name in front of every resource.
        plan: The addresses.
        opts: Options of the component's children.

    Returns:
        The group.

    Source: PyPI pulumi_alicloud 4.0.0, docstring of cms.AlarmContact
    """
    contacts = [
        alicloud.cms.AlarmContact(
            contact,
            alarm_contact_name=contact,
            describe=f"Hears of {name}",
            channels_mail=address,
            lang="en",
            opts=ResourceOptions.merge(opts, ResourceOptions(ignore_changes=["channels_mail"])),
        )
        for address in plan.notify
        for contact in [_contact_name(name, address)]
    ]
    return alicloud.cms.AlarmContactGroup(
        f"{name}-alarms",
        alarm_contact_group_name=f"{name}-alarms",
        describe=f"Hears of {name}",
        contacts=[contact.alarm_contact_name for contact in contacts],
        opts=opts,
    )


def _contact_name(name: str, address: str) -> str:
    """A name that the account has once and that changes with the address; a long one loses its end."""
    most = limit("alicloud", "alarm_contact_name_characters_max").values[0]
    short = sha256(f"{name} {address.lower()}".encode()).hexdigest()[:_SUM_CHARACTERS]
    return f"{name[: most - _SUM_CHARACTERS - 1]}-{short}"
