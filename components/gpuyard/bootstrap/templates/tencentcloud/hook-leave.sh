#!/bin/bash
# Run by the scaler on a node that it takes away: its jobs write a checkpoint. The node may be leaving already, which the
# second to ask is told at once: the scaler has to wait for the first.
set -euo pipefail

export PYTHONPATH=${GPUYARD_PYTHON:-/opt/gpuyard/python}
python3 -m gpuyard.node leave --reason scale_in --seconds "$GPUYARD_SECONDS"
until grep -Eq '^ "state": "(done|failed)"' "${GPUYARD_RUN:-/run/gpuyard}/left.json"; do
  sleep "${GPUYARD_PAUSE:-1}"
done
