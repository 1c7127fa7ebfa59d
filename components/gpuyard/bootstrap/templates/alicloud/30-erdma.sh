#!/bin/bash
# eRDMA as NCCL needs it: the driver's devices are there, and the interfaces below them have the MTU that the protocol
# LL128 needs. Another MTU may corrupt data, so that a node that cannot have it is not ready.
# https://help.aliyun.com/zh/ecs/user-guide/on-the-gpu-instance-configuration-erdma
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

if ! modprobe erdma; then
  echo "the image has no eRDMA driver (erdma)" >&2
  exit 1
fi
mapfile -t devices < <(
  for device in "${GPUYARD_SYS:-/sys}"/class/infiniband/erdma_*; do
    [ -e "$device" ] && basename "$device"
  done
)
if [ "${#devices[@]}" -eq 0 ]; then
  echo "no eRDMA device: the machine was made without an interface of traffic mode HighPerformance" >&2
  exit 1
fi
for device in "${devices[@]}"; do
  for interface in "${GPUYARD_SYS:-/sys}/class/infiniband/$device"/device/net/*; do
    name=$(basename "$interface")
    if [ "$(cat "$interface/mtu")" != "$GPUYARD_MTU" ]; then
      ip link set dev "$name" mtu "$GPUYARD_MTU"
    fi
    if [ "$(cat "$interface/mtu")" != "$GPUYARD_MTU" ]; then
      echo "$name of $device does not take an MTU of $GPUYARD_MTU bytes" >&2
      exit 1
    fi
  done
done
