"""The program behind ``pulumi up``: read the stack's cluster description, build it, export what others need."""

import pulumi

from gpuyard import SpecError, TrainingCluster
from gpuyard.stack_config import read_cluster

try:
    cluster = TrainingCluster(pulumi.get_stack(), read_cluster())
except SpecError as error:
    raise pulumi.RunError(str(error)) from None

for key, value in cluster.summary().items():
    pulumi.export(key, value)
