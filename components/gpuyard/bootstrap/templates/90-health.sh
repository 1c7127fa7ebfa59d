#!/bin/bash
# The last word: this node has what it was bought for, or it is not ready. A scaling group that waits is told either.
set -euo pipefail

export PYTHONPATH=${GPUYARD_PYTHON:-/opt/gpuyard/python}
exec python3 -m gpuyard.node health
