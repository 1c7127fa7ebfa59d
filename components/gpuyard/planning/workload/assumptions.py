"""What the planner assumes where no fact is given: each figure with its unit, its meaning and who says so."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Assumption:
    """One assumed figure.

    Attributes:
        value: The figure.
        unit: Its unit; ``1`` for a plain ratio.
        meaning: What it stands for.
        source: Who says so, or that it is this project's own estimate.
    """

    value: float
    unit: str
    meaning: str
    source: str


UTILIZATION = Assumption(
    0.40,
    "1",
    "share of the dense tensor rate that training reaches when the network is hidden behind the computation",
    "Llama Team 2024, The Llama 3 Herd of Models, Table 4: 38 to 43 % on H100; Llama 2 70B implies 43 % on A100",
)
TARGET_DAYS = Assumption(
    30,
    "d",
    "days in which a training should end where neither 'target_days' nor 'gpus' is given",
    "this project's choice: a month is what people wait for, and the shortest term that clouds sell",
)
USABLE_MEMORY = Assumption(
    0.90,
    "1",
    "share of a GPU's nominal memory that a job can use; the rest is the driver's, the CUDA context, NCCL's buffers "
    "and fragments",
    "vLLM, gpu_memory_utilization, default 0.9; EC2 reports 22,888 of 24,576 MiB for A10G and L4",
)
BACKWARD_SHARE = Assumption(
    2 / 3,
    "1",
    "share of a micro-batch that is its backward pass, behind which gradients are exchanged",
    "Narayanan et al. 2021: the backward pass needs twice the FLOPs of the forward pass",
)
OVERLAP = Assumption(
    0.8,
    "1",
    "share of the backward pass behind which the data-parallel exchange can hide; the last buckets stay exposed",
    "this project's estimate after Li et al. 2020, PyTorch Distributed (bucketed gradients overlap the backward pass)",
)
EFFICIENCY_WANTED = Assumption(
    0.90,
    "1",
    "scaling efficiency below which the network is called the bottleneck",
    "this project's estimate: at 10 % waste a faster fabric is cheaper than more GPUs",
)
SOCKET_GBPS = Assumption(
    50,
    "Gbps",
    "what NCCL carries over TCP sockets; above it RDMA is needed",
    "this project's estimate: up to 8 to 10 sockets of 5 Gbps, the single-flow limit in "
    "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-network-bandwidth.html",
)
PCIE_GB_PER_S = Assumption(
    12,
    "GB/s",
    "each way between two GPUs of one node without NVLink, where the PCIe generation is unknown",
    "this project's estimate: three quarters of the 16 GB/s of PCIe 3.0 x16",
)
FAILURES_PER_GPU_HOUR = Assumption(
    419 / (16_384 * 54 * 24),
    "1/h",
    "unexpected interruptions of a job for each GPU and hour",
    "Llama Team 2024, The Llama 3 Herd of Models, section 3.3.4: 419 interruptions of 16,384 H100 in 54 days",
)
CHECKPOINT_PAUSE_SHARE = Assumption(
    0.05,
    "1",
    "share of the time that a job may stand still to write checkpoints",
    "this project's choice",
)
CHECKPOINT_INTERVAL_MAX_HOURS = Assumption(
    4,
    "h",
    "longest interval between two checkpoints, however rare failures are",
    "this project's choice: nobody should lose more than half a working day",
)
READ_FLOOR_MB_PER_S = Assumption(
    500,
    "MB/s",
    "least read throughput of the data pipeline",
    "this project's requirement: start, shuffling and validation read in bursts far above the average",
)
READ_HEADROOM = Assumption(
    2, "1", "read throughput over the average that the steps consume", "this project's choice: stalls must catch up"
)
BYTES_PER_TOKEN = Assumption(
    4, "B", "one token id as stored for training", "Megatron-LM indexed datasets store int32 above 65,500 tokens"
)
BYTES_PER_IMAGE = Assumption(
    115_000,
    "B",
    "one training image as JPEG",
    "ImageNet-1k: 138 GiB of training images in 1,281,167 files",
)
COLD_START_BUDGET_S = Assumption(
    90, "s", "from 'no replica' to the first answer of a model server", "this project's requirement"
)
WARM_UP_S = Assumption(
    20, "s", "CUDA context, kernel and graph capture, first batch", "this project's estimate for vLLM-like servers"
)
SERVER_IMAGE_GB = Assumption(
    8, "GB", "compressed container image of a model server", "this project's estimate: CUDA, PyTorch and vLLM"
)
NETWORK_SHARE = Assumption(
    0.7, "1", "share of the network's nominal rate that a download reaches", "this project's estimate"
)


def all_assumptions() -> dict[str, Assumption]:
    """Every assumption by its name, in the order of this file, to be shown beside a plan."""
    return {name.lower(): value for name, value in globals().items() if isinstance(value, Assumption)}
