"""What Pulumi reads before it starts the plugin leads to gpuyard, from a checkout and from a clone that Pulumi made."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

REPOSITORY = Path(__file__).parents[3]
COMPONENTS = REPOSITORY / "components"


def test_the_plugin_runs_in_the_repositorys_environment():
    plugin = YAML(typ="safe").load((COMPONENTS / "PulumiPlugin.yaml").read_text())
    assert plugin == {"runtime": {"name": "python", "options": {"toolchain": "pip", "virtualenv": "../.venv"}}}


def test_what_pulumi_installs_for_it_is_this_distribution_with_every_cloud():
    (line,) = [one for one in (COMPONENTS / "requirements.txt").read_text().splitlines() if not one.startswith("#")]
    assert line == "-e ..[all]", "pip reads it in the plugin's folder"
    assert "all" in tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_started_by_hand_it_asks_for_the_engine():
    done = subprocess.run([sys.executable, str(COMPONENTS)], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "the following arguments are required: engine" in done.stderr
