#!/bin/bash
# The pool's data disk, formatted once and mounted at /data: the only disk that is not the root disk's. Of single
# machines it is attached after they boot.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

target=$GPUYARD_DATA
if mountpoint -q "$target"; then
  exit 0
fi
root=$(lsblk -pno PKNAME "$(findmnt -no SOURCE /)" | head -1)
disk=""
for _ in $(seq "${GPUYARD_TRIES:-120}"); do
  disk=$(lsblk -dpno NAME,TYPE | awk -v root="$root" '$2 == "disk" && $1 != root {print $1; exit}')
  [ -n "$disk" ] && break
  sleep "${GPUYARD_PAUSE:-5}"
done
if [ -z "$disk" ]; then
  echo "the data disk is not attached" >&2
  exit 1
fi
if ! blkid "$disk" > /dev/null; then
  mkfs.xfs -q -L gpuyard-data "$disk"
fi
mkdir -p "$target"
mount -o noatime "$disk" "$target"
