"""Where the resources of a stack come from: its program, a preview of the engine, or its stored state."""

from gpuyard_policy.sources.model import Place, Source

__all__ = ["Place", "Source"]
