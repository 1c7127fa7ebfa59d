#!/bin/bash
# RDMA of a machine in an HPC cluster: its devices have to be there, GPUs get direct access to them, and NCCL is told in
# /etc/nccl.conf which interface has the address of the network, as that differs by type and image.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

sys=${GPUYARD_SYS:-/sys}
conf=${GPUYARD_NCCL_CONF:-/etc/nccl.conf}
found=0
for port in "$sys"/class/infiniband/*/ports/*; do
  if [ -e "$port/state" ] && grep -q ACTIVE "$port/state"; then
    found=$((found + 1))
  fi
done
if [ "$found" -eq 0 ]; then
  echo "no active RDMA port: the image has no driver for it, or the machine is in no HPC cluster" >&2
  exit 1
fi
if ! modprobe nvidia_peermem; then
  echo "GPUs cannot reach the RDMA devices directly: nvidia_peermem does not load" >&2
  exit 1
fi
interface=$(ip -o route get 169.254.0.23 | sed -n 's/.* dev \([^ ]*\).*/\1/p')
if [ -z "$interface" ]; then
  echo "no interface has the address of the network" >&2
  exit 1
fi
# The rest of the file is the same on every node of the pool.
told=$(sed '/^NCCL_SOCKET_IFNAME=/d' "$conf" 2> /dev/null || true)
printf '%s\n' ${told:+"$told"} "NCCL_SOCKET_IFNAME=$interface" | put "$conf" || true
