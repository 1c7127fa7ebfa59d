"""What NCCL is told on each RDMA fabric."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from gpuyard.catalog._data import read_rows

NcclRule = Literal["set", "leave_out", "ask_node"]


@dataclass(frozen=True, slots=True)
class NcclVariable:
    """One environment variable of NCCL, or of libfabric below it, on one fabric.

    ``fabric`` is an instance type's ``rdma``: ``efa``, ``erdma`` or ``roce``. ``rule`` is ``set`` (to ``value``),
    ``leave_out`` (people set it, and should not), or ``ask_node`` (it differs between machines, so that a node finds
    it). ``value`` is None but for ``set``.
    """

    cloud: str
    fabric: str
    variable: str
    rule: NcclRule
    value: str | None
    why: str
    source: str
    as_of: str


@cache
def nccl_variables(cloud: str, fabric: str | None) -> tuple[NcclVariable, ...]:
    """Everything that is known of one fabric, in the order of the table.

    Args:
        cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
        fabric: An instance type's ``rdma``; None and ``none`` have nothing.

    Returns:
        Variables with their rule, none for a fabric that the table does not know.
    """
    rows = (NcclVariable(**row) for row in read_rows("nccl_environment.json"))
    return tuple(row for row in rows if (row.cloud, row.fabric) == (cloud, fabric))


def nccl_environment(cloud: str, fabric: str | None) -> dict[str, str]:
    """The variables that are set on one fabric: what ``/etc/nccl.conf`` holds, or a job's environment.

    Args:
        cloud: ``aws``, ``alicloud`` or ``tencentcloud``.
        fabric: An instance type's ``rdma``; None and ``none`` have nothing.

    Returns:
        Values by variable. Empty where nothing is documented: NCCL's defaults stand then.
    """
    return {row.variable: row.value for row in nccl_variables(cloud, fabric) if row.value is not None}
