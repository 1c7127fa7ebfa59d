#!/bin/bash
# The RoCE network of a super computing cluster: its devices are there and their ports are up.
# https://help.aliyun.com/zh/ecs/user-guide/overview-40
set -euo pipefail

shopt -s nullglob
states=("${GPUYARD_SYS:-/sys}"/class/infiniband/*/ports/*/state)
if [ "${#states[@]}" -eq 0 ]; then
  echo "no RDMA device: the machine is in no HPC cluster, or the image has no driver for its network" >&2
  exit 1
fi
for state in "${states[@]}"; do
  if ! grep -q ACTIVE "$state"; then
    echo "$state is $(cat "$state")" >&2
    exit 1
  fi
done
