#!/bin/bash
# EFA's driver and libfabric with the NCCL plugin: of the image where it brings them, else by AWS's own installer, in a
# version whose sum is known. A node whose devices do not come up is not ready.
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

info=${GPUYARD_FI_INFO:-/opt/amazon/efa/bin/fi_info}
if [ ! -x "$info" ]; then
  folder=$(mktemp -d)
  archive=aws-efa-installer-$GPUYARD_EFA_VERSION.tar.gz
  fetch "https://efa-installer.amazonaws.com/$archive" "$GPUYARD_EFA_SHA256" "$folder/$archive"
  tar -xzf "$folder/$archive" -C "$folder"
  (cd "$folder/aws-efa-installer" && ./efa_installer.sh -y)
  rm -rf "$folder"
fi
modprobe efa
if ! "$info" -p efa > /dev/null; then
  echo "libfabric finds no EFA device: the machine was made without EFA interfaces, or the driver does not fit" >&2
  exit 1
fi
