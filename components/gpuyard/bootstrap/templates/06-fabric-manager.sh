#!/bin/bash
# NVIDIA's fabric manager: without it the GPUs behind NVSwitches do not work, and it takes only a driver of exactly its
# own version.
# https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

# From NVIDIA's archive, in which every version stays; the distribution's own keeps only the newest of a branch.
from_archive() {
  local branch=${version%%.*} release name
  # shellcheck source=/dev/null
  release=$(. "${GPUYARD_OS_RELEASE:-/etc/os-release}" && echo "$ID$VERSION_ID")
  case $release in
    ubuntu*)
      name=$(mktemp --suffix=.deb)
      retry curl -fsS --retry 3 -o "$name" \
        "$GPUYARD_CUDA_ARCHIVE/${release//./}/x86_64/nvidia-fabricmanager-${branch}_$version-1_amd64.deb"
      chmod 0644 "$name"
      DEBIAN_FRONTEND=noninteractive retry apt-get -qq -y --allow-downgrades install "$name"
      rm -f "$name"
      apt-mark hold "nvidia-fabricmanager-$branch"
      ;;
    *)
      # Before branch 580 there is one hyphen more.
      name=nvidia-fabricmanager
      if [ "$branch" -lt 580 ]; then
        name=nvidia-fabric-manager
      fi
      retry dnf -q -y install "$GPUYARD_CUDA_ARCHIVE/rhel8/x86_64/$name-$version-1.x86_64.rpm"
      ;;
  esac
}

# From Ubuntu's archive, where the driver comes from too.
from_distribution() {
  local package=nvidia-fabricmanager-${version%%.*} installed
  installed=$(dpkg-query -W -f '${Version}' "$package" 2> /dev/null || true)
  if [ "${installed%%-*}" != "$version" ]; then
    export DEBIAN_FRONTEND=noninteractive
    retry apt-get -qq update
    retry apt-get -qq -y --allow-downgrades install "$package=$version-*"
    # An update of the one without the other would stop every GPU at the next boot.
    apt-mark hold "$package"
  fi
}

version=$(driver_version)
if systemctl is-active --quiet nvidia-fabricmanager; then
  have=$(nv-fabricmanager --version)
  case $have in
    *"$version"*) exit 0 ;;
  esac
  echo "the fabric manager is '$have', the driver $version: they have to be the same" >&2
fi
if [ -n "${GPUYARD_CUDA_ARCHIVE:-}" ]; then
  from_archive
elif command -v apt-get > /dev/null; then
  from_distribution
fi
# Amazon Linux is used with AWS's image alone, which brings the fabric manager of its driver: it is only started.
systemctl enable nvidia-fabricmanager || true
systemctl restart nvidia-fabricmanager || true
if ! systemctl is-active --quiet nvidia-fabricmanager; then
  echo "the fabric manager $version does not run: no GPU of this machine would work" >&2
  exit 1
fi
