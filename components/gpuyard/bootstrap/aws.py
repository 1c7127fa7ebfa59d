"""What a node on AWS sets up when it boots."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuyard.bootstrap.files import KERNEL_LOG, SETUP_LOG, NodeFile, environment_file
from gpuyard.bootstrap.software import CommonSetup, common_environment, common_files
from gpuyard.bootstrap.user_data import cloud_config, packed
from gpuyard.catalog.limits import limit
from gpuyard.planning.metrics import EFA_METRICS, GPU_METRICS, GPU_PREFIX, METRIC_NAMESPACE, POOL_DIMENSION

_CLOUD = "aws"
_COLLECT_EVERY_SECONDS = 60


@dataclass(frozen=True, slots=True)
class LustreMount:
    """A Lustre file system that the node mounts at ``/fsx``, over RDMA or over TCP."""

    dns_name: str
    mount_name: str
    rdma: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetup(CommonSetup):
    """What one pool's nodes set up when they boot.

    ``checkpoint_uri``: where checkpoints go, told to the jobs by ``/etc/gpuyard/node.env``; ``log_group``: where the
    logs go; ``launch_hook``: the scaler's lifecycle hook that waits until a node is healthy; ``hook``: the one that
    waits for its checkpoint, None for a pool that is not scaled.
    """

    log_group: str
    rdma: bool = False
    file_system: LustreMount | None = None
    checkpoint_uri: str | None = None
    launch_hook: str | None = None
    hook: str | None = None


def user_data(setup: NodeSetup) -> str:
    """The user data that a launch template holds.

    Args:
        setup: What the node sets up.

    Returns:
        Cloud-init's configuration, compressed and in base64.
    """
    return packed(cloud_config(node_files(setup)))


def node_files(setup: NodeSetup) -> dict[str, NodeFile]:
    """Every file that is written to the node.

    Args:
        setup: What the node sets up.

    Returns:
        Files by path.
    """
    agent = json.dumps(agent_configuration(setup), indent=1) + "\n"
    return {
        "/etc/gpuyard/node.env": environment_file(_environment(setup)),
        "/etc/gpuyard/cloudwatch-agent.json": NodeFile("0644", agent),
        **common_files(setup, _parts(setup)),
    }


def _environment(setup: NodeSetup) -> dict[str, object]:
    system = setup.file_system
    efa_version, efa_sum = limit(_CLOUD, "efa_installer").values
    return {
        **common_environment(setup, _CLOUD, None if system is None else "/fsx"),
        "EFA_VERSION": efa_version if setup.rdma else None,
        "EFA_SHA256": efa_sum if setup.rdma else None,
        "LUSTRE_DNS_NAME": None if system is None else system.dns_name,
        "LUSTRE_MOUNT_NAME": None if system is None else system.mount_name,
        "CHECKPOINT_URI": setup.checkpoint_uri,
        "LAUNCH_HOOK": setup.launch_hook,
        "HOOK": setup.hook,
    }


def agent_configuration(setup: NodeSetup) -> dict[str, Any]:
    """What the CloudWatch agent collects.

    Every metric is sent for the pool and for each node, never for each GPU or device: a custom metric is paid for by
    each combination of dimensions.

    Args:
        setup: What the node sets up.

    Returns:
        The agent's configuration.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Agent-Configuration-File-Details.html
    """
    gpu = [name.removeprefix(GPU_PREFIX) for name in GPU_METRICS]
    collected = {"nvidia_gpu": _collected(gpu)}
    if setup.rdma:
        collected["efa"] = _collected(list(EFA_METRICS))
    own = {"InstanceId": "${aws:InstanceId}", POOL_DIMENSION: f"${{aws:{POOL_DIMENSION}}}"}
    logs = {"kernel": KERNEL_LOG, "setup": SETUP_LOG}
    return {
        "agent": {"metrics_collection_interval": _COLLECT_EVERY_SECONDS},
        "metrics": {
            "namespace": METRIC_NAMESPACE,
            "append_dimensions": own,
            "aggregation_dimensions": [[POOL_DIMENSION], [POOL_DIMENSION, "InstanceId"]],
            "metrics_collected": collected,
        },
        "logs": {
            "logs_collected": {
                "files": {
                    "collect_list": [
                        {
                            "file_path": path,
                            "log_group_name": setup.log_group,
                            "log_stream_name": f"{{instance_id}}/{name}",
                        }
                        for name, path in logs.items()
                    ]
                }
            }
        },
    }


def _collected(names: list[str]) -> Mapping[str, Any]:
    return {
        "measurement": names,
        "metrics_collection_interval": _COLLECT_EVERY_SECONDS,
        "drop_original_metrics": names,
    }


def _parts(setup: NodeSetup) -> dict[str, bool]:
    system = setup.file_system
    return {
        "aws/01-object-storage.sh": setup.checkpoint_uri is not None,
        "05-gpu-driver.sh": True,
        "aws/07-efa.sh": setup.rdma,
        "aws/30-lustre-client.sh": system is not None,
        "aws/35-lustre-efa.sh": system is not None and system.rdma,
        "aws/40-mount-lustre.sh": system is not None,
        "aws/50-monitoring.sh": True,
    }
