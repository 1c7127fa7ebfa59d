import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog import InstanceType, instance_types
from gpuyard.catalog.selection import Wanted, find_type, known_clouds, select_types
from gpuyard.spec.problems import SpecError

FLAG = st.sampled_from([True, False, None])


def names(wanted: Wanted) -> list[str]:
    return [row.instance_type for row in select_types(wanted).rows]


def test_the_filters_of_the_issue_find_the_one_type_that_fits() -> None:
    wanted = Wanted(clouds=("alicloud",), gpu="A100", nvlink=True, rdma=True, min_vram_gib=40, region="cn-beijing")
    assert names(wanted) == ["ecs.ebmgn7ex.32xlarge"]


def test_each_filter_keeps_what_is_known_to_match() -> None:
    assert {row.cloud for row in select_types(Wanted(clouds=("tencentcloud",))).rows} == {"tencentcloud"}
    assert all(row.bare_metal for row in select_types(Wanted(bare_metal=True)).rows)
    assert all(row.spot for row in select_types(Wanted(spot=True)).rows)
    assert all(row.spot is False for row in select_types(Wanted(spot=False)).rows)
    assert all((row.gpu_memory_gib or 0) >= 80 for row in select_types(Wanted(min_vram_gib=80)).rows)
    assert all(row.has_nvlink is False for row in select_types(Wanted(nvlink=False)).rows)
    assert names(Wanted(gpu="L4", region="us-east-1", min_vram_gib=24))[0].startswith("g6")


def test_a_slice_of_a_gpu_counts_with_its_own_memory() -> None:
    assert "GN7.LARGE20" in names(Wanted(gpu="T4"))
    assert "GN7.LARGE20" not in names(Wanted(gpu="T4", min_vram_gib=16))


def test_what_cannot_be_told_is_counted_with_the_fact_that_is_unknown() -> None:
    selection = select_types(Wanted(clouds=("tencentcloud",), gpu="H20", rdma=True, nvlink=True))
    assert selection.rows == ()
    # HCCPNV6 (link unknown), HCCPNV6s (link and RDMA unknown), HCCPNV4s (an A100 or not, link and RDMA unknown).
    assert selection.left_out == 3
    assert selection.unknown == {"link between GPUs": 3, "RDMA": 2, "GPU": 1}


def test_a_gpu_without_a_name_is_told_apart_by_its_memory() -> None:
    # The unnamed cards of gn9gc have 72 GB, so they are no A100; those of ebmgn7vx have 80 and may be.
    selection = select_types(Wanted(clouds=("alicloud",), gpu="A100", bare_metal=True))
    assert selection.unknown["GPU"] == 3
    unnamed = [row for row in instance_types("alicloud").values() if row.gpu_model is None and row.bare_metal]
    assert {row.family for row in unnamed if row.gpu_memory_gib in (None, 80)} == {"ebmgn7vx", "ebmgn8te", "ebmgn9t"}


@given(nvlink=FLAG, rdma=FLAG, bare_metal=FLAG, spot=FLAG, vram=st.sampled_from([None, 16.0, 40.0, 96.0]))
def test_every_type_matches_or_is_counted_or_is_known_not_to_match(
    nvlink: bool | None, rdma: bool | None, bare_metal: bool | None, spot: bool | None, vram: float | None
) -> None:
    wanted = Wanted(nvlink=nvlink, rdma=rdma, bare_metal=bare_metal, spot=spot, min_vram_gib=vram)
    selection = select_types(wanted)
    every = [row for cloud in known_clouds(()) for row in instance_types(cloud).values()]

    def speaks_against(row: InstanceType) -> bool:
        facts = [
            (row.has_nvlink, nvlink),
            (row.has_rdma, rdma),
            (row.bare_metal, bare_metal),
            (row.spot, spot),
        ]
        memory = row.gpu_memory_gib
        too_small = vram is not None and memory is not None and memory < vram
        return too_small or any(None not in (fact, asked) and fact is not asked for fact, asked in facts)

    refused = sum(speaks_against(row) for row in every)
    assert len(selection.rows) + selection.left_out + refused == len(every)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted(clouds=("alcloud",)), "--cloud: 'alcloud' is no cloud of the catalog. Did you mean 'alicloud'?"),
        (Wanted(gpu="A1000"), "--gpu: the catalog knows no GPU 'A1000'. Did you mean 'A100'?"),
        (Wanted(gpu="ZZ"), "--gpu: the catalog knows no GPU 'ZZ'. Known: V100, T4, "),
        (Wanted(min_vram_gib=0), "--min-vram: 0 GiB makes no sense. Give GiB of one GPU, more than 0; the largest"),
        (Wanted(min_vram_gib=-4), "--min-vram: -4 GiB makes no sense."),
        (Wanted(min_vram_gib=1e12), "--min-vram: 1e+12 GiB makes no sense."),
        (Wanted(min_vram_gib=float("nan")), "--min-vram: nan GiB makes no sense."),
        (
            Wanted(clouds=("aws",), region="cn-beijing"),
            "--region: 'cn-beijing' is no region of aws. It is a region of alicloud.",
        ),
        (
            Wanted(region="us-east-9"),
            "--region: 'us-east-9' is no region of aws, alicloud or tencentcloud. Did you mean 'us-east-2'?",
        ),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_allowed(wanted: Wanted, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        select_types(wanted)
    assert len(refused.value.problems) == 1
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_all_bad_input_is_told_together() -> None:
    with pytest.raises(SpecError) as refused:
        select_types(Wanted(clouds=("ibm",), gpu="K80", min_vram_gib=-1, region="moon"))
    assert [problem.path for problem in refused.value.problems] == [
        ("--cloud",),
        ("--gpu",),
        ("--min-vram",),
    ]


def test_a_type_is_found_in_any_cloud_and_in_any_case() -> None:
    assert find_type("P5.48XLARGE").cloud == "aws"
    assert find_type("gt4.41xlarge948").cloud == "tencentcloud"


def test_an_unknown_type_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SpecError) as refused:
        find_type("p5.48xlarg")
    assert "knows no instance type 'p5.48xlarg'. Did you mean 'p5.48xlarge'?" in str(refused.value)
