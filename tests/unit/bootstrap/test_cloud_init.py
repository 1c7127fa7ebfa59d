"""cloud-init takes what the largest and the least node of each cloud are told, by its own schema."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from gpuyard.bootstrap import alicloud, aws, tencentcloud
from gpuyard.bootstrap.files import NodeFile
from gpuyard.bootstrap.user_data import cloud_config

from . import test_alicloud_user_data as alicloud_nodes
from . import test_aws_user_data as aws_nodes
from . import test_tencentcloud_user_data as tencentcloud_nodes

SCHEMA = Path(__file__).parents[2] / "data" / "cloud-init" / "schema-cloud-config-v1.json"
VALIDATOR = Draft4Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
NODES: dict[str, Mapping[str, NodeFile]] = {
    "aws largest": aws.node_files(aws_nodes.EVERYTHING),
    "aws least": aws.node_files(aws_nodes.LEAST),
    "alicloud largest": alicloud.node_files(alicloud_nodes.FULL),
    "alicloud least": alicloud.node_files(alicloud_nodes.LEAST),
    "tencentcloud largest": tencentcloud.node_files(tencentcloud_nodes.EVERYTHING),
    "tencentcloud least": tencentcloud.node_files(tencentcloud_nodes.LEAST),
}


def problems(config: Any) -> list[str]:
    return [error.json_path for error in VALIDATOR.iter_errors(config)]


@pytest.mark.parametrize("node", NODES)
def test_a_nodes_configuration_is_valid(node: str) -> None:
    header, text = cloud_config(NODES[node]).split("\n", 1)
    assert header == "#cloud-config"
    assert problems(json.loads(text)) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("runcmd", ["x", 3]),
        ("write_files", [{"content": "no path"}]),
        ("write_files", [{"path": "/x", "permission": "0644"}]),
        ("write_files", [{"path": "/x", "encoding": "base-64"}]),
    ],
)
def test_the_schema_finds_what_is_wrong(key: str, value: Any) -> None:
    config = json.loads(cloud_config(NODES["aws least"]).split("\n", 1)[1])
    assert problems({**config, key: value}) != []


@pytest.mark.skipif(shutil.which("cloud-init") is None, reason="cloud-init is not on this machine")
@pytest.mark.parametrize("node", NODES)
def test_cloud_init_itself_takes_it(node: str, tmp_path: Path) -> None:
    file = tmp_path / "user-data"
    file.write_text(cloud_config(NODES[node]), encoding="utf-8")
    done = subprocess.run(["cloud-init", "schema", "--config-file", str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
