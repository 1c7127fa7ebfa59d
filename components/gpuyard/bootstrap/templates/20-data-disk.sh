#!/bin/bash
# The pool's data disk, formatted once and mounted at /data: the only block disk that is not the root disk's.
# Of single machines it may be attached after they boot.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

target=$GPUYARD_DATA
if mountpoint -q "$target"; then
  exit 0
fi
root=$(lsblk -pno PKNAME "$(findmnt -no SOURCE /)" | head -1)
disk=""
# How the cloud's block disks are told from the machine's own: by a pattern of device, type, model and serial number.
pattern=${GPUYARD_DATA_DISKS:-Elastic Block Store}
for _ in $(seq "${GPUYARD_TRIES:-${GPUYARD_DATA_TRIES:-30}}"); do
  disk=$(lsblk -dpno NAME,TYPE,MODEL,SERIAL |
    awk -v root="$root" -v pattern="$pattern" '$0 ~ pattern && $1 != root {print $1; exit}')
  [ -n "$disk" ] && break
  sleep "${GPUYARD_PAUSE:-2}"
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
