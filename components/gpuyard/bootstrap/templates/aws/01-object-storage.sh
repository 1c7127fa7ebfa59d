#!/bin/bash
# The command that carries checkpoints to the bucket: with the node's own role, and with parallel requests.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

if ! command -v aws > /dev/null; then
  if command -v snap > /dev/null; then
    retry snap install aws-cli --classic
  else
    install_packages awscli
  fi
fi
aws configure set default.s3.max_concurrent_requests 32
aws configure set default.s3.multipart_chunksize 64MB
