"""From hardware facts or a type's name to machines, and what would fit where they disagree."""

from dataclasses import replace

import pytest

from gpuyard.catalog import find_instance_types, instance_types, node_images
from gpuyard.planning import images
from gpuyard.planning.node_pools import plan_node_pool
from gpuyard.planning.plans import DiskPlan, Place
from gpuyard.spec import NodePoolSpec, parse_spec

from .conftest import Pool, Refused

AFRICA = Place("aws", "af-south-1", "dev", zone="af-south-1a")


def test_a_gpu_is_resolved_to_the_smallest_type_that_fits(pool: Pool):
    plan = pool(gpu="A100", gpus_per_node=8, interconnect="rdma")
    assert [row.instance_type for row in plan.instance_types] == ["p4d.24xlarge"]
    assert plan.reasons == ("p4d.24xlarge is the smallest type in us-east-1 that fits (others: p4de.24xlarge).",)


def test_a_gpu_with_its_memory_names_one_model(pool: Pool):
    plan = pool(gpu="A100-80GB", interconnect="rdma")
    assert plan.instance_type.instance_type == "p4de.24xlarge"
    assert plan.instance_type.gpu_model == "A100-SXM4-80GB"
    assert plan.reasons == ("p4de.24xlarge is the smallest type in us-east-1 that fits.",)


@pytest.mark.parametrize("gpu", ["A10", "a10", "A10G", "a10_"])
def test_case_and_blanks_in_a_gpus_name_do_not_matter(gpu: str, pool: Pool):
    assert pool(gpu=gpu, gpus_per_node=1).instance_type.instance_type == "g5.xlarge"


def test_a_named_type_is_taken_and_the_other_facts_must_agree(pool: Pool):
    plan = pool(instance_type="p4d.24xlarge", gpu="A100-40GB", gpus_per_node=8, interconnect="nvlink", bare_metal=False)
    assert plan.instance_type.instance_type == "p4d.24xlarge"
    assert plan.reasons == ("p4d.24xlarge was named.",)


def test_every_misfit_of_a_named_type_is_a_problem_with_what_would_fit(refused: Refused):
    remedy = "No type in us-east-1 fits all that the pool asks for."
    assert refused(instance_type="p4d.24xlarge", gpu="H100", gpus_per_node=4, bare_metal=True) == [
        f"gpu: p4d.24xlarge has A100-SXM4-40GB GPUs, not H100. {remedy}",
        f"gpus_per_node: p4d.24xlarge has 8 GPUs, not 4. {remedy}",
        f"bare_metal: p4d.24xlarge is not bare metal. {remedy}",
    ]


def test_a_type_without_efa_names_those_of_the_gpu_that_have_it(refused: Refused):
    fits = find_instance_types("aws", gpu="A10", rdma=True, region="us-east-1", cpu_arch="x86_64")
    names = [row.instance_type for row in fits]
    assert names[0] == "g5.8xlarge"
    (message,) = refused(instance_type="g5.xlarge", gpu="A10", interconnect="rdma")
    assert message.startswith("interconnect: g5.xlarge has no EFA, the RDMA network of AWS. These fit: g5.8xlarge, ")
    assert set(message.split("These fit: ")[1].rstrip(".").split(", ")) == set(names)


def test_what_fits_is_of_nvidia_at_most_8_names_and_the_nearest_first(refused: Refused):
    (message,) = refused(
        Place("aws", "us-east-1", "dev", "us-east-1a"), instance_type="g4dn.xlarge", interconnect="rdma"
    )
    fits = find_instance_types("aws", rdma=True, region="us-east-1", cpu_arch="x86_64")
    assert any(row.accelerator_vendor != "NVIDIA" for row in fits)
    shown, more = message.rstrip(".").split("These fit: ")[1].split(" and ")
    names = shown.split(", ")
    assert len(names) == 8
    whole = [row for row in fits if row.accelerator_vendor == "NVIDIA" and row.gpu_partition == 1]
    assert more == f"{len(whole) - 8} more"
    assert set(names) <= {row.instance_type for row in whole}
    assert {instance_types("aws")[name].gpu_count for name in names} == {1}


