"""The budget of a cluster on AWS."""

from collections.abc import Mapping
from decimal import Decimal

import pulumi_aws as aws
from pulumi import Input, Resource, ResourceOptions

from gpuyard.planning.plans import MonitoringPlan


def build_budget(
    name: str,
    plan: MonitoringPlan,
    amount: float,
    cluster: str,
    topic_arn: Input[str],
    tags: Mapping[str, str],
    parent: Resource,
    *,
    ready: Resource,
) -> aws.budgets.Budget:
    """Create a monthly budget of what carries the cluster's tag.

    It counts what is bought before credits and refunds, which would hide it. AWS knows the costs of a tag only from the
    day on which ``gpuyard:cluster`` was activated as a cost allocation tag, in the account that pays the bill; until
    then the budget stays at nothing. A forecast needs about five weeks of costs. The service is a global one: a budget
    is in no region.

    Args:
        name: Name in front of every resource.
        plan: Currency, thresholds and readers.
        amount: Amount a month.
        cluster: Name of the cluster, as its resources are tagged.
        topic_arn: Topic that gets the messages as well.
        tags: Tags on the budget.
        parent: The component it belongs to.
        ready: The topic's policy: a budget is refused a topic that it cannot publish to.

    Returns:
        The budget.

    Sources: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html and
    https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-managing-costs.html
    """
    percents = plan.budget_alert_at_percent
    when = [*(("ACTUAL", percent) for percent in percents), ("FORECASTED", percents[-1])]
    return aws.budgets.Budget(
        f"{name}-budget",
        budget_type="COST",
        time_unit="MONTHLY",
        # Plain digits: the API takes no exponent.
        limit_amount=f"{Decimal(repr(amount)):f}",
        limit_unit=plan.budget_currency,
        cost_filters=[aws.budgets.BudgetCostFilterArgs(name="TagKeyValue", values=[f"user:gpuyard:cluster${cluster}"])],
        cost_types=aws.budgets.BudgetCostTypesArgs(include_credit=False, include_refund=False),
        notifications=[
            aws.budgets.BudgetNotificationArgs(
                notification_type=kind,
                comparison_operator="GREATER_THAN",
                threshold=percent,
                threshold_type="PERCENTAGE",
                subscriber_email_addresses=list(plan.notify) or None,
                subscriber_sns_topic_arns=[topic_arn],
            )
            for kind, percent in when
        ],
        tags=dict(tags),
        opts=ResourceOptions(parent=parent, depends_on=[ready]),
    )
