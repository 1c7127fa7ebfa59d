#!/bin/bash
# NVIDIA's fabric manager: without it the GPUs behind NVSwitches do not work, and it takes only a driver of exactly its
# own version.
# https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

# One line for each GPU.
versions=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader)
version=${versions%%$'\n'*}
package=nvidia-fabricmanager-${version%%.*}
installed=$(dpkg-query -W -f '${Version}' "$package" 2> /dev/null || true)
if [ "${installed%%-*}" != "$version" ]; then
  export DEBIAN_FRONTEND=noninteractive
  retry apt-get -qq update
  retry apt-get -qq -y --allow-downgrades install "$package=$version-*"
  # An update of the one without the other would stop every GPU at the next boot.
  apt-mark hold "$package"
fi
systemctl enable --now nvidia-fabricmanager
if ! systemctl is-active --quiet nvidia-fabricmanager; then
  echo "the fabric manager $version does not run: no GPU of this machine would work" >&2
  exit 1
fi
