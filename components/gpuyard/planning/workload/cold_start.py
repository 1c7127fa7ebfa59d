"""From no replica to the first answer: whether a model server starts within its budget."""

from dataclasses import dataclass

from gpuyard.planning.workload.assumptions import COLD_START_BUDGET_S, NETWORK_SHARE, WARM_UP_S
from gpuyard.planning.workload.memory import GB


@dataclass(frozen=True, slots=True)
class ColdStart:
    """The budget split into pull (image), load (weights) and warm-up, in seconds.

    ``needed_mb_per_s`` is what each node must read to stay in the budget; ``meets`` is None when the node's network is
    unknown.
    """

    pull_s: float
    load_s: float
    warm_up_s: float
    budget_s: float
    needed_mb_per_s: float
    meets: bool | None
    reasons: tuple[str, ...]

    @property
    def total_s(self) -> float:
        """Seconds of all three."""
        return self.pull_s + self.load_s + self.warm_up_s


def cold_start(image_bytes: float, weight_bytes: float, network_gbps: float | None) -> ColdStart:
    """How a node's start divides into pull, load and warm-up.

    Image and weights come over the network at a share of its nominal rate; where the network is unknown, the parts are
    the budget's: what is left after the warm-up, divided by bytes.

    Source: arithmetic; the figures of :mod:`gpuyard.planning.workload.assumptions`.

    Args:
        image_bytes: Bytes of the server's container image.
        weight_bytes: Bytes of weights that one node loads.
        network_gbps: The node's network in Gbps; None when unknown.

    Returns:
        The split, with reasons.
    """
    budget, warm_up = COLD_START_BUDGET_S.value, WARM_UP_S.value
    every = image_bytes + weight_bytes
    needed = every / (budget - warm_up)
    reach = needed if network_gbps is None else network_gbps * GB / 8 * NETWORK_SHARE.value
    pull, load = image_bytes / reach, weight_bytes / reach
    # Only an unknown network makes the parts equal the budget, so that no rounding can decide.
    meets = None if network_gbps is None else pull + load + warm_up <= budget
    text = (
        f"Cold start: pull {image_bytes / GB:,.1f} GB in {pull:,.0f} s, load {weight_bytes / GB:,.1f} GB in "
        f"{load:,.0f} s, warm-up {warm_up:.0f} s; {pull + load + warm_up:,.0f} of {budget:.0f} s."
    )
    if meets is None:
        reasons = (text, f"The network is unknown; it must carry {needed / 1e6:,.0f} MB/s.")
    elif meets:
        reasons = (text,)
    else:
        reasons = (
            text,
            f"That needs {needed / 1e6:,.0f} MB/s, the network gives {reach / 1e6:,.0f}: put the container image into "
            "the machine's image and the weights on a local or snapshotted disk, or keep a replica warm.",
        )
    return ColdStart(pull, load, warm_up, budget, needed / 1e6, meets, reasons)
