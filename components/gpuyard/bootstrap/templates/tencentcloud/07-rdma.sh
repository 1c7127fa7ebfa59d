#!/bin/bash
# RDMA of a machine in an HPC cluster: its devices have to be there, GPUs get direct access to them, and NCCL is told of
# both in /etc/nccl.conf. Which interface has the address of the network differs by type and image.
set -euo pipefail

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
cat > "$conf.new" << END
NCCL_IB_DISABLE=0
NCCL_IB_GID_INDEX=3
NCCL_NET_GDR_LEVEL=2
NCCL_SOCKET_IFNAME=$interface
END
mv "$conf.new" "$conf"
