"""Facts: what resources mean, whatever cloud they are of."""

from gpuyard_policy.facts.collect import collect_facts
from gpuyard_policy.facts.model import Facts, NodePoolFact, Record, StorageFact, Unknown

__all__ = ["Facts", "NodePoolFact", "Record", "StorageFact", "Unknown", "collect_facts"]
