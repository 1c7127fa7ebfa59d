"""What a node gets as user data: whole, small, readable by cloud-init, and without a secret."""

import base64
import gzip
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from gpuyard.bootstrap.aws import LustreMount, NodeSetup, agent_configuration, node_files, user_data
from gpuyard.bootstrap.payload import node_programs
from gpuyard.bootstrap.user_data import cloud_config
from gpuyard.planning.metrics import GPU_METRICS, METRIC_NAMESPACE
from gpuyard.planning.plans import SoftwarePlan

from .conftest import EVERYWHERE, WITH_PROGRAMS

TEMPLATES = Path(str(files("gpuyard.bootstrap") / "templates"))
SCRIPTS = sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.sh"))
ALL_PARTS = [
    *EVERYWHERE,
    *WITH_PROGRAMS,
    "01-object-storage.sh",
    "05-gpu-driver.sh",
    "06-fabric-manager.sh",
    "07-efa.sh",
    "09-containers.sh",
    "10-scratch.sh",
    "20-data-disk.sh",
    "30-lustre-client.sh",
    "35-lustre-efa.sh",
    "40-mount-lustre.sh",
    "50-monitoring.sh",
    "55-jupyter.sh",
    "60-images.sh",
]
LEAST = NodeSetup(pool="serve", region="us-east-1", log_group="/logs")
EVERYTHING = NodeSetup(
    pool="train",
    region="us-east-1",
    log_group="llm-train-logs-1a2b3c",
    software=SoftwarePlan(
        driver_branch="580",
        driver_minimum="525.60.13",
        driver_reason="PyTorch 2.8",
        fabric_manager=True,
        containers=True,
        container_images=("763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8",),
        jupyter=True,
        gpu_clocks="highest",
        huge_pages_gib=16,
    ),
    expected={"gpus": 8},
    nccl={"NCCL_SOCKET_IFNAME": "^docker,lo"},
    rdma=True,
    scratch=True,
    data_disk=True,
    file_system=LustreMount("fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com", "abcd1234", rdma=True),
    checkpoint_uri="s3://llm-checkpoints/checkpoints",
    programs="s3://llm-checkpoints/gpuyard-node/train/1.tar.gz",
    launch_hook="llm-train-healthy",
    hook="llm-train-checkpoint",
    checkpoint_seconds=600,
)
# The raw size that EC2 takes: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html
LIMIT_BYTES = 16 * 1024


def parts(setup: NodeSetup) -> list[str]:
    return sorted(Path(path).name for path in node_files(setup) if path.startswith("/opt/gpuyard/parts/"))


# The clouds' own stores and their metadata services.
OF_THE_CLOUDS = (
    ".amazonaws.com/",
    # NVIDIA's own archive of its container toolkit, where the image does not bring it.
    "nvidia.github.io/libnvidia-container",
    "169.254.169.254",
    ".aliyuncs.com/",
    "-internal.aliyuncs.com",
    # Alibaba Cloud's own commands have no address inside its network.
    "gosspublic.alicdn.com/ossutil/",
    "aliyuncli.alicdn.com/",
    "100.100.100.200",
    "mirrors.tencentyun.com/",
    "metadata.tencentyun.com",
    "cosbrowser.cloud.tencent.com/software/coscli/",
)


def test_br_107_user_data_is_well_under_the_limit_and_the_same_for_the_same_setup() -> None:
    packed = user_data(EVERYTHING)
    assert len(base64.b64decode(packed)) < LIMIT_BYTES * 3 / 4
    assert packed == user_data(EVERYTHING)
    assert gzip.decompress(base64.b64decode(packed)).decode() == cloud_config(node_files(EVERYTHING))


def test_cloud_init_reads_it_as_yaml() -> None:
    text = cloud_config(node_files(EVERYTHING))
    assert text.startswith("#cloud-config\n")
    config = YAML(typ="safe").load(text)
    written = {one["path"]: one for one in config["write_files"]}
    assert written["/etc/gpuyard/node.env"]["permissions"] == "0644"
    assert {one["owner"] for one in written.values()} == {"root:root"}
    assert config["runcmd"][-1] == ["systemctl", "enable", "--now", "gpuyard-setup.service"]


def test_a_node_gets_the_parts_it_has_and_no_others() -> None:
    assert parts(LEAST) == sorted([*EVERYWHERE, "05-gpu-driver.sh", "50-monitoring.sh"])
    assert parts(EVERYTHING) == sorted(ALL_PARTS)
    over_tcp = NodeSetup(pool="p", region="r", log_group="g", file_system=LustreMount("fs", "m"))
    assert {"30-lustre-client.sh", "40-mount-lustre.sh"} <= set(parts(over_tcp))
    assert "35-lustre-efa.sh" not in parts(over_tcp)


