"""Plans of file systems that must be right, and the problems of those that must be wrong."""

from typing import Any

from gpuyard.planning.file_systems import plan_file_system
from gpuyard.planning.plans import FileSystemPlan, Place
from gpuyard.spec import FileSystemSpec, parse_spec

PLACE = Place("alicloud", "cn-beijing", "dev", zone="cn-beijing-l")
NAS = {"alicloud": {"kind": "nas_extreme"}}
PATH = ("file_system",)


def right(place: Place = PLACE, *, linked: bool = False, gpus: int | None = None, **values: Any) -> FileSystemPlan:
    found, problems = plan_file_system(parse_spec(FileSystemSpec, values), place, PATH, linked=linked, gpus=gpus)
    assert problems == []
    assert found is not None
    return found


def wrong(place: Place = PLACE, *, linked: bool = False, **values: Any) -> list[str]:
    found, problems = plan_file_system(parse_spec(FileSystemSpec, values), place, PATH, linked=linked)
    assert found is None
    assert problems
    return [str(problem).removeprefix("file_system.") for problem in problems]
