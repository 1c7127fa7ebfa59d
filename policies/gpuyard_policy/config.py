"""What a person sets for the pack: profile, levels and thresholds of rules, the work, and suppressions.

The same settings come from a file (``gpuyard check --config``, ``pulumi preview --policy-pack-config``) and, for the
policy pack on the engine, from each policy's own configuration.
"""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Level = Literal["advisory", "mandatory", "disabled"]
Profile = Literal["dev", "staging", "prod"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RuleConfig(_Model):
    """Settings of one rule."""

    level: Level | None = None
    """What a finding does, in place of the profile's word."""
    thresholds: dict[str, float] = {}
    """Thresholds by name, as ``gpuyard rules RULE`` lists them."""


class Suppression(_Model):
    """Findings that are accepted: of one rule, on one resource or on those of one name pattern."""

    rule: Annotated[str, Field(min_length=1)]
    """Id of the rule."""
    resource: Annotated[str, Field(min_length=1)]
    """URN or logical name of the resource; ``*`` stands for any part, but not for the whole."""
    reason: Annotated[str, Field(min_length=10)]
    """Why the finding is accepted, for those who read it later."""
    expires: date | None = None
    """Day from which the finding counts again."""
    stack: str | None = None
    """Name of the stack that it is for; ``*`` stands for any part. Every stack when left out."""


class PackConfig(_Model):
    """Everything that can be set."""

    profile: Profile | None = None
    """Kind of environment that decides the levels; that of the tag ``gpuyard:environment`` when left out, else prod."""
    task: Literal["pretrain", "full_finetune", "lora", "rl", "vision", "inference"] | None = None
    """Work of pools that neither a component nor a tag tells."""
    model_parameters: Annotated[float, Field(gt=0)] | None = None
    """Size of the model where neither a component nor a tag tells."""
    task_tag: str = "gpuyard:task"
    """Key of the tag that names a pool's work."""
    model_parameters_tag: str = "gpuyard:model-parameters"
    """Key of the tag that names the size of its model."""
    environment_tag: str = "gpuyard:environment"
    """Key of the tag that names the kind of environment."""
    required_tags: list[str] = ["gpuyard:cluster", "gpuyard:environment"]
    """Keys that every resource that takes tags must have."""
    monthly_budget: Annotated[float, Field(gt=0)] | None = None
    """What the stack may cost a month, where no budget is part of it."""
    budget_currency: Literal["USD", "CNY"] = "USD"
    """Currency of that."""
    undecided_fails: bool | None = None
    """Whether a mandatory rule that stays undecided counts as a finding at ``up``; on in ``prod`` when left out."""
    rules: dict[str, RuleConfig] = {}
    """Settings of rules by id."""
    suppressions: list[Suppression] = []
    """Accepted findings."""


def parse_config(data: Any) -> PackConfig:
    """Settings from plain data.

    Args:
        data: Mappings, lists and scalars as YAML or JSON gives them.

    Returns:
        The checked settings.

    Raises:
        SpecError: With every problem of the data.
    """
    # The pack's own models are parsed by the spec's parser, whose problems name the nearest right key.
    from gpuyard.spec.parse import parse_spec

    return parse_spec(PackConfig, data)
