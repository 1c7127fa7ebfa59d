"""What the simulated providers' functions find, and that it has the form of the SDK's results."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, cast, get_args

import pytest

from gpuyard.sandbox.behaviour import cloud
from gpuyard.sandbox.functions import look_up
from gpuyard.sandbox.schema import sdk_module

FUNCTIONS = [token for package in ("alicloud", "tencentcloud") for token in cloud(package).functions]


def result_class(token: str) -> type:
    """The class of a function's result in the SDK: ``getImages`` of ``ecs`` is in the file of ``ecs.get_images``."""
    package, module, name = token.split(":")
    folder = module.split("/")[0].lower()
    home = import_module(sdk_module(package) if folder == "index" else f"{sdk_module(package)}.{folder}")
    function = getattr(home, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())
    return getattr(sys.modules[function.__module__], f"G{name[1:]}Result")


def missing_and_unknown(value: Any, of: type) -> Iterator[str]:
    """Names that a result of the SDK always has and the value lacks, and names that no result has, at any depth."""
    known = {
        getattr(found.fget, "_pulumi_name", name): found.fget.__annotations__["return"]
        for name, found in vars(of).items()
        if isinstance(found, property)
    }
    given = cast(Mapping[str, Any], value)
    yield from given.keys() - known.keys()
    yield from (name for name, kind in known.items() if type(None) not in get_args(kind) and name not in given)
    for name, kind in known.items():
        classes = re.findall(r"outputs\.(\w+)", str(kind))
        for item in given.get(name, []) if classes else []:
            yield from missing_and_unknown(item, getattr(sys.modules[of.__module__].outputs, classes[0]))


@pytest.mark.parametrize("token", FUNCTIONS)
def test_a_result_has_everything_that_the_sdks_has_and_nothing_else(token: str) -> None:
    of = result_class(token)
    asked = {"imageFamily": "f"} if token.endswith("getFromFamily") else {}
    asked |= {"product": "cvm"} if token.endswith("getZonesByProduct") else {}
    watched = {"module": "monitor", "monitorType": "MT_QCE", "namespace": "cvm_device"}
    asked |= watched if token.endswith("getAlarmMetric") else {}
    asked |= {"current": "true", "name": "x"} if token.endswith("alicloud:index/getRegions:getRegions") else {}
    found = look_up(token, asked, "cn-hangzhou", token.split(":")[0])
    assert list(missing_and_unknown(found, of)) == []


def test_an_image_parameter_gives_the_same_image_in_one_region_and_another_elsewhere() -> None:
    def image(region: str) -> str:
        found = look_up("aws:ssm/getParameter:getParameter", {"name": "/a/ami-id"}, region, "aws")
        assert found is not None
        return str(found["value"])

    assert re.fullmatch(r"ami-[0-9a-f]{17}", image("us-east-1"))
    assert image("us-east-1") == image("us-east-1") != image("us-west-2")


@pytest.mark.parametrize(
    ("token", "asked", "form"),
    [
        ("alicloud:ecs/getImages:getImages", {"nameRegex": "^ubuntu_22_04.*", "owners": "system"}, "m-bp1[0-9a-f]{17}"),
        (
            "tencentcloud:Images/getInstance:getInstance",
            {"imageNameRegex": r"^TencentOS Server 3\.1", "imageTypes": ["PUBLIC_IMAGE"]},
            "img-[0-9a-f]{8}",
        ),
    ],
)
def test_an_image_is_one_that_fits_what_was_asked_and_the_same_each_time(
    token: str, asked: dict[str, Any], form: str
) -> None:
    def image(region: str) -> dict[str, Any]:
        found = look_up(token, asked, region, token.split(":")[0])
        assert found is not None
        assert found.items() >= asked.items()
        return found["images"][0]

    pattern = asked.get("nameRegex") or asked["imageNameRegex"]
    first = image("region-1")
    assert re.fullmatch(form, first["imageId"])
    assert re.search(pattern, str(first.get("name") or first["imageName"]))
    assert first == image("region-1") != image("region-2")


def test_a_tencent_account_has_an_app_id_that_buckets_end_in() -> None:
    found = look_up("tencentcloud:User/getInfo:getInfo", {}, "ap-guangzhou", "tencentcloud")
    assert found is not None
    assert found["appId"] == "1250000000"


@pytest.mark.parametrize("token", ["aws:ec2/getVpc:getVpc", "alicloud:vpc/getNetworks:getNetworks"])
def test_what_is_not_simulated_is_none(token: str) -> None:
    assert look_up(token, {}, "us-east-1", token.split(":")[0]) is None
