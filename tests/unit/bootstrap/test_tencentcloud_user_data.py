"""What a node on Tencent Cloud gets as user data: whole, small, readable by cloud-init, and without a secret."""

import base64
import gzip
from pathlib import Path

from ruamel.yaml import YAML

from gpuyard.bootstrap.tencentcloud import NodeSetup, TurboMount, node_files, user_data
from gpuyard.bootstrap.user_data import cloud_config

LEAST = NodeSetup(pool="serve", region="ap-beijing", driver_branch="580")
EVERYTHING = NodeSetup(
    pool="train",
    region="ap-beijing",
    driver_branch="580",
    driver_minimum="450",
    fabric_manager=True,
    rdma=True,
    scratch=True,
    data_disk=True,
    file_system=TurboMount("10.64.0.7", "d3dcc487/cfs"),
    checkpoint_bucket="llm-checkpoints-1250000000",
    checkpoint_prefix="checkpoints",
    elastic=True,
    spot=True,
)
# PyPI tencentcloud_iac_pulumi 0.2.3, docstring of instance.Instance.user_data: base64, up to 16 KB.
LIMIT_BYTES = 16 * 1024


def parts(setup: NodeSetup) -> list[str]:
    return [Path(path).name for path in node_files(setup) if path.startswith("/opt/gpuyard/parts/")]


def test_br_107_user_data_is_under_the_limit_in_base64_and_the_same_for_the_same_setup() -> None:
    packed = user_data(EVERYTHING)
    assert len(packed) < LIMIT_BYTES * 3 / 4
    assert packed == user_data(EVERYTHING)
    assert gzip.decompress(base64.b64decode(packed)).decode() == cloud_config(node_files(EVERYTHING))


def test_cloud_init_reads_it_as_yaml() -> None:
    text = cloud_config(node_files(EVERYTHING))
    assert text.startswith("#cloud-config\n")
    written = {one["path"]: one for one in YAML(typ="safe").load(text)["write_files"]}
    assert written["/opt/gpuyard/leave.sh"]["permissions"] == "0755"
    assert written["/etc/systemd/system/gpuyard-spot-notice.service"]["permissions"] == "0644"


def test_a_node_gets_the_parts_it_has_and_no_others_in_their_order() -> None:
    assert parts(LEAST) == ["05-gpu-driver.sh", "50-monitoring.sh"]
    assert parts(EVERYTHING) == [
        "05-gpu-driver.sh",
        "06-fabric-manager.sh",
        "07-rdma.sh",
        "10-scratch.sh",
        "20-data-disk.sh",
        "30-turbo-client.sh",
        "40-mount-turbo.sh",
        "50-monitoring.sh",
        "60-spot-notice.sh",
    ]
    assert parts(EVERYTHING) == sorted(parts(EVERYTHING)), "they run in the order of their names"


def test_only_a_node_that_may_be_taken_away_can_leave() -> None:
    leaving = {"/opt/gpuyard/leave.sh", "/opt/gpuyard/release-node.sh"}
    watching = {"/opt/gpuyard/watch-spot.sh", "/etc/systemd/system/gpuyard-spot-notice.service"}
    assert not (leaving | watching) & set(node_files(LEAST))
    on_demand = NodeSetup(pool="serve", region="ap-beijing", driver_branch="580", elastic=True)
    assert leaving <= set(node_files(on_demand))
    assert not watching & set(node_files(on_demand))
    assert leaving | watching <= set(node_files(EVERYTHING))


def test_the_scripts_are_told_what_they_ask_for() -> None:
    told = node_files(EVERYTHING)["/etc/gpuyard/node.env"].content.splitlines()
    assert {
        "GPUYARD_DRIVER_BRANCH=580",
        "GPUYARD_DRIVER_MINIMUM=450",
        "GPUYARD_SCRATCH=/scratch",
        "GPUYARD_SCRATCH_DISKS='^/dev/nvme'",
        "GPUYARD_DATA=/data",
        "GPUYARD_DATA_DISKS=' disk-'",
        "GPUYARD_DATA_TRIES=300",
        "GPUYARD_FILE_SYSTEM=/cfs",
        "GPUYARD_TURBO_ADDRESS=10.64.0.7",
        "GPUYARD_TURBO_TREE=d3dcc487/cfs",
        "GPUYARD_CHECKPOINT_URI=cos://llm-checkpoints-1250000000/checkpoints",
        "GPUYARD_CHECKPOINT_ENDPOINT=https://llm-checkpoints-1250000000.cos.ap-beijing.myqcloud.com",
    } <= set(told)
    least = node_files(LEAST)["/etc/gpuyard/node.env"].content
    assert not [word for word in ("SCRATCH", "DATA", "TURBO", "CHECKPOINT", "MINIMUM") if word in least]
