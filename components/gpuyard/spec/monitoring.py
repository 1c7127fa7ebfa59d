"""The models of what is watched."""

from typing import Annotated, Literal

from pydantic import Field

from gpuyard.spec.base import Model
from gpuyard.spec.values import Address, Flag, Percent, Real, Whole

Currency = Literal["USD", "CNY"]


class BudgetSpec(Model):
    """What the cluster may cost."""

    monthly_amount: Annotated[Real, Field(gt=0, le=1e12)]
    """Amount a month."""
    currency: Currency = "USD"
    """Currency of the amount."""
    alert_at_percent: Annotated[list[Annotated[Whole, Field(ge=1, le=1_000)]], Field(min_length=1, max_length=5)] = [
        50,
        80,
        100,
    ]
    """Shares of the amount at which a message is sent."""


class MonitoringSpec(Model):
    """What is watched, and who hears of it."""

    notify: list[Address] = []
    """E-mail addresses that get the messages; each has to confirm once."""
    gpu_utilization_below_percent: Percent = 70
    """Mean utilization of a pool's GPUs under which they are called idle."""
    gpu_memory_above_percent: Percent = 95
    """Use of GPU memory above which a job is about to run out of it."""
    for_minutes: Annotated[Whole, Field(ge=5, le=1_440)] = 30
    """Minutes that utilization or memory must stay there."""
    file_system_full_percent: Percent = 85
    """Used part of the file system above which it is called full."""
    dashboard: Flag = True
    """Whether there is a dashboard."""
    budget: BudgetSpec | None = None
    """What the cluster may cost a month."""
