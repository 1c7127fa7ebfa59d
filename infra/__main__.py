"""The program behind ``pulumi up``: read the stack's cluster description, build it, export what others need."""

import pulumi

from gpuyard import TrainingCluster
from gpuyard.stack_config import read_cluster

cluster = TrainingCluster(pulumi.get_stack(), read_cluster())

for key, value in cluster.summary().items():
    pulumi.export(key, value)
