"""Budgets on Tencent Cloud: what the resources of one cluster may cost a month."""

from datetime import date

import tencentcloud_iac_pulumi as tencentcloud
from pulumi import ResourceOptions

from gpuyard.planning.plans import MonitoringPlan

CLUSTER_TAG = "gpuyard:cluster"


def build_budget(
    name: str, plan: MonitoringPlan, amount: float, cluster: str, opts: ResourceOptions
) -> tencentcloud.billing.Budget:
    """Create the budget.

    It counts what carries the cluster's tag, once ``gpuyard:cluster`` is a cost allocation tag of the account. The
    amount is in the account's own currency, and messages go to those who get the account's financial ones: the
    provider has an argument for neither. A budget has an end; each update in a new year moves it to the end of the
    year after.

    Args:
        name: Name in front of every resource.
        plan: Shares at which a message is sent.
        amount: Amount a month.
        cluster: Name of the cluster, as its resources are tagged.
        opts: Options of the component's children.

    Returns:
        The budget.

    Source: PyPI tencentcloud_iac_pulumi 0.2.3, docstring of billing.Budget
    """
    today = date.today()
    return tencentcloud.billing.Budget(
        f"{name}-budget",
        budget_name=f"{name}-budget",
        bill_type="BILL",
        fee_type="REAL_COST",
        cycle_type="MONTH",
        plan_type="FIX",
        budget_quota=f"{amount:.2f}",
        period_begin=f"{today.year}-{today.month:02}",
        period_end=f"{today.year + 1}-12",
        dimensions_range=tencentcloud.billing.BudgetDimensionsRangeArgs(
            tags=[tencentcloud.billing.BudgetDimensionsRangeTagArgs(tag_key=CLUSTER_TAG, tag_values=[cluster])]
        ),
        warn_jsons=[
            tencentcloud.billing.BudgetWarnJsonArgs(
                warn_type="ACTUAL", cal_type="PERCENTAGE", threshold_value=str(percent)
            )
            for percent in plan.budget_alert_at_percent
        ],
        # It begins with the month that it was made in.
        opts=ResourceOptions.merge(opts, ResourceOptions(ignore_changes=["periodBegin"])),
    )
