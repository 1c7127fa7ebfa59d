#!/bin/bash
# The machine's own NVMe disks as one RAID 0 volume at /scratch. They are lost when the machine stops: nothing that has
# to last belongs there. Safe to run again: what is there is used.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

target=$GPUYARD_SCRATCH
# The Deep Learning AMI has made a volume of the same disks already.
vendor=${GPUYARD_VENDOR_SCRATCH:-/opt/dlami/nvme}

if mountpoint -q "$target"; then
  exit 0
fi
mkdir -p "$target"
if mountpoint -q "$vendor"; then
  mount --bind "$vendor" "$target"
  chmod 1777 "$target"
  exit 0
fi

# How the cloud's own disks are told from those of its network: by a pattern of device and model.
pattern=${GPUYARD_SCRATCH_DISKS:-Instance Storage}
mapfile -t disks < <(lsblk -dpno NAME,MODEL | awk -v pattern="$pattern" '$0 ~ pattern {print $1}')
if [ "${#disks[@]}" -eq 0 ]; then
  echo "no NVMe instance store: the catalog says this type has one" >&2
  exit 1
fi
volume=${disks[0]}
if [ "${#disks[@]}" -gt 1 ]; then
  volume=/dev/md/gpuyard-scratch
  if [ ! -e "$volume" ] && ! mdadm --assemble "$volume" "${disks[@]}" 2> /dev/null; then
    mdadm --create "$volume" --run --level=0 --chunk=512 --raid-devices="${#disks[@]}" "${disks[@]}"
  fi
fi
if ! blkid "$volume" > /dev/null; then
  mkfs.xfs -q -L scratch "$volume"
fi
mount -o noatime,nodiscard "$volume" "$target"
chmod 1777 "$target"
