#!/bin/bash
# Docker with NVIDIA's container toolkit, from the image or from the distribution and NVIDIA's own archive; proved by
# the runtime that Docker knows.
# https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

etc=${GPUYARD_ETC:-/etc}
if ! command -v docker > /dev/null; then
  if command -v apt-get > /dev/null; then
    install_packages docker.io
  else
    install_packages docker
  fi
fi
if ! command -v nvidia-ctk > /dev/null; then
  base=https://nvidia.github.io/libnvidia-container
  if command -v apt-get > /dev/null; then
    keyring=${GPUYARD_KEYRINGS:-/usr/share/keyrings}/nvidia-container-toolkit.gpg
    key=$(mktemp)
    retry curl -fsS --retry 3 -o "$key" "$base/gpgkey"
    gpg --dearmor --yes -o "$keyring" "$key"
    echo "deb [signed-by=$keyring] $base/stable/deb/$(dpkg --print-architecture) /" \
      > "$etc/apt/sources.list.d/nvidia-container-toolkit.list"
  else
    retry curl -fsS --retry 3 -o "$etc/yum.repos.d/nvidia-container-toolkit.repo" \
      "$base/stable/rpm/nvidia-container-toolkit.repo"
  fi
  install_packages nvidia-container-toolkit
fi
systemctl enable --now docker
if ! docker info --format '{{json .Runtimes}}' | grep -q nvidia; then
  nvidia-ctk runtime configure --runtime=docker
  systemctl restart docker
  if ! docker info --format '{{json .Runtimes}}' | grep -q nvidia; then
    echo "Docker does not know NVIDIA's runtime: containers would see no GPU" >&2
    exit 1
  fi
fi
