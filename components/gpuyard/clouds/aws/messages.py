"""Where alarms and budgets on AWS send their messages: an encrypted SNS topic and its readers."""

from collections.abc import Mapping

import pulumi_aws as aws
from pulumi import InvokeOutputOptions, Output, Resource, ResourceOptions

from gpuyard.clouds.aws.partition import partition_of, service_principal
from gpuyard.planning.plans import MonitoringPlan


def build_topic(
    name: str, plan: MonitoringPlan, tags: Mapping[str, str], parent: Resource
) -> tuple[aws.sns.Topic, aws.sns.TopicPolicy]:
    """Create the topic, its key and its e-mail subscriptions.

    The key is one of the account's own: the policy of AWS's key for SNS lets no alarm in and cannot be changed, so that
    messages to a topic under it are lost without a word.

    Args:
        name: Name in front of every resource.
        plan: Who gets the messages, and whether a budget sends some.
        tags: Tags on everything.
        parent: The component it belongs to.

    Returns:
        The topic and its policy, which whoever publishes at once has to wait for.

    Source: https://repost.aws/knowledge-center/cloudwatch-configure-alarm-sns
    """
    region, opts = plan.place.region, ResourceOptions(parent=parent)
    account_id = aws.get_caller_identity_output(opts=InvokeOutputOptions(parent=parent)).account_id
    senders = _senders(plan)
    key = aws.kms.Key(
        f"{name}-messages",
        region=region,
        description=f"Messages of {name}",
        enable_key_rotation=True,
        policy=_key_policy(senders, account_id, region),
        tags=dict(tags),
        opts=opts,
    )
    aws.kms.Alias(
        f"{name}-messages", region=region, name_prefix=f"alias/{name}-messages-", target_key_id=key.arn, opts=opts
    )
    topic = aws.sns.Topic(f"{name}-messages", region=region, kms_master_key_id=key.arn, tags=dict(tags), opts=opts)
    policy = aws.sns.TopicPolicy(
        f"{name}-messages",
        region=region,
        arn=topic.arn,
        policy=_topic_policy(topic.arn, senders, account_id, region),
        opts=opts,
    )
    for address in plan.notify:
        aws.sns.TopicSubscription(
            f"{name}-messages-{address}",
            region=region,
            topic=topic.arn,
            protocol="email",
            endpoint=address,
            opts=opts,
        )
    return topic, policy


def _senders(plan: MonitoringPlan) -> dict[str, str]:
    """Services that send messages, each with the end of the ARNs that it sends them for."""
    alarms = {"cloudwatch": f"{plan.place.region}:{{account}}:alarm:*"}
    return alarms if plan.budget_amount is None else {**alarms, "budgets": ":{account}:*"}


def _topic_policy(arn: Output[str], senders: Mapping[str, str], account_id: Output[str], region: str) -> Output[str]:
    """Only the senders may publish, on behalf of this account, and nobody over plain HTTP.

    Sources: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html and
    https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-sns-policy.html
    """
    statements: list[dict[str, object]] = [
        {
            "Sid": f"Publish{service.capitalize()}",
            "Effect": "Allow",
            "Principal": {"Service": service_principal(service, region)},
            "Action": "sns:Publish",
            "Resource": arn,
            "Condition": {
                "StringEquals": {"aws:SourceAccount": account_id},
                "ArnLike": {
                    "aws:SourceArn": Output.format(f"arn:{partition_of(region)}:{service}:{source}", account=account_id)
                },
            },
        }
        for service, source in senders.items()
    ]
    statements.append(
        {
            "Sid": "RefusePlainHttp",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sns:Publish",
            "Resource": arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    )
    return Output.json_dumps({"Version": "2012-10-17", "Statement": statements})


def _key_policy(senders: Mapping[str, str], account_id: Output[str], region: str) -> Output[str]:
    """The account manages the key; the senders may do the two things that publishing needs, and nothing else.

    Source: https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
    """
    return Output.json_dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "ManagedByTheAccount",
                    "Effect": "Allow",
                    "Principal": {"AWS": Output.concat(f"arn:{partition_of(region)}:iam::", account_id, ":root")},
                    "Action": "kms:*",
                    "Resource": "*",
                },
                {
                    "Sid": "UsedBySenders",
                    "Effect": "Allow",
                    "Principal": {"Service": [service_principal(service, region) for service in senders]},
                    "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
                    "Resource": "*",
                    "Condition": {"StringEquals": {"aws:SourceAccount": account_id}},
                },
            ],
        }
    )
