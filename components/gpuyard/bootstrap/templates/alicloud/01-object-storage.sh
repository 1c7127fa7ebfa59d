#!/bin/bash
# ossutil and aliyun, which fetch programs, carry checkpoints and speak to the scaler: of the image where it has them in
# this version or a later one, else from the cloud's own address. Both use the node's role, and no key is written.
# https://www.alibabacloud.com/help/en/oss/developer-reference/install-ossutil2 (sums; Ali-EcsRamRole: hardened metadata)
# https://www.alibabacloud.com/help/en/cli/ecs-ram-role
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

bin=${GPUYARD_BIN:-/usr/local/bin}
metadata=${GPUYARD_METADATA:-http://100.100.100.200}/latest
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# lacks COMMAND VERSION: whether the image has no such command, or an older one.
lacks() {
  local have
  have=$("$1" version 2> /dev/null | sed -n 's/^[^0-9]*\([0-9][0-9]*\.[0-9.]*[0-9]\).*/\1/p' | head -1) || true
  ! at_least "$2" "${have:-0}"
}

unreachable() {
  echo "$1 cannot be had: a network without a way to the internet needs an image that brings it" >&2
  exit 1
}

if lacks ossutil "$GPUYARD_OSSUTIL_VERSION"; then
  name=ossutil-$GPUYARD_OSSUTIL_VERSION-linux-amd64
  url=https://gosspublic.alicdn.com/ossutil/v2/$GPUYARD_OSSUTIL_VERSION/$name.zip
  fetch "$url" "$GPUYARD_OSSUTIL_SHA256" "$folder/ossutil.zip" || unreachable ossutil
  python3 -m zipfile -e "$folder/ossutil.zip" "$folder"
  install -m 0755 "$folder/$name/ossutil" "$bin/ossutil"
fi
if lacks aliyun "$GPUYARD_ALIYUN_VERSION"; then
  url=https://aliyuncli.alicdn.com/aliyun-cli-linux-$GPUYARD_ALIYUN_VERSION-amd64.tgz
  fetch "$url" "$GPUYARD_ALIYUN_SHA256" "$folder/aliyun.tgz" || unreachable aliyun
  tar -xzf "$folder/aliyun.tgz" -C "$folder" aliyun
  install -m 0755 "$folder/aliyun" "$bin/aliyun"
fi

# A single machine gets its role only after it was made.
role=""
for _ in $(seq "${GPUYARD_TRIES:-300}"); do
  token=$(curl -fsS -X PUT -H 'X-aliyun-ecs-metadata-token-ttl-seconds: 60' "$metadata/api/token") &&
    role=$(curl -fsS -H "X-aliyun-ecs-metadata-token: $token" "$metadata/meta-data/ram/security-credentials/" \
      2> /dev/null) && break
  sleep "${GPUYARD_PAUSE:-2}"
done
if [ -z "$role" ]; then
  echo "this machine has no RAM role: the bucket cannot be read" >&2
  exit 1
fi
put "${GPUYARD_ETC:-/etc}/gpuyard/ossutil.conf" << END || true
[default]
mode=Ali-EcsRamRole
ecsRoleName=$role
region=$GPUYARD_REGION
endpoint=https://oss-$GPUYARD_REGION-internal.aliyuncs.com
END
