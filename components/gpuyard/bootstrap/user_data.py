"""User data of a node: cloud-init's configuration with the scripts of the parts that this node has."""

import base64
import gzip
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from gpuyard.planning.metrics import EFA_METRICS, GPU_METRICS, GPU_PREFIX, METRIC_NAMESPACE, POOL_DIMENSION

# What the scripts, the role's rights and the alarms call each log, behind the node's id.
KERNEL_LOG, SETUP_LOG = "kernel", "setup"
_COLLECT_EVERY_SECONDS = 60
_HOME = "/opt/gpuyard"


@dataclass(frozen=True, slots=True)
class LustreMount:
    """A Lustre file system that the node mounts at ``/fsx``, over RDMA or over TCP."""

    dns_name: str
    mount_name: str
    rdma: bool = False


@dataclass(frozen=True, slots=True)
class NodeSetup:
    """What one pool's nodes set up when they boot.

    ``scratch``: the machine's own NVMe disks as one volume at ``/scratch``; ``data_disk``: a data disk at ``/data``;
    ``checkpoint_uri``: where checkpoints go, told to the jobs by ``/etc/gpuyard/node.env``; ``log_group``: where the
    logs go; ``hook``: the scaler's lifecycle hook, None for a pool that is not scaled.
    """

    pool: str
    region: str
    log_group: str
    rdma: bool = False
    scratch: bool = False
    data_disk: bool = False
    file_system: LustreMount | None = None
    checkpoint_uri: str | None = None
    hook: str | None = None
    checkpoint_seconds: int = 0


def user_data(setup: NodeSetup) -> str:
    """The user data that a launch template holds: compressed and in base64.

    Args:
        setup: What the node sets up.

    Returns:
        Base64 of gzip of cloud-init's configuration, the same for the same set-up. Cloud-init takes it apart itself.

    Source: https://cloudinit.readthedocs.io/en/latest/explanation/format.html (JSON is YAML; gzip)
    """
    packed = gzip.compress(cloud_config(setup).encode(), mtime=0)
    return base64.b64encode(packed).decode()


def cloud_config(setup: NodeSetup) -> str:
    """The same as cloud-init reads it.

    Args:
        setup: What the node sets up.

    Returns:
        A ``#cloud-config`` document.
    """
    config = {
        "write_files": [
            {"path": path, "permissions": mode, "owner": "root:root", "content": content}
            for path, (mode, content) in node_files(setup).items()
        ],
        "runcmd": [
            ["mkdir", "-p", "/var/log/gpuyard"],
            ["systemctl", "daemon-reload"],
            ["systemctl", "enable", "--now", "gpuyard-setup.service"],
        ],
    }
    return f"#cloud-config\n{json.dumps(config, indent=1)}\n"


def node_files(setup: NodeSetup) -> dict[str, tuple[str, str]]:
    """Every file that is written to the node.

    Args:
        setup: What the node sets up.

    Returns:
        Permissions and content by path.
    """
    found = {
        "/etc/gpuyard/node.env": ("0644", _rendered("node.env.j2", setup=setup)),
        "/etc/gpuyard/cloudwatch-agent.json": ("0644", json.dumps(agent_configuration(setup), indent=1) + "\n"),
        "/etc/systemd/system/gpuyard-setup.service": ("0644", _template("setup.service")),
        "/etc/systemd/system/gpuyard-kernel-log.service": ("0644", _template("kernel-log.service")),
        "/etc/logrotate.d/gpuyard": ("0644", _template("logrotate")),
        f"{_HOME}/setup.sh": ("0755", _template("setup.sh")),
    }
    found |= {f"{_HOME}/parts/{part}": ("0755", _template(part)) for part in _parts(setup)}
    if setup.hook is not None:
        found[f"{_HOME}/release-node.sh"] = ("0755", _template("release-node.sh"))
    return found


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
    logs = {KERNEL_LOG: "/var/log/gpuyard/kernel.log", SETUP_LOG: "/var/log/gpuyard/setup.log"}
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


def _parts(setup: NodeSetup) -> list[str]:
    system = setup.file_system
    wanted = {
        "10-scratch.sh": setup.scratch,
        "20-data-disk.sh": setup.data_disk,
        "30-lustre-client.sh": system is not None,
        "35-lustre-efa.sh": system is not None and system.rdma,
        "40-mount-lustre.sh": system is not None,
        "50-monitoring.sh": True,
    }
    return [part for part, is_wanted in wanted.items() if is_wanted]


def _template(name: str) -> str:
    return (files("gpuyard.bootstrap") / "templates" / name).read_text(encoding="utf-8")


def _rendered(name: str, **values: Any) -> str:
    # The results are shell scripts, not web pages: values are quoted for the shell.
    environment = Environment(  # noqa: S701 - see above
        loader=FunctionLoader(_template), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template(name).render(quoted=shlex.quote, **values)
