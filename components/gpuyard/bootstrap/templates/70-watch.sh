#!/bin/bash
# The folder of checkpoints, for whoever runs jobs here, and the watcher that has the last one written before this
# machine goes.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

if [ -n "${GPUYARD_CHECKPOINT_DIR:-}" ] && [ ! -d "$GPUYARD_CHECKPOINT_DIR" ]; then
  mkdir -m 1777 "$GPUYARD_CHECKPOINT_DIR"
fi
systemctl enable --now gpuyard-watcher.service
