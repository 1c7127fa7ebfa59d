"""What every model of the spec is."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Cloud = Literal["aws", "alicloud", "tencentcloud"]
Environment = Literal["dev", "staging", "prod"]
Task = Literal["pretrain", "full_finetune", "lora", "rl", "vision", "inference"]


class Model(BaseModel):
    """Strict and frozen: unknown keys are errors, and nothing is coerced but what ``values`` opens on purpose."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)
