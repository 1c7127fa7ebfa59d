"""A stack file checked as a whole: every problem of every kind, each with its line."""

from pathlib import Path

import pytest

from gpuyard.planning.check import check_stack_file
from gpuyard.planning.plans import ClusterPlan
from gpuyard.spec import Problem, SpecError
from gpuyard.spec.stack_file import read_stack_file

STACKS = Path(__file__).parents[3] / "stacks"
PROD = (STACKS / "Pulumi.aws-prod.yaml").read_text(encoding="utf-8")
TRAIN = "gpuyard:cluster.node_pools.train"


@pytest.fixture
def write(tmp_path: Path):
    path = tmp_path / "Pulumi.aws-prod.yaml"

    def edited(old: str = "", new: str = "", text: str = PROD) -> Path:
        assert old in text
        path.write_text(text.replace(old, new, 1) if old else text, encoding="utf-8")
        return path

    return edited


def check(path: Path) -> ClusterPlan:
    return check_stack_file(read_stack_file(path, "stacks/Pulumi.aws-prod.yaml"), "aws-prod")


def problems(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        check(path)
    return caught.value.problems


def line(path: Path, wanted: str) -> int:
    """The only line of a file that holds a text."""
    (found,) = [at for at, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if wanted in text]
    return found


@pytest.mark.parametrize("name", ["aws-dev", "aws-staging", "aws-prod"])
def test_the_stacks_of_the_repository_are_right(name: str):
    plan = check_stack_file(read_stack_file(STACKS / f"Pulumi.{name}.yaml"), name)
    assert (plan.name, f"aws-{plan.place.environment}") == (name, name)


def test_a_type_without_efa_fails_with_one_message_that_names_the_line(write):
    path = write("gpu: A100-80GB\n        gpus_per_node: 8", "instance_type: p3.16xlarge")
    (problem,) = problems(path)
    assert problem.line == line(path, "interconnect: rdma")
    assert str(problem).startswith(
        f"stacks/Pulumi.aws-prod.yaml:{problem.line}: {TRAIN}.interconnect: p3.16xlarge has no EFA, the RDMA network "
        "of AWS. These fit: "
    )
    assert "p4d.24xlarge" in problem.remedy


def test_a_bucket_in_another_region_fails_with_one_message_that_names_the_line(write):
    path = write("      keep_days: 30\n", "      keep_days: 30\n      region: eu-west-1\n")
    (problem,) = problems(path)
    assert str(problem) == (
        f"stacks/Pulumi.aws-prod.yaml:{line(path, 'region: eu-west-1')}: gpuyard:cluster.checkpoints.region: the "
        "checkpoint bucket is in eu-west-1, the nodes are in us-east-1. Set it to us-east-1 or leave it out: each "
        "checkpoint would cross regions, slowly and at a price. 'replicate_to: eu-west-1' keeps a copy there."
    )


def test_an_unknown_gpu_fails_with_one_message_that_names_the_line(write):
    path = write("gpu: A100-80GB", "gpu: A1000-80GB")
    (problem,) = problems(path)
    assert problem.line == line(path, "gpu: A1000-80GB")
    assert str(problem).startswith(
        f"stacks/Pulumi.aws-prod.yaml:{problem.line}: {TRAIN}.gpu: the catalog knows no GPU called 'A1000-80GB'. "
        "Did you mean 'A100-SXM4-80GB'? Known on aws: "
    )


def test_the_providers_region_must_be_the_clusters(write):
    path = write("aws:region: us-east-1", "aws:region: us-west-2")
    assert [str(problem) for problem in problems(path)] == [
        f"stacks/Pulumi.aws-prod.yaml:{line(path, 'aws:region')}: aws:region: the provider's region is us-west-2, the "
        "cluster's is us-east-1. Set both to the same region."
    ]


def test_the_providers_region_may_be_left_out(write):
    assert check(write("  aws:region: us-east-1\n", "")).place.region == "us-east-1"


def test_problems_of_every_kind_come_together_in_the_order_of_the_file(write):
    text = PROD
    for old, new in {
        "aws:region: us-east-1": "aws:region: us-west-2",
        "task: pretrain": "task: pretrian",
        "gpu: A100-80GB": "gpu: A1000-80GB",
        "capacity_gib: 24000": "capacity_gib: 3600",
        "replicate_to: us-west-2": "replicate_to: us-east-1",
        "every_hours: 6": "every_hours: 5",
    }.items():
        assert old in text
        text = text.replace(old, new, 1)
    path = write(text=text)
    found = problems(path)
    lines = [problem.line for problem in found]
    assert lines == sorted(lines, key=lambda at: at or 0)
    assert [(problem.path[1:] or problem.path) for problem in found] == [
        ("aws:region",),
        ("workload", "task"),
        ("node_pools", "train", "gpu"),
        ("file_system", "capacity_gib"),
        ("file_system", "throughput_mb_per_s"),
        ("checkpoints", "replicate_to"),
        ("snapshots", "every_hours"),
    ]
    assert lines[-1] == line(path, "every_hours: 5")


def test_a_part_with_a_wrong_value_is_not_judged_further(write):
    # What is left of the pool once the wrong word is taken out is not what was asked for.
    path = write("purchase: on_demand", "purchase: reservd\n        reservation: {id: cr-1}")
    (problem,) = problems(path)
    assert (problem.line, problem.message) == (line(path, "reservd"), "'reservd' is not allowed.")


def test_the_value_of_a_misspelled_key_is_not_taken_to_be_missing(write):
    path = write("interconnect: rdma", "interconect: rdma")
    (problem,) = problems(path)
    assert (problem.line, problem.message) == (line(path, "interconect"), "unknown key 'interconect'.")
    assert problem.remedy == "Did you mean 'interconnect'?"


def test_a_file_without_a_cluster_says_where_it_goes(write):
    (problem,) = problems(write(text="config:\n  aws:region: us-east-1\n"))
    assert str(problem) == (
        "stacks/Pulumi.aws-prod.yaml:1: there is no cluster description. Put it under config: gpuyard:cluster:"
    )


def test_a_cluster_that_is_no_mapping_is_refused_with_its_line(write):
    (problem,) = problems(write(text="config:\n  a: 1\n  gpuyard:cluster:\n    - x\n"))
    assert str(problem) == (
        "stacks/Pulumi.aws-prod.yaml:3: gpuyard:cluster: should be a mapping of keys to values, not a list."
    )


def test_an_unknown_region_is_one_problem(write):
    path = write("\n    region: us-east-1", "\n    region: eu-wst-1")
    (problem,) = problems(path)
    assert str(problem).endswith("region: 'eu-wst-1' is no region of aws. Did you mean 'eu-west-1'?")
    assert problem.line == line(path, "region: eu-wst-1")


def paths(path: Path) -> list[tuple[str | int, ...]]:
    return [problem.path[1:] for problem in problems(path)]


OTHERS = [("file_system", "capacity_gib"), ("file_system", "throughput_mb_per_s"), ("snapshots", "every_hours")]
OTHERS_WRONG = PROD.replace("24000", "3600").replace("every_hours: 6", "every_hours: 5")


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("nodes: 4", "nodes: eight", ("node_pools", "train", "nodes")),
        ("        nodes: 4\n", "", ("node_pools", "train", "nodes")),
        ("      train:\n", "      Train:\n", ("node_pools", "Train")),
        ("    environment: prod\n", "", ("environment",)),
        ("environment: prod", "environment: production", ("environment",)),
        ("    cloud: aws\n", "", ("cloud",)),
        ("    cloud: aws\n", "    cloud: gcp\n", ("cloud",)),
        ("\n    region: us-east-1\n", "\n", ("region",)),
        ("\n    region: us-east-1\n", "\n    region: 3\n", ("region",)),
        ("    zone: us-east-1d\n", "    zone: 4\n", ("zone",)),
        ("    environment: prod\n", "    environment: prod\n    name: Bad\n", ("name",)),
        ("      keep_days: 30\n", "", ("checkpoints", "keep_days")),
        ("task: pretrain", "task: train", ("workload", "task")),
    ],
)
def test_a_wrong_or_missing_value_does_not_hide_the_problems_of_other_parts(old: str, new: str, wrong, write):
    found = paths(write(old, new, OTHERS_WRONG))
    assert sorted(map(str, found)) == sorted(map(str, [wrong, *OTHERS]))


