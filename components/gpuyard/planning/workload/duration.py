"""How long training takes, and how many GPU-hours."""

from dataclasses import dataclass


def training_seconds(
    parameters: float, tokens: float, gpus: int, flops_per_s_per_gpu: float, flops_per_token_parameter: float = 6
) -> float:
    """Seconds to train a dense transformer: c·T·P/(n·X).

    c is 6 without recomputation (2 forward, 4 backward) and 8 with full recomputation (one more forward pass).

    Source: Narayanan et al. 2021, equation 4 and section 5.1 (8·T·P/(n·X), with recomputation).

    Args:
        parameters: Parameters P.
        tokens: Tokens T.
        gpus: GPUs n.
        flops_per_s_per_gpu: FLOPs a second X that one GPU achieves.
        flops_per_token_parameter: c, FLOPs for one token and parameter.

    Returns:
        Seconds.
    """
    return flops_per_token_parameter * tokens * parameters / (gpus * flops_per_s_per_gpu)


def implied_utilization(
    parameters: float, tokens: float, gpu_hours: float, dense_tflops: float, flops_per_token_parameter: float = 6
) -> float:
    """Share of the dense tensor rate that a finished run reached: c·T·P over GPU-hours times the rate.

    Source: Chowdhery et al. 2022, PaLM, section 4.1 (model FLOPs utilization).

    Args:
        parameters: Parameters P.
        tokens: Tokens T.
        gpu_hours: GPU-hours that the run took.
        dense_tflops: Dense TFLOPS of one GPU.
        flops_per_token_parameter: c, FLOPs for one token and parameter.

    Returns:
        A share from 0 to 1.
    """
    return flops_per_token_parameter * tokens * parameters / (gpu_hours * 3600 * dense_tflops * 1e12)


@dataclass(frozen=True, slots=True)
class Duration:
    """How long the training takes: wall-clock hours and GPU-hours, at a share of the dense rate.

    ``utilization`` is the share reached where the network hides, ``efficiency`` what this fabric leaves of it, and
    ``model_flops_utilization`` the share of the rate that trains, without what is computed again.
    """

    hours: float
    gpu_hours: float
    utilization: float
    efficiency: float
    model_flops_utilization: float

    @property
    def days(self) -> float:
        """Wall-clock days."""
        return self.hours / 24
