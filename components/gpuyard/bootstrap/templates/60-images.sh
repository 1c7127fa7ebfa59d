#!/bin/bash
# Container images are pulled before the first job asks for them: a model server has to answer within its cold start.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

for image in $GPUYARD_CONTAINER_IMAGES; do
  if docker image inspect "$image" > /dev/null 2>&1; then
    continue
  fi
  registry=${image%%/*}
  case $registry in
    *.dkr.ecr.*.amazonaws.com*)
      region=${registry#*.dkr.ecr.}
      aws ecr get-login-password --region "${region%%.*}" |
        docker login --username AWS --password-stdin "$registry" > /dev/null
      ;;
  esac
  retry docker pull -q "$image"
done