def test_missing_pools_do_not_hide_the_problems_of_other_parts(write):
    start, end = OTHERS_WRONG.index("    node_pools:\n"), OTHERS_WRONG.index("    file_system:\n")
    found = paths(write(text=OTHERS_WRONG[:start] + OTHERS_WRONG[end:]))
    assert found == [("node_pools",), *OTHERS]
    found = paths(write(text=OTHERS_WRONG[:start] + "    node_pools: {}\n" + OTHERS_WRONG[end:]))
    assert found == [("node_pools",), *OTHERS]


def test_a_misspelled_key_is_one_problem(write):
    assert paths(write("\n    region:", "\n    regoin:")) == [("region",), ("regoin",)]
    assert paths(write("    zone: us-east-1d", "    zones: us-east-1d")) == [("zones",)]
    assert paths(write("file_system:", "file_sytem:")) == [("file_sytem",)]
    assert paths(write("gpu: A100-80GB", "gpuu: A100-80GB")) == [("node_pools", "train", "gpuu")]
    assert paths(write("purchase: on_demand", "purchase: reserved\n        reservatoin: {id: cr-1}")) == [
        ("node_pools", "train", "reservatoin")
    ]


def test_an_unknown_key_does_not_hide_the_other_problems_of_its_part(write):
    text = PROD.replace("data_disk_gib: 1000", "data_disk_gb: 1000").replace("A100-80GB", "A1000")
    assert paths(write(text=text)) == [("node_pools", "train", "gpu"), ("node_pools", "train", "data_disk_gb")]
    text = OTHERS_WRONG.replace("      capacity_gib", "      colour: red\n      capacity_gib")
    assert paths(write(text=text)) == [("file_system", "colour"), *OTHERS]


def test_without_any_region_only_the_missing_region_is_said(write):
    text = OTHERS_WRONG.replace("  aws:region: us-east-1\n", "")
    assert paths(write("\n    region: us-east-1\n", "\n", text)) == [("region",)]


def test_a_cluster_described_under_both_keys_is_refused(write):
    path = write(text=PROD + "  cluster:\n    cloud: aws\n")
    (problem,) = problems(path)
    assert str(problem) == (
        f"stacks/Pulumi.aws-prod.yaml:{len(PROD.splitlines()) + 1}: cluster: the cluster is described twice, here and "
        "under 'gpuyard:cluster'. Keep one of them: both are the same key."
    )


def test_a_stacks_name_that_is_no_name_is_refused_with_the_clusters_line(write):
    path = write()
    with pytest.raises(SpecError) as caught:
        check_stack_file(read_stack_file(path, "s.yaml"), "My_Stack")
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (("gpuyard:cluster", "name"), line(path, "gpuyard:cluster:"))
    assert "'My_Stack' cannot stand in front of every resource" in problem.message
