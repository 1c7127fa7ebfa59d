#!/bin/bash
# Run by the scaler on a new node: whether it may be used. Its set-up ends with the health gate, and /run is empty when a
# machine boots.
set -euo pipefail

state=${GPUYARD_STATE:-/run/gpuyard/setup.json}
while [ "$SECONDS" -lt "$GPUYARD_SECONDS" ]; do
  case $(cat "$state" 2> /dev/null || true) in
    *'"state": "ready"'*) exit 0 ;;
    *'"state": "failed"'*)
      cat "$state" >&2
      exit 1
      ;;
  esac
  sleep "${GPUYARD_PAUSE:-5}"
done
echo "the node's set-up did not end in $GPUYARD_SECONDS s" >&2
exit 1
