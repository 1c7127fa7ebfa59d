"""Every resource of the SDKs has a schema, read off its own classes."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpuyard.sandbox.schema import resource_schema, sdk_module

# Modules of an SDK that Python itself cannot read (tencentcloud-iac-pulumi 0.2.3, dlc/outputs.py: a parameter twice).
UNREADABLE = {"alicloud": (), "tencentcloud": ("Dlc",)}
WALK = """
    import json, re, sys, warnings
    from pathlib import Path
    warnings.simplefilter("ignore")
    from gpuyard.sandbox.schema import resource_schema
    found, missing, empty = 0, [], []
    for file in Path(sys.argv[1]).rglob("*.py"):
        for token in re.findall(r'@pulumi.type_token\\("(\\w+:[^:"]+:[^"]+)"\\)', file.read_text()):
            if token.startswith("pulumi:"):
                continue
            found += 1
            try:
                schema = resource_schema(token)
            except SyntaxError:
                missing.append(token)
                continue
            if schema is None:
                missing.append(token)
            elif not schema.output_names > {"id", "urn"} and schema.inputs.properties:
                empty.append(token)
    print(json.dumps([found, missing, empty]))
"""


@pytest.mark.parametrize(("package", "least"), [("alicloud", 1200), ("tencentcloud", 1100)])
def test_every_resource_of_the_sdk_resolves_to_its_own_class(package: str, least: int) -> None:
    spec = find_spec(sdk_module(package))
    assert spec is not None
    assert spec.origin is not None
    # In an interpreter of its own: it loads everything that the SDK has.
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WALK), str(Path(spec.origin).parent)],
        capture_output=True,
        text=True,
        check=True,
    )
    found, missing, empty = json.loads(done.stdout)
    assert found > least
    assert {token.split(":")[1].split("/")[0] for token in missing} == set(UNREADABLE[package])
    assert empty == []


@pytest.mark.parametrize(
    ("token", "path", "kind", "required"),
    [
        ("alicloud:nas/fileSystem:FileSystem", "storageType", "string", True),
        ("alicloud:nas/fileSystem:FileSystem", "capacity", "integer", False),
        ("alicloud:nas/fileSystem:FileSystem", "tags", "map", False),
        ("alicloud:ess/scalingGroup:ScalingGroup", "vswitchIds", "list", False),
        ("tencentcloud:Subnet/instance:Instance", "vpcId", "string", True),
        ("tencentcloud:As/scalingGroup:ScalingGroup", "maxSize", "integer", True),
        ("tencentcloud:Instance/instance:Instance", "dataDisks", "list", False),
        ("tencentcloud:Security/groupRuleSet:GroupRuleSet", "ingresses", "list", False),
    ],
)
def test_types_and_what_must_be_given_are_the_sdks(token: str, path: str, kind: str, required: bool) -> None:
    schema = resource_schema(token)
    assert schema is not None
    known = schema.inputs.properties[path]
    assert (known.type.kind, known.required) == (kind, required)


def test_a_type_of_the_folder_of_the_sdks_settings_is_found() -> None:
    schema = resource_schema("alicloud:config/reportTemplate:ReportTemplate")
    assert schema is not None
    assert "reportTemplateName" in schema.inputs.properties


@pytest.mark.parametrize(
    "token",
    ["alicloud:vpc/noSuch:NoSuch", "tencentcloud:Vpc/instance:NoSuch", "tencentcloud:NoSuch/instance:Instance"],
)
def test_a_type_that_the_sdk_has_not_is_none(token: str) -> None:
    assert resource_schema(token) is None
