#!/bin/bash
# GPUs stay initialized between jobs, and run at their highest clocks where the pool asks for that.
# https://docs.nvidia.com/deploy/driver-persistence/
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/optimize_gpu.html
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

if ! systemctl is-active --quiet nvidia-persistenced; then
  systemctl enable --now nvidia-persistenced || nvidia-smi -pm 1
fi
if [ "${GPUYARD_GPU_CLOCKS:-default}" = highest ]; then
  # The highest pair is the first of those that the GPU names.
  pairs=$(nvidia-smi -i 0 --query-supported-clocks=memory,graphics --format=csv,noheader,nounits)
  pair=${pairs%%$'\n'*}
  said=$(nvidia-smi -ac "${pair// /}")
  case $said in
    *"not supported"* | *"not been enabled"*)
      echo "$said: leave 'gpu_clocks' out" >&2
      exit 1
      ;;
  esac
fi
