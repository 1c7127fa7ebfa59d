#!/bin/bash
# Tell the scaler that this node may go now: its checkpoint is written. Without it the scaler waits for the whole time
# of its lifecycle hook.
set -euo pipefail

export PYTHONPATH=${GPUYARD_PYTHON:-/opt/gpuyard/python}
exec python3 -m gpuyard.node release
