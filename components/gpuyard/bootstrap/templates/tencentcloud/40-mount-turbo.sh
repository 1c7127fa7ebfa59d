#!/bin/bash
# Mount the parallel file system, with bounded tries, and prove it by a write before anything relies on it.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

target=$GPUYARD_FILE_SYSTEM
source=$GPUYARD_TURBO_ADDRESS@tcp0:/$GPUYARD_TURBO_TREE
tries=${GPUYARD_TRIES:-10}
mkdir -p "$target"

for try in $(seq "$tries"); do
  if mountpoint -q "$target" || timeout 120 mount.lustre -o user_xattr "$source" "$target"; then
    break
  fi
  if [ "$try" -eq "$tries" ]; then
    echo "cannot mount $source after $tries tries" >&2
    exit 1
  fi
  sleep $((try * ${GPUYARD_PAUSE:-3}))
done
if ! mountpoint -q "$target"; then
  echo "$target is no mount point though mount succeeded" >&2
  exit 1
fi
probe=$target/.gpuyard-probe-$(hostname)
echo ok > "$probe"
if [ "$(cat "$probe")" != ok ]; then
  echo "what was written to $target cannot be read back" >&2
  exit 1
fi
rm -f "$probe"
