"""The policy pack as Pulumi runs it: ``pulumi preview --policy-pack policies``."""

from pulumi_policy import EnforcementLevel, PolicyPack

from gpuyard_policy.pack import policies

PolicyPack(name="gpuyard", policies=policies(), enforcement_level=EnforcementLevel.MANDATORY)
