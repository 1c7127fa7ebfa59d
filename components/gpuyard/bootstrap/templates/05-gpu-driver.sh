#!/bin/bash
# NVIDIA's driver: the image's own where it brings one, else the pool's branch from Ubuntu's archive, which the cloud
# mirrors inside its network. One that is too old for the GPUs is refused, not left to fail in the middle of a job.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

if ! nvidia-smi -L > /dev/null 2>&1; then
  if ! command -v apt-get > /dev/null; then
    echo "the image brings no GPU driver, and only Ubuntu's can be installed: name an image with a driver" >&2
    exit 1
  fi
  branch=$GPUYARD_DRIVER_BRANCH
  export DEBIAN_FRONTEND=noninteractive
  retry apt-get -qq update
  retry apt-get -qq -y install "linux-headers-$(uname -r)" "nvidia-headless-$branch-server" \
    "nvidia-utils-$branch-server"
  modprobe nvidia
fi
listed=$(nvidia-smi -L)
if [[ $listed != GPU* ]]; then
  echo "the driver is there and sees no GPU" >&2
  exit 1
fi
# One line for each GPU.
versions=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader)
version=${versions%%$'\n'*}
minimum=${GPUYARD_DRIVER_MINIMUM:-0}
if [ "$(printf '%s\n' "$minimum" "$version" | sort -V | head -1)" != "$minimum" ]; then
  echo "driver $version is too old for these GPUs: they need $minimum or newer" >&2
  exit 1
fi
