"""What the nodes of a pool run beside the jobs."""

from typing import Any

import pytest

from gpuyard.catalog import instance_types, node_images
from gpuyard.planning.cluster import plan_cluster
from gpuyard.planning.plans import SoftwarePlan
from gpuyard.planning.software import plan_software
from gpuyard.spec.models import ClusterSpec
from gpuyard.spec.parse import parse_spec
from gpuyard.spec.software import SoftwareSpec

IMAGES = node_images("aws")


def planned(name: str = "p4d.24xlarge", image: str | None = "dlami-ubuntu-22.04", **asked: Any) -> SoftwarePlan:
    plan, problems = software(name, image, **asked)
    assert problems == []
    return plan


def software(name: str, image: str | None, **asked: Any) -> tuple[SoftwarePlan, list[str]]:
    row = instance_types("aws")[name]
    plan, problems = plan_software(SoftwareSpec(**asked), (row,), IMAGES[image] if image else None, "aws", ("train",))
    return plan, [str(problem) for problem in problems]


def test_an_image_of_the_vendor_brings_its_driver_and_a_plain_one_gets_it():
    assert planned().driver_branch is None
    assert planned(image="ubuntu-24.04").driver_branch == "580"
    assert planned(image=None).driver_branch == "580", "an image of one's own may lack it"


@pytest.mark.parametrize(("name", "needed"), [("p4d.24xlarge", True), ("g5.48xlarge", False), ("p3.16xlarge", False)])
def test_only_gpus_behind_nvswitches_need_the_fabric_manager(name: str, needed: bool):
    assert planned(name, None).fabric_manager is needed


def test_the_driver_is_as_new_as_pytorch_needs_it():
    plan = planned(pytorch="2.8")
    assert (plan.driver_minimum, plan.driver_reason) == ("525.60.13", "PyTorch 2.8")
    assert planned().driver_minimum is None


def test_a_release_that_nobody_knows_is_named_with_its_neighbours():
    (problem,) = software("p4d.24xlarge", None, pytorch="2.88")[1]
    assert problem.startswith("train.software.pytorch: the catalog knows no PyTorch release '2.88'.")
    assert "Known: " in problem


def test_a_build_that_has_no_code_for_the_gpus_is_refused():
    (problem,) = software("p6-b200.48xlarge", None, pytorch="2.3")[1]
    assert "the build of PyTorch 2.3 that pip installs does not run: B200-SXM-180GB needs CUDA" in problem


@pytest.mark.parametrize(
    "image",
    [
        "nginx",
        "ghcr.io/org/name:1.2",
        "localhost:5000/a/b",
        "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.8.0-gpu-py312",
        "registry.cn-beijing.aliyuncs.com/ns/image@sha256:" + "a" * 64,
    ],
)
def test_container_images_are_pulled_into_docker(image: str):
    plan = planned(container_images=[image])
    assert (plan.containers, plan.container_images) == (True, (image,))


@pytest.mark.parametrize("image", ["Nginx Image", "ghcr.io/UPPER/name:1", "x:", "a b", "$(id)", "x;rm -rf /"])
def test_what_is_no_container_image_is_refused(image: str):
    (problem,) = software("p4d.24xlarge", None, container_images=[image])[1]
    assert problem.startswith(f"train.software.container_images[0]: '{image}' is no container image.")


@pytest.mark.parametrize("checkpoints", [None, {"keep_days": 7}])
def test_a_plan_says_that_nodes_without_a_bucket_have_no_health_gate(checkpoints: dict[str, Any] | None):
    pools = {"serve": {"instance_type": "g5.xlarge", "nodes": 1}}
    asked = {"cloud": "aws", "region": "us-east-1", "zone": "us-east-1a", "environment": "dev", "node_pools": pools}
    spec = parse_spec(ClusterSpec, asked if checkpoints is None else {**asked, "checkpoints": checkpoints})
    (pool,) = plan_cluster(spec, "x").node_pools
    told = "Without a checkpoint bucket its nodes have neither health gate nor watcher." in pool.reasons
    assert told is (checkpoints is None)
