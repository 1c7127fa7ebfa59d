#!/bin/bash
# coscli, which fetches programs and carries checkpoints, and tccli where the node tags itself: of the image where it has
# them, else from the cloud's own addresses. Both use the node's role, and no key is written.
# https://cloud.tencent.com/document/product/436/63144 (installation), https://www.tencentcloud.com/document/product/436/43251
# https://cloud.tencent.com/document/product/440/96291 (tccli with a role)
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

bin=${GPUYARD_BIN:-/usr/local/bin}
metadata=${GPUYARD_METADATA:-http://metadata.tencentyun.com}/latest/meta-data

if ! command -v coscli > /dev/null; then
  file=$(mktemp)
  name=coscli-v$GPUYARD_COSCLI_VERSION-linux-amd64
  if ! fetch "https://cosbrowser.cloud.tencent.com/software/coscli/$name" "$GPUYARD_COSCLI_SHA256" "$file"; then
    echo "coscli cannot be had: a network without a way to the internet needs an image that brings it" >&2
    exit 1
  fi
  install -m 0755 "$file" "$bin/coscli"
  rm -f "$file"
fi
if [ -n "${GPUYARD_HEALTH_TAG:-}" ] && ! command -v tccli > /dev/null; then
  home=${GPUYARD_TCCLI:-/opt/gpuyard-tccli}
  # The cloud's images are told of its own mirror of Python packages.
  install_packages python3-venv
  python3 -m venv "$home"
  retry "$home/bin/pip" install -q "tccli==$GPUYARD_TCCLI_VERSION"
  ln -sf "$home/bin/tccli" "$bin/tccli"
fi

if ! role=$(retry curl -fsS "$metadata/cam/security-credentials/") || [ -z "$role" ]; then
  echo "this machine has no CAM role: the bucket cannot be read" >&2
  exit 1
fi
put "${GPUYARD_ETC:-/etc}/gpuyard/cos.yaml" << END || true
cos:
  base:
    mode: CvmRole
    cvmrolename: $role
    protocol: https
END
