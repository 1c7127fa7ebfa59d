#!/bin/bash
# The Lustre client for the running kernel, from the image or from the cloud's own package repository.
# https://docs.aws.amazon.com/fsx/latest/LustreGuide/install-lustre-client.html
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

if command -v mount.lustre > /dev/null && modprobe -n lustre 2> /dev/null; then
  exit 0
fi
if command -v apt-get > /dev/null; then
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  keyring=/usr/share/keyrings/fsx-ubuntu-public-key.gpg
  key=$(mktemp)
  retry curl -fsS --retry 3 -o "$key" \
    https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc
  gpg --dearmor --yes -o "$keyring" "$key"
  echo "deb [signed-by=$keyring] https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu $release main" \
    > /etc/apt/sources.list.d/fsxlustreclientrepo.list
  retry apt-get -qq update
  DEBIAN_FRONTEND=noninteractive retry apt-get -qq -y install "lustre-client-modules-$(uname -r)"
else
  retry dnf -q -y install lustre-client
fi
modprobe lustre
