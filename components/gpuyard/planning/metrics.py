"""Names of the metrics that nodes send: what the agent on a node writes, and what alarms and dashboards read.

Each is summed up over a pool: its only dimension is ``POOL_DIMENSION``, the name of the pool's scaling group.

Sources: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Agent-NVIDIA-GPU.html and
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Agent-EFA.html. The counters behind the EFA
names are those of the kernel's driver, ``/sys/class/infiniband/*/ports/*/hw_counters`` (its ``rx_drops`` is the agent's
``efa_rx_dropped``); the agent sends what they grew by since the last time.
"""

METRIC_NAMESPACE = "gpuyard/nodes"
POOL_DIMENSION = "AutoScalingGroupName"

# NVML's utilization.gpu: percent of the time in which a kernel ran at all, not of the arithmetic that could be done.
GPU_UTILIZATION = "nvidia_smi_utilization_gpu"
# MiB of one GPU.
GPU_MEMORY_USED = "nvidia_smi_memory_used"
GPU_MEMORY_TOTAL = "nvidia_smi_memory_total"
# Degrees Celsius.
GPU_TEMPERATURE = "nvidia_smi_temperature_gpu"

# Received packets that were dropped.
EFA_DROPPED_PACKETS = "efa_rx_dropped"
# Packets that were sent once more.
EFA_RESENT_PACKETS = "efa_retrans_pkts"
# Times that a peer did not answer.
EFA_UNRESPONSIVE_PEERS = "efa_unresponsive_remote_events"
# Bytes over EFA, and work requests that failed.
EFA_RECEIVED_BYTES = "efa_rx_bytes"
EFA_SENT_BYTES = "efa_tx_bytes"
EFA_READ_ERRORS = "efa_rdma_read_wr_err"
EFA_WRITE_ERRORS = "efa_rdma_write_wr_err"

# What the agent calls a GPU metric itself, it puts this in front of.
GPU_PREFIX = "nvidia_smi_"
GPU_METRICS = (GPU_UTILIZATION, GPU_MEMORY_USED, GPU_MEMORY_TOTAL, GPU_TEMPERATURE)
EFA_METRICS = (
    EFA_DROPPED_PACKETS,
    EFA_RESENT_PACKETS,
    EFA_UNRESPONSIVE_PEERS,
    EFA_RECEIVED_BYTES,
    EFA_SENT_BYTES,
    EFA_READ_ERRORS,
    EFA_WRITE_ERRORS,
)
