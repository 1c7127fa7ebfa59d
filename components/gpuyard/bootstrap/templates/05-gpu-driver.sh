#!/bin/bash
# NVIDIA's driver: the image's own where it brings one, else the pool's branch from Ubuntu's archive.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

if ! nvidia-smi -L > /dev/null 2>&1; then
  branch=${GPUYARD_DRIVER_BRANCH:-}
  if [ -z "$branch" ] || ! command -v apt-get > /dev/null; then
    echo "the image brings no GPU driver, and only Ubuntu's can be installed: name an image with a driver" >&2
    exit 1
  fi
  install_packages "linux-headers-$(uname -r)" "nvidia-headless-$branch-server" "nvidia-utils-$branch-server"
  modprobe nvidia
fi
check_driver
