"""The policy pack as Pulumi runs it: ``pulumi preview --policy-pack policies``."""

from pathlib import Path

from pulumi_policy import EnforcementLevel, PolicyPack

from gpuyard_policy.pack import policies
from gpuyard_policy.settings_file import project_settings

PolicyPack(
    name="gpuyard", policies=policies(project_settings(Path.cwd())), enforcement_level=EnforcementLevel.MANDATORY
)
