from gpuyard.catalog import instance_type, instance_types
from gpuyard.catalog.instance_types import CLOUDS_WITH_TYPES
from gpuyard.catalog.topology import Part, node_parts, span, topology_of


def drawn(cloud: str, name: str) -> list[str]:
    row = instance_type(cloud, name)
    assert row is not None
    return lines(node_parts(row))


def lines(part: Part) -> list[str]:
    return [part.label, *(line for inner in part.parts for line in lines(inner))]


def test_a_known_layout_is_drawn_with_its_numbers() -> None:
    assert drawn("aws", "p4d.24xlarge") == [
        "p4d.24xlarge (aws)",
        "8 × A100-SXM4-40GB: every GPU with every other over NVSwitch, 600 GB/s a GPU, both directions together",
        "NUMA node 0",
        "PCIe 3.0 switch: GPU 0, GPU 1, EFA card 0",
        "PCIe 3.0 switch: GPU 2, GPU 3, EFA card 1",
        "NUMA node 1",
        "PCIe 3.0 switch: GPU 4, GPU 5, EFA card 2",
        "PCIe 3.0 switch: GPU 6, GPU 7, EFA card 3",
        "network: 400 Gbps over 4 cards",
        "EFA: 4 interfaces on cards 0 to 3, 400 Gbps together; GPUDirect RDMA",
        "local NVMe: 8 × 1000 GB",
    ]


def test_what_is_unknown_is_drawn_as_unknown() -> None:
    assert drawn("tencentcloud", "PNV6.32XLARGE1280") == [
        "PNV6.32XLARGE1280 (tencentcloud)",
        "8 × H20-96GB: link between GPUs unknown",
        "NUMA nodes: unknown",
        "PCIe generation unknown; which GPU and network card share a switch or NUMA node is unknown",
        "GPUs 0 to 7",
        "network: bandwidth unknown",
        "no RDMA",
        "local NVMe: unknown",
    ]


def test_a_slice_of_a_gpu_is_drawn_as_one() -> None:
    assert "1 × T4, a slice of 0.25 of a GPU" in drawn("tencentcloud", "GN7.LARGE20")


def test_no_local_disk_and_unknown_local_disk_differ() -> None:
    assert drawn("alicloud", "ecs.ebmgn7ex.32xlarge")[-1] == "no local NVMe"
    assert drawn("alicloud", "ecs.ebmgn8te.32xlarge")[-1] == "local NVMe: unknown"


def test_every_type_of_every_cloud_can_be_drawn() -> None:
    rows = [row for cloud in CLOUDS_WITH_TYPES for row in instance_types(cloud).values()]
    for row in rows:
        text = "\n".join(lines(node_parts(row)))
        assert "None" not in text, row.instance_type
        assert text.startswith(f"{row.instance_type} ({row.cloud})")


def test_a_contradiction_over_a_layout_is_told() -> None:
    p5 = instance_type("aws", "p5.48xlarge")
    assert p5 is not None
    known = topology_of(p5)
    assert known is not None
    assert known.note is not None
    assert known.note.startswith("Contradiction")


def test_numbers_in_a_row_are_shown_as_a_span() -> None:
    assert [span([0]), span([0, 1]), span([0, 1, 2]), span([1, 3, 5]), span([])] == [
        "0",
        "0, 1",
        "0 to 2",
        "1, 3, 5",
        "",
    ]
