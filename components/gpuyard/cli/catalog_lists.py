"""What ``gpuyard catalog storage`` and ``gpuyard catalog stack`` show."""

from collections.abc import Sequence
from typing import Any

from gpuyard.catalog.disks import BlockDisk, DiskPerformance, block_disks
from gpuyard.catalog.file_stores import object_storage_classes, parallel_file_systems
from gpuyard.catalog.gpus import Gpu
from gpuyard.catalog.selection import find_gpus, known_clouds
from gpuyard.catalog.software import (
    ImageContents,
    StackAnswer,
    builds_of,
    check_build,
    cuda_releases,
    image_contents,
    is_version,
    pytorch_builds,
    pytorch_releases,
)
from gpuyard.cli.catalog_output import Format, plain, print_csv, print_facts, print_json, print_table, say, shown
from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of

_VERDICTS = {True: "yes", False: "no", None: "unknown"}


def list_storage(clouds: Sequence[str], size_gib: int, capacity_gib: int, output: Format) -> None:
    """Block disks at a size, parallel file systems at a capacity, and object storage."""
    chosen = known_clouds(clouds)
    problems = [
        Problem((option,), f"{value} GiB makes no sense.", "Give a size of 1 GiB or more.")
        for option, value in (("--size", size_gib), ("--capacity", capacity_gib))
        if value < 1
    ]
    if problems:
        raise SpecError(problems)
    rows = [row for cloud in chosen for row in _storage_rows(cloud, size_gib, capacity_gib)]
    if output == "json":
        print_json(rows)
    elif output == "csv":
        print_csv(rows, list(rows[0]))
    else:
        _storage_tables(rows, size_gib, capacity_gib)


def show_stack(
    release: str | None, image: str | None, driver: str | None, cuda: tuple[str, ...], gpu: str | None, output: Format
) -> None:
    """What a PyTorch release needs, and whether it is there; the whole table without a release."""
    _check_stack_question(release, image, driver, cuda, gpu)
    if release is None:
        _whole_table(output)
        return
    contents = None if image is None else image_contents()[image]
    models: Sequence[Gpu | None] = (None,) if gpu is None else _one_of_each_kind(find_gpus(gpu))
    toolkits = cuda or None
    if contents is not None:
        driver, toolkits = contents.driver, contents.cuda
    answers = [
        check_build(build, driver=driver, cuda=toolkits, gpu=model) for model in models for build in builds_of(release)
    ]
    if output == "json":
        image_data = None if contents is None else plain(contents)
        print_json({"image": image_data, "answers": [{**plain(each), "build": plain(each.build)} for each in answers]})
    elif output == "csv":
        rows = [_answer_row(each) for each in answers]
        print_csv(rows, list(rows[0]))
    else:
        _show_answers(release, contents, answers)


def _one_of_each_kind(models: Sequence[Gpu]) -> list[Gpu]:
    """Models that differ in what software must know of them; V100 with 16 and with 32 GB are the same here."""
    kinds = {(gpu.vendor, gpu.compute_capability, gpu.min_cuda, gpu.max_cuda): gpu for gpu in reversed(models)}
    return list(reversed(kinds.values()))