@pytest.mark.parametrize(
    ("name", "accelerators"),
    [
        ("trn1.32xlarge", "AWS (Trainium)"),
        ("inf2.24xlarge", "AWS (Inferentia2)"),
        ("g4ad.xlarge", "AMD (Radeon-Pro-V520)"),
        ("dl2q.24xlarge", "Qualcomm (Cloud-AI-100)"),
    ],
)
def test_an_accelerator_that_runs_no_vendor_image_needs_an_image_of_ones_own(
    name: str, accelerators: str, refused: Refused, pool: Pool
):
    row = instance_types("aws")[name]
    region = (row.regions or ("us-east-1",))[0]
    place = Place("aws", region, "dev", zone=f"{region}a")
    vendor = accelerators.split(" ")[0]
    assert refused(place, instance_type=name) == [
        f"instance_type: {name} has accelerators of {accelerators}, and the vendor images are for GPUs of NVIDIA. "
        f"Give 'image: ami-…' with the software of {vendor}, or choose GPUs of NVIDIA."
    ]
    assert pool(place, instance_type=name, image="ami-1").instance_type == row


def test_an_accelerator_of_another_vendor_is_refused_by_its_own_name_too(refused: Refused):
    (message,) = refused(gpu="Radeon-Pro-V520")
    assert message.startswith("gpu: g4ad.xlarge has accelerators of AMD (Radeon-Pro-V520), ")


@pytest.mark.parametrize("name", ["g5g.xlarge", "g5g.metal"])
def test_an_arm_type_needs_an_arm_image(name: str, refused: Refused, pool: Pool):
    assert refused(instance_type=name) == [
        f"image: {name} has CPUs of kind arm64, and the catalog has no vendor image for them. Give 'image: ami-…', the "
        "id of an image for arm64."
    ]
    assert refused(instance_type=name, image="dlami-ubuntu-24.04") == refused(instance_type=name)
    assert pool(instance_type=name, image="ami-1").image_id == "ami-1"


def test_an_arm_type_takes_the_first_vendor_image_for_arm(
    monkeypatch: pytest.MonkeyPatch, pool: Pool, refused: Refused
):
    known = node_images("aws")
    arm = replace(known["dlami-ubuntu-24.04"], name="arm", cpu_arch="arm64", query="/arm")
    monkeypatch.setattr(images, "node_images", lambda _: {**known, "arm": arm})
    assert pool(instance_type="g5g.xlarge").image_query == "/arm"
    assert refused(instance_type="g5g.xlarge", image="dlami-ubuntu-24.04") == [
        "image: dlami-ubuntu-24.04 is for x86_64, the CPUs are of kind arm64. For arm64: arm."
    ]
    assert pool(gpu="A10").image_query == known["dlami-ubuntu-22.04"].query


def test_a_type_without_nvlink_says_how_its_gpus_are_joined(refused: Refused):
    (message,) = refused(instance_type="g5.48xlarge", interconnect="nvlink", gpus_per_node=8)
    assert message.startswith("interconnect: g5.48xlarge joins its GPUs by pcie, not NVLink. These fit: ")
    assert "p4d.24xlarge" in message


def test_a_type_with_one_gpu_has_no_nvlink(refused: Refused):
    (message,) = refused(instance_type="g5.xlarge", interconnect="nvlink")
    assert "g5.xlarge joins its GPUs by none, not NVLink." in message


def test_an_unknown_type_is_refused_with_the_nearest(refused: Refused):
    assert refused(instance_type="p4d.24xlarg") == [
        "instance_type: the catalog knows no aws instance type 'p4d.24xlarg'. Did you mean 'p4d.24xlarge'?"
    ]
    assert refused(instance_type="??") == [
        "instance_type: the catalog knows no aws instance type '??'. See the catalog for the known ones."
    ]


def test_an_unknown_gpu_is_refused_with_the_nearest_and_those_of_the_cloud(refused: Refused):
    (message,) = refused(gpu="A1000")
    assert message.startswith("gpu: the catalog knows no GPU called 'A1000'. Did you mean 'A100'? Known on aws: ")
    assert "A100-SXM4-80GB" in message
    assert "Trainium" not in message
    (blank,) = refused(gpu=" ")
    assert blank.startswith("gpu: the catalog knows no GPU called ' '. Known on aws: ")


