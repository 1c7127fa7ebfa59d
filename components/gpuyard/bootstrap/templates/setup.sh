#!/bin/bash
# Run every part in order at each boot. A part that fails stops the rest: a node that is not whole says so, in
# /run/gpuyard/setup.json and by its failed unit, and is not mistaken for one that is.
set -euo pipefail

state=${GPUYARD_STATE:-/run/gpuyard/setup.json}
mkdir -p "$(dirname "$state")"

report() {
  printf '{"state": "%s", "part": "%s"}\n' "$1" "$2" > "$state.new"
  mv "$state.new" "$state"
}

for part in "${GPUYARD_PARTS:-/opt/gpuyard/parts}"/*.sh; do
  name=$(basename "$part" .sh)
  report running "$name"
  echo "gpuyard: $name"
  if ! bash "$part"; then
    report failed "$name"
    echo "gpuyard: $name failed, the node is not ready" >&2
    exit 1
  fi
done
report ready ""
