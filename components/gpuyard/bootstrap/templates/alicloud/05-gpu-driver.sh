#!/bin/bash
# The GPU driver, CUDA and, where the pool is joined by RDMA, its driver: by Alibaba Cloud's own script, which the
# console would send. The public images bring none.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

if command -v nvidia-smi > /dev/null && nvidia-smi > /dev/null; then
  check_driver
  exit 0
fi
metadata=${GPUYARD_METADATA:-http://100.100.100.200}
folder=${GPUYARD_INSTALL:-/root/auto_install}
GPUYARD_TOKEN=$(command curl -fsS -X PUT -H 'X-aliyun-ecs-metadata-token-ttl-seconds: 21600' "$metadata/latest/api/token")
export GPUYARD_TOKEN metadata

# The script asks the metadata service without a token, which hardened metadata refuses: every curl below adds it.
curl() {
  case "$*" in
    *"$metadata"*) command curl -H "X-aliyun-ecs-metadata-token: $GPUYARD_TOKEN" "$@" ;;
    *) command curl "$@" ;;
  esac
}
export -f curl

mirror=$(curl -fsS "$metadata/latest/meta-data/source-address" | head -1)
mkdir -p "$folder"
curl -fsS --retry 10 -o "$folder/$GPUYARD_DRIVER_SCRIPT" "$mirror/opsx/ecs/linux/binary/script/$GPUYARD_DRIVER_SCRIPT"
erdma=FALSE
rdma=FALSE
case ${GPUYARD_RDMA:-} in
  erdma) erdma=TRUE ;;
  roce) rdma=TRUE ;;
esac
(cd "$folder" && bash "$folder/$GPUYARD_DRIVER_SCRIPT" \
  "$GPUYARD_DRIVER_VERSION" "$GPUYARD_CUDA_VERSION" "$GPUYARD_CUDNN_VERSION" "$rdma" "$erdma")
if ! nvidia-smi > /dev/null; then
  echo "the driver was installed and nvidia-smi does not run" >&2
  exit 1
fi
check_driver