def test_a_gpu_that_the_cloud_does_not_rent_is_said_to_be_nowhere(refused: Refused):
    assert refused(gpu="MI300X") == ["gpu: no instance type in us-east-1 has gpu: MI300X. No region has one."]


def test_a_pool_without_hardware_is_refused(refused: Refused):
    assert refused() == [": names no hardware. Give 'gpu' (and 'gpus_per_node') or 'instance_type'."]


@pytest.mark.parametrize(
    ("asked", "shown", "nearest"),
    [
        ({"gpus_per_node": 4}, "gpus_per_node: 4", "without 'gpus_per_node': p4d.24xlarge, p4de.24xlarge"),
        ({"bare_metal": True}, "bare_metal: True", "without 'bare_metal': p4d.24xlarge, p4de.24xlarge"),
    ],
)
def test_what_no_type_has_is_refused_with_what_would_do_without_it(
    asked: dict[str, object], shown: str, nearest: str, refused: Refused
):
    assert refused(gpu="A100", **asked) == [
        f"gpu: no instance type in us-east-1 has gpu: A100, {shown}. Nearest: {nearest}."
    ]


def test_a_gpu_without_nvlink_names_its_types_without_the_demand(refused: Refused):
    (message,) = refused(gpu="A10", interconnect="nvlink")
    assert message.startswith(
        "gpu: no instance type in us-east-1 has gpu: A10, interconnect: nvlink. Nearest: without 'interconnect': "
        "g5.xlarge, "
    )


def test_a_gpu_that_only_arm_machines_have_says_so(refused: Refused):
    assert refused(gpu="GB200") == [
        "gpu: no instance type in us-east-1 has gpu: GB200. Nearest: with Arm CPUs, to be named as 'instance_type' "
        "with an 'image' of your own: p6e-gb200.36xlarge."
    ]
    assert refused(gpu="GB200", gpus_per_node=8) == [
        "gpu: no instance type in us-east-1 has gpu: GB200, gpus_per_node: 8. Nearest: with other facts, to be named "
        "as 'instance_type': p6e-gb200.36xlarge."
    ]


def test_a_type_that_no_known_region_has_says_so(refused: Refused):
    assert instance_types("aws")["p3.2xlarge"].regions == ()
    assert refused(instance_type="p3.2xlarge", image="ami-1") == [
        "instance_type: p3.2xlarge is not offered in us-east-1. The catalog knows no region that has it."
    ]


def test_a_gpu_of_other_regions_names_them(refused: Refused):
    (message,) = refused(AFRICA, gpu="A100")
    assert message.startswith("gpu: no instance type in af-south-1 has gpu: A100. Nearest: in other regions: ")
    assert "us-east-1" in message
    assert "af-south-1" not in message.split("Nearest")[1]


def test_a_named_type_of_other_regions_names_them(refused: Refused):
    (message,) = refused(AFRICA, instance_type="p4d.24xlarge")
    assert message.startswith("instance_type: p4d.24xlarge is not offered in af-south-1. It is in: ")
    assert set(message.rstrip(".").split("It is in: ")[1].split(", ")) == set(
        instance_types("aws")["p4d.24xlarge"].regions or ()
    )


def test_an_elastic_pool_takes_every_type_with_the_same_gpus(pool: Pool):
    plan = pool(gpu="A10", gpus_per_node=1, purchase="spot", nodes={"min": 0, "max": 4})
    assert plan.kind == "elastic"
    names = [row.instance_type for row in plan.instance_types]
    assert names[0] == "g5.xlarge"
    assert len(names) > 3
    assert {(row.gpu_model, row.gpu_count, row.cpu_arch) for row in plan.instance_types} == {("A10G", 1, "x86_64")}
    vcpus = [row.vcpus or 0 for row in plan.instance_types]
    assert vcpus == sorted(vcpus)
    assert plan.reasons[0] == f"{', '.join(names)}: each has 1 × A10G."