def _storage_rows(cloud: str, size_gib: int, capacity_gib: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for disk in block_disks(cloud).values():
        speed, sizes = _speed(disk, size_gib)
        rows.append(
            _row(cloud, "block disk", disk, sizes, size_gib)
            | {
                "iops": speed.iops,
                "iops_max": speed.iops_max,
                "iops_max_of_level": disk.iops.max if disk.total_iops is None else disk.total_iops.max,
                "mb_per_s": _rounded(speed.throughput_mb_per_s),
                "mb_per_s_max": _rounded(speed.throughput_max_mb_per_s),
            }
        )
    for kind in parallel_file_systems(cloud).values():
        fits = kind.takes_capacity(capacity_gib)
        rate = None if fits is False else _rounded(kind.throughput_mb_per_s(capacity_gib))
        sizes = "see its note"
        if kind.capacity_step_gib is not None:
            sizes = f"from {shown(kind.capacity_min_gib)}, steps of {kind.capacity_step_gib} GiB"
        sizes += f"; not {capacity_gib}" if fits is False else ""
        rows.append(_row(cloud, "parallel file system", kind, sizes, capacity_gib) | {"mb_per_s": rate})
    rows.extend(
        _row(cloud, "object storage", tier, _least_billed(tier.min_storage_days), None)
        for tier in object_storage_classes(cloud).values()
    )
    return rows


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _least_billed(days: int | None) -> str:
    if days is None:
        return "least time billed unknown"
    return f"billed for {days} days at least" if days else "no least time"


def _row(cloud: str, kind: str, source: Any, sizes: str, size_gib: int | None) -> dict[str, Any]:
    return {
        "cloud": cloud,
        "kind": kind,
        "name": source.name,
        "sizes": sizes,
        "size_gib": size_gib,
        "iops": None,
        "iops_max": None,
        "iops_max_of_level": None,
        "mb_per_s": None,
        "mb_per_s_max": None,
        "note": source.note,
        "source": source.source,
        "as_of": source.as_of,
    }


def _speed(disk: BlockDisk, size_gib: int) -> tuple[DiskPerformance, str]:
    low, high = shown(disk.size_min_gib), shown(disk.size_max_gib)
    sizes = f"{low} to {high} GiB"
    try:
        return disk.performance(size_gib), sizes
    except ValueError:
        return DiskPerformance(None, None, None, None), f"{sizes}; not {size_gib}"


def _storage_tables(rows: Sequence[dict[str, Any]], size_gib: int, capacity_gib: int) -> None:
    def cells(kind: str, *names: str) -> list[list[Any]]:
        return [[row[name] for name in names] for row in rows if row["kind"] == kind]

    disks = cells("block disk", "cloud", "name", "sizes", "iops", "iops_max", "mb_per_s", "mb_per_s_max")
    caps = [row["iops_max_of_level"] for row in rows if row["kind"] == "block disk"]
    for disk, cap in zip(disks, caps, strict=True):
        disk[4] = f"≤ {shown(cap)}" if disk[4] is None and cap is not None else disk[4]
    print_table(
        ["cloud", "disk", "sizes", "IOPS", "max IOPS", "MB/s", "max MB/s"],
        disks,
        title=f"Block disks of {size_gib} GiB",
        right=("IOPS", "max IOPS", "MB/s", "max MB/s"),
        whole=2,
    )
    say("max: by buying more; ≤ the level's maximum at any size. ? unknown. The server's own disk limits also bind.")
    print_table(
        ["cloud", "file system", "capacities", "MB/s at most"],
        cells("parallel file system", "cloud", "name", "sizes", "mb_per_s"),
        title=f"Parallel file systems of {capacity_gib} GiB",
        whole=2,
        right=("MB/s at most",),
    )
    print_table(
        ["cloud", "class", "billing"], cells("object storage", "cloud", "name", "sizes"), title="Object storage"
    )
    say("Notes and sources: --format json.")


def _check_stack_question(
    release: str | None, image: str | None, driver: str | None, cuda: tuple[str, ...], gpu: str | None
) -> None:
    problems: list[Problem] = []
    if release is None and (image or driver or cuda or gpu):
        problems.append(Problem(("--pytorch",), "is missing.", f"Give one of {one_of(pytorch_releases())}."))
    if release is not None and not builds_of(release):
        known = pytorch_releases()
        hint = did_you_mean(release, known) if not is_version(release) else ""
        problems.append(
            Problem(("--pytorch",), f"the table has no PyTorch {release}.", hint or f"It has {one_of(known)}.")
        )
    if image is not None and image not in image_contents():
        known_images = image_contents()
        hint = did_you_mean(image, known_images) or f"Known: {one_of(known_images)}."
        problems.append(Problem(("--image",), f"the catalog knows no image '{image}'.", hint))
    if image is not None and (driver or cuda):
        problems.append(
            Problem(("--image",), "says what is installed, and so do --driver and --cuda.", "Give one or the other.")
        )
    for option, version in (("--driver", driver), *(("--cuda", version) for version in cuda)):
        if version is not None and not is_version(version):
            problems.append(Problem((option,), f"'{version}' is no version.", "Write it like 550.54.14 or 12.4."))
    if problems:
        raise SpecError(problems)


def _whole_table(output: Format) -> None:
    if output == "json":
        data = {
            "pytorch": [plain(build) for build in pytorch_builds()],
            "cuda": [plain(release) for release in cuda_releases().values()],
            "images": [plain(contents) for contents in image_contents().values()],
        }
        print_json(data)
        return
    rows = [_answer_row(check_build(build)) for build in pytorch_builds()]
    if output == "csv":
        print_csv(rows, list(rows[0]))
        return
    names = ("pytorch", "cuda", "cudnn", "nccl", "driver_minimum", "driver_full", "on_pypi", "stability")
    head = ["PyTorch", "CUDA", "cuDNN", "NCCL", "driver from", "driver full", "PyPI", "state"]
    print_table(head, [[row[name] for name in names] for row in rows])
    say(
        "A build brings CUDA, cuDNN and NCCL with it and needs the driver. 'driver from': it runs, under minor version "
        "compatibility. 'driver full': all of its CUDA works. ? is not stated."
    )


def _answer_row(answer: StackAnswer) -> dict[str, Any]:
    build = answer.build
    return {
        "pytorch": build.pytorch,
        "cuda": build.cuda,
        "cudnn": build.cudnn,
        "nccl": build.nccl,
        "on_pypi": build.on_pypi,
        "stability": build.stability,
        "python": build.python,
        "driver_minimum": answer.driver_minimum,
        "driver_full": answer.driver_full,
        "runs": answer.runs,
        "toolkit": answer.toolkit,
        "gpu_supported": answer.gpu_supported,
        "reasons": "; ".join(answer.reasons),
        "source": build.source,
    }


def _show_answers(release: str, contents: ImageContents | None, answers: Sequence[StackAnswer]) -> None:
    if contents is not None:
        brings = f"driver {shown(contents.driver)}, CUDA {shown(contents.cuda)}, cuDNN {shown(contents.cudnn)}"
        say(f"Image {contents.name}: {contents.title} ({contents.cloud}): {brings}. {contents.note or ''}".rstrip())
        say(f"Source: {contents.source} ({contents.as_of})")
    for answer in answers:
        build = answer.build
        pypi = ", the one on PyPI" if build.on_pypi else ""
        facts = [
            ("brings", f"CUDA {build.cuda}, cuDNN {shown(build.cudnn)}, NCCL {shown(build.nccl)}"),
            (
                "driver on Linux",
                f"{shown(answer.driver_minimum)} or newer; {shown(answer.driver_full)} for all of CUDA {build.cuda}",
            ),
            ("Python", build.python),
            ("runs", f"{_VERDICTS[answer.runs]}: {answer.reasons[0]}"),
            ("compiles extensions", f"{_VERDICTS[answer.toolkit]}: {answer.reasons[1]}"),
        ]
        if len(answer.reasons) > 2:
            facts.append(("knows the GPU", f"{_VERDICTS[answer.gpu_supported]}: {answer.reasons[2]}"))
        if build.note is not None:
            facts.append(("note", build.note))
        facts.append(("source", f"{build.source} ({build.as_of})"))
        print_facts(f"PyTorch {release} for CUDA {build.cuda} ({build.stability}{pypi})", facts)