def test_br_028_what_the_scripts_are_told_is_exactly_this() -> None:
    text = node_files(EVERYTHING)["/etc/gpuyard/node.env"].content
    assert text.splitlines()[1:] == [
        "GPUYARD_CLOUD=aws",
        "GPUYARD_POOL=train",
        "GPUYARD_REGION=us-east-1",
        "GPUYARD_DRIVER_BRANCH=580",
        "GPUYARD_DRIVER_MINIMUM=525.60.13",
        "GPUYARD_DRIVER_REASON='PyTorch 2.8'",
        "GPUYARD_GPU_CLOCKS=highest",
        "GPUYARD_HUGE_PAGES_GIB=16",
        "GPUYARD_CONTAINER_IMAGES=763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8",
        "GPUYARD_SCRATCH=/scratch",
        "GPUYARD_DATA=/data",
        "GPUYARD_FILE_SYSTEM=/fsx",
        "GPUYARD_CHECKPOINT_DIR=/fsx/checkpoints",
        "GPUYARD_PROGRAMS=s3://llm-checkpoints/gpuyard-node/train/1.tar.gz",
        f"GPUYARD_PROGRAMS_SHA256={node_programs().sha256}",
        "GPUYARD_CHECKPOINT_SECONDS=600",
        "GPUYARD_EFA_VERSION=1.41.0",
        "GPUYARD_EFA_SHA256=3506354cdfbe31ff552fe75f5d0d9bb7efd29cf79bd99457347d29c751c38f9f",
        "GPUYARD_LUSTRE_DNS_NAME=fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        "GPUYARD_LUSTRE_MOUNT_NAME=abcd1234",
        "GPUYARD_CHECKPOINT_URI=s3://llm-checkpoints/checkpoints",
        "GPUYARD_LAUNCH_HOOK=llm-train-healthy",
        "GPUYARD_HOOK=llm-train-checkpoint",
    ]
    least = node_files(LEAST)["/etc/gpuyard/node.env"].content
    assert least.splitlines()[1:] == [
        "GPUYARD_CLOUD=aws",
        "GPUYARD_POOL=serve",
        "GPUYARD_REGION=us-east-1",
        "GPUYARD_CHECKPOINT_SECONDS=600",
    ]


def test_a_value_cannot_become_a_command() -> None:
    setup = NodeSetup(pool="a; touch /tmp/pwned $(id)", region="r", log_group="g")
    text = node_files(setup)["/etc/gpuyard/node.env"].content
    shown = subprocess.run(["bash", "-c", f'{text}\nprintf %s "$GPUYARD_POOL"'], capture_output=True, text=True)
    assert shown.stdout == "a; touch /tmp/pwned $(id)"


def test_checkpoints_are_never_told_to_be_on_the_machines_own_disks() -> None:
    text = node_files(EVERYTHING)["/etc/gpuyard/node.env"].content
    (uri,) = [line for line in text.splitlines() if line.startswith("GPUYARD_CHECKPOINT_URI")]
    assert "/scratch" not in uri


def test_the_agent_sends_gpu_metrics_for_pool_and_node_only() -> None:
    found: dict[str, Any] = agent_configuration(EVERYTHING)["metrics"]
    assert found["namespace"] == METRIC_NAMESPACE
    assert found["aggregation_dimensions"] == [["AutoScalingGroupName"], ["AutoScalingGroupName", "InstanceId"]]
    gpu = found["metrics_collected"]["nvidia_gpu"]
    assert [f"nvidia_smi_{name}" for name in gpu["measurement"]] == list(GPU_METRICS)
    # One metric for each GPU of each node would be paid for and read by nobody.
    assert gpu["drop_original_metrics"] == gpu["measurement"]


def test_the_agent_watches_efa_where_there_is_efa() -> None:
    assert "efa" in agent_configuration(EVERYTHING)["metrics"]["metrics_collected"]
    assert "efa" not in agent_configuration(LEAST)["metrics"]["metrics_collected"]


def test_the_kernels_log_goes_to_the_pools_log_group() -> None:
    collected = agent_configuration(EVERYTHING)["logs"]["logs_collected"]["files"]["collect_list"]
    assert {one["log_group_name"] for one in collected} == {"llm-train-logs-1a2b3c"}
    assert {one["log_stream_name"] for one in collected} == {"{instance_id}/kernel", "{instance_id}/setup"}
    unit = node_files(EVERYTHING)["/etc/systemd/system/gpuyard-kernel-log.service"].content
    assert "/var/log/gpuyard/kernel.log" in unit


def test_the_agents_file_is_json() -> None:
    text = node_files(EVERYTHING)["/etc/gpuyard/cloudwatch-agent.json"].content
    assert json.loads(text) == agent_configuration(EVERYTHING)


def test_br_107_nothing_is_fetched_from_hosts_that_are_not_the_clouds() -> None:
    for name in SCRIPTS:
        text = "\n".join(
            line for line in (TEMPLATES / name).read_text().splitlines() if not line.lstrip().startswith("#")
        )
        hosts = [word for word in text.replace("'", " ").split() if "https://" in word or "http://" in word]
        for host in hosts:
            assert any(own in host for own in OF_THE_CLOUDS), f"{name}: {host}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_finds_nothing(name: str) -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "shellcheck"), "--severity=style", str(TEMPLATES / name)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in ("lib.sh", "profile.sh")])
def test_every_script_stops_at_its_first_failure(name: str) -> None:
    assert "set -euo pipefail" in (TEMPLATES / name).read_text()
