import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuyard.catalog import gpus
from gpuyard.catalog.software import (
    PyTorchBuild,
    builds_of,
    check_build,
    cuda_releases,
    image_contents,
    is_version,
    pytorch_builds,
    pytorch_releases,
    version_key,
)


def build(release: str, cuda: str) -> PyTorchBuild:
    return next(each for each in builds_of(release) if each.cuda == cuda)


def test_pytorch_2_3_needs_what_its_release_matrix_says() -> None:
    assert [(each.cuda, each.cudnn, each.on_pypi) for each in builds_of("2.3")] == [
        ("11.8", "8.7.0.84", False),
        ("12.1", "8.9.2.26", True),
    ]
    answer = check_build(build("2.3", "12.1"))
    assert (answer.driver_minimum, answer.driver_full) == ("525.60.13", "530.30.02")


def test_a_patch_release_is_one_of_its_minor_release() -> None:
    assert builds_of("2.3.1") == builds_of("2.3")
    assert builds_of("9.9") == ()
    assert pytorch_releases()[-1] == "1.13"


@pytest.mark.parametrize(
    ("driver", "runs", "reason"),
    [
        ("550.54.14", True, "driver 550.54.14 is new enough for all of CUDA 12.4."),
        ("550.54.13", True, "under minor version compatibility; all of CUDA 12.4 needs 550.54.14."),
        ("525.60.13", True, "under minor version compatibility"),
        ("525.60.12", False, "driver 525.60.12 is too old: CUDA 12.4 needs 525.60.13 or newer."),
        ("470", False, "driver 470 is too old"),
        (None, None, "the driver is unknown; CUDA 12.4 needs 525.60.13 or newer."),
    ],
)
def test_the_driver_decides_whether_a_build_runs(driver: str | None, runs: bool | None, reason: str) -> None:
    answer = check_build(build("2.6", "12.4"), driver=driver)
    assert answer.runs is runs
    assert reason in answer.reasons[0]


@pytest.mark.parametrize(
    ("toolkits", "there", "reason"),
    [
        (None, None, "installed CUDA toolkits are unknown"),
        (["12.4.1"], True, "CUDA toolkit 12.4 is there to compile extensions."),
        (["12.2", "13.0"], True, "CUDA toolkit 12.4 is not there (12.2, 13.0); another 12.x compiles"),
        (["13.0"], False, "no CUDA 12.x toolkit is there (13.0): the build runs, extensions cannot be compiled."),
        ([], False, "no CUDA 12.x toolkit is there (none)"),
    ],
)
def test_the_toolkit_decides_whether_extensions_compile(
    toolkits: list[str] | None, there: bool | None, reason: str
) -> None:
    answer = check_build(build("2.6", "12.4"), cuda=toolkits)
    assert answer.toolkit is there
    assert reason in answer.reasons[1]


@pytest.mark.parametrize(
    ("release", "cuda", "gpu", "supported", "reason"),
    [
        ("2.13", "12.6", "V100-SXM2-16GB", True, "compute capability 7.0"),
        ("2.13", "13.0", "V100-SXM2-16GB", False, "CUDA 13.0 no longer builds for V100-SXM2-16GB"),
        ("2.7", "12.8", "V100-SXM2-16GB", False, "the build has no code for V100-SXM2-16GB"),
        ("2.7", "12.8", "L40S", True, "compute capability 8.9"),
        ("2.6", "12.4", "B200-SXM-180GB", False, "needs CUDA 12.8 or newer, the build has 12.4"),
        ("2.3", "12.1", "A100-SXM4-80GB", None, "whether the build has code for it is not stated"),
        ("2.13", "13.0", "MI300X", False, "MI300X is a GPU of AMD: CUDA builds do not run on it."),
        ("2.13", "13.0", "Ascend-910B3", False, "a GPU of Huawei"),
    ],
)
def test_the_gpu_decides_which_builds_know_it(
    release: str, cuda: str, gpu: str, supported: bool | None, reason: str
) -> None:
    answer = check_build(build(release, cuda), gpu=gpus()[gpu])
    assert answer.gpu_supported is supported
    assert reason in answer.reasons[2]


def test_an_image_with_unknown_contents_is_said_to_be_unknown() -> None:
    image = image_contents()["dlami-ubuntu-22.04"]
    assert (image.driver, image.cuda, image.cudnn) == (None, None, None)
    answer = check_build(build("2.3", "12.1"), driver=image.driver, cuda=image.cuda)
    assert (answer.runs, answer.toolkit) == (None, None)


def test_an_image_with_known_contents_answers() -> None:
    image = image_contents()["dlami-single-cuda-ubuntu-22.04"]
    answer = check_build(build("2.12", "13.0"), driver=image.driver, cuda=image.cuda)
    assert (answer.runs, answer.toolkit) == (True, True)


@given(st.sampled_from(pytorch_builds()), st.tuples(*[st.integers(300, 700), st.integers(0, 200), st.integers(0, 99)]))
def test_a_newer_driver_never_takes_away_what_ran(each: PyTorchBuild, version: tuple[int, int, int]) -> None:
    older = ".".join(map(str, version))
    newer = f"{version[0] + 1}.0"
    if check_build(each, driver=older).runs:
        assert check_build(each, driver=newer).runs


def test_newer_cuda_never_needs_an_older_driver() -> None:
    releases = sorted(cuda_releases().values(), key=lambda release: version_key(release.cuda))
    full = [version_key(release.driver_linux) for release in releases]
    least = [version_key(release.driver_linux_minimum) for release in releases]
    assert full == sorted(full)
    assert least == sorted(least)
    assert all(low <= high for low, high in zip(least, full, strict=True))


@pytest.mark.parametrize(
    ("text", "right"),
    [("12", True), ("550.54.14", True), ("v12", False), ("12.", False), ("", False), ("12.4a", False)],
)
def test_versions_are_numbers_with_dots(text: str, right: bool) -> None:
    assert is_version(text) is right
