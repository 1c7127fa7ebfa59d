"""How pools reach a file system on Alibaba Cloud."""

from gpuyard.catalog import instance_types
from gpuyard.planning.file_systems import client_problems, client_reasons, reaches_over_rdma
from gpuyard.planning.plans import DiskPlan, NodePoolPlan

from .file_system_helpers import NAS, PATH, PLACE, right

ZONE = "cn-beijing-l"


def pool(nodes: int, instance_type: str = "ecs.gn7i-c8g1.2xlarge", zone: str = ZONE) -> NodePoolPlan:
    """A pool as far as a file system looks at it."""
    return NodePoolPlan(
        name="train",
        kind="fixed",
        place=PLACE,
        instance_types=(instance_types("alicloud")[instance_type],),
        min_nodes=nodes,
        max_nodes=nodes,
        zones=(zone,),
        purchase="on_demand",
        reservation_id=None,
        reservation_group_arn=None,
        reservation_placement_group=None,
        clustered=False,
        interfaces=(),
        root_disk=DiskPlan("cloud_essd PL1", 200),
        data_disk=None,
        scratch=False,
        kms_key=None,
        log_keep_days=30,
        checkpoint_seconds=600,
        image_id="m-1",
        image_query=None,
        root_device="/dev/vda",
    )


def test_nothing_is_reached_over_rdma():
    assert reaches_over_rdma(pool(2)) is False


def test_more_nodes_than_a_file_system_takes_are_refused():
    cpfs, nas = right(capacity_gib=3600), right(capacity_gib=200, **NAS)
    assert client_problems(cpfs, [pool(10_000)], PATH) == []
    assert client_problems(nas, [pool(600), pool(400)], PATH) == []
    assert [str(problem) for problem in client_problems(nas, [pool(600), pool(401)], PATH)] == [
        "file_system: 1001 nodes mount the file system, which takes 1000. Use fewer nodes, or several file systems "
        "(source: https://help.aliyun.com/en/nas/product-overview/limits)."
    ]


def test_what_one_node_reads_is_said():
    reasons = client_reasons(right(capacity_gib=12_000, throughput_mb_per_s=2_000), [pool(2)])
    assert reasons == (
        "Nodes mount it over NFS, by which one reads at most 600 MB/s; POSIX clients are set up by hand.",
        "2 nodes reach 1200 MB/s together, less than the file system gives.",
    )
    assert len(client_reasons(right(capacity_gib=3600), [pool(2)])) == 1
    assert client_reasons(right(capacity_gib=200, **NAS), [pool(2)]) == ()


def test_nodes_of_another_zone_and_of_another_processor_are_named():
    arm = next(row for row in instance_types("alicloud").values() if row.cpu_arch != "x86_64")
    found = client_reasons(right(capacity_gib=200, **NAS), [pool(1, arm.instance_type, "cn-beijing-k")])
    assert found == (
        "Whether the Arm nodes of pool 'train' can mount it is unknown: the client is built for x86.",
        "Pool 'train' is or may be in cn-beijing-k, the file system is in cn-beijing-l: reading across zones is "
        "slower.",
    )