def test_a_fixed_pool_takes_one_type(pool: Pool):
    plan = pool(gpu="A10", gpus_per_node=1)
    assert (plan.kind, len(plan.instance_types)) == ("fixed", 1)


def test_no_part_of_a_gpu_is_given_where_a_gpu_was_asked_for(pool: Pool):
    rows = instance_types("aws").values()
    assert any(row.gpu_partition is not None and row.gpu_partition < 1 for row in rows)
    plan = pool(gpu="L4", purchase="spot")
    assert {row.gpu_partition for row in plan.instance_types} == {1}


@pytest.mark.parametrize(
    ("image", "root_device"),
    [
        ("dlami-ubuntu-22.04", "/dev/sda1"),
        ("dlami-ubuntu-24.04", "/dev/sda1"),
        ("dlami-amazon-linux-2023", "/dev/xvda"),
    ],
)
def test_the_root_device_is_the_images(image: str, root_device: str, pool: Pool):
    plan = pool(gpu="A10", image=image)
    assert plan.root_device == root_device
    assert plan.image_id is None
    assert plan.image_query is not None
    assert image.removeprefix("dlami-") in plan.image_query


def test_an_image_id_is_taken_as_it_is(pool: Pool):
    plan = pool(gpu="A10", image="ami-0123456789abcdef0")
    assert (plan.image_id, plan.image_query) == ("ami-0123456789abcdef0", None)


def test_an_unknown_image_is_refused_with_the_known_ones(refused: Refused):
    (message,) = refused(gpu="A10", image="dlami-ubuntu-22")
    assert message.startswith(
        "image: 'dlami-ubuntu-22' is neither an image id (ami-…) nor a vendor image of the catalog. "
        "Did you mean 'dlami-ubuntu-22.04'? Known: dlami-ubuntu-22.04, "
    )


def test_an_unknown_card_layout_is_said_and_refused(refused: Refused):
    unknown = [row for row in instance_types("aws").values() if row.has_rdma and row.rdma_cards is None]
    for row in unknown:
        place = Place("aws", (row.regions or ("us-east-1",))[0], "dev", zone=(row.regions or ("us-east-1",))[0] + "a")
        message = refused(place, instance_type=row.instance_type, interconnect="rdma")[-1]
        assert message.startswith(
            f"interconnect: the network-card layout of {row.instance_type} is unknown to the catalog."
        )
    assert unknown


@pytest.mark.parametrize(("asked", "text"), [(True, "bare metal"), (False, "virtual")])
def test_an_unknown_kind_of_machine_is_not_said_to_be_the_other(asked: bool, text: str, refused: Refused):
    row = next(row for row in instance_types("aws").values() if row.bare_metal is None)
    found = refused(instance_type=row.instance_type, bare_metal=asked)
    assert any(f"{row.instance_type} is not {text}, as far as the catalog knows." in message for message in found)


def test_sizes_of_disks_reach_the_plan(pool: Pool):
    plan = pool(gpu="A10", root_disk_gib=300, data_disk_gib=1000)
    assert (plan.root_disk, plan.data_disk) == (DiskPlan("gp3", 300), DiskPlan("gp3", 1000))


def test_the_vendor_images_driver_must_know_the_gpus():
    region = next(iter(instance_types("aws")["p3dn.24xlarge"].regions or ()))
    place = Place("aws", region, "dev", f"{region}a")
    spec = parse_spec(NodePoolSpec, {"instance_type": "p3dn.24xlarge", "nodes": 1})
    plan, problems = plan_node_pool("rl", spec, place)
    assert plan is None
    assert [str(problem) for problem in problems] == [
        "image: the driver of dlami-ubuntu-22.04 does not run the Volta GPUs of p3dn.24xlarge. Give 'image: ami-…', "
        "the id of an image with a driver for V100-SXM2-32GB."
    ]
    own = parse_spec(
        NodePoolSpec, {"instance_type": "p3dn.24xlarge", "nodes": 1, "image": "ami-1", "root_device": "/dev/xvda"}
    )
    plan, problems = plan_node_pool("rl", own, place)
    assert problems == []
    assert plan is not None
    assert (plan.image_id, plan.root_device) == ("ami-1", "/dev/xvda")
