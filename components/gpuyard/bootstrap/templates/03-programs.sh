#!/bin/bash
# The node's own programs (health gate, watcher, checkpoints) from the bucket: user data has no room for them. What
# does not have the sum that the user data names is not unpacked. Where the bucket's provider takes text only, they lie
# there in base64.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

etc=${GPUYARD_ETC:-/etc}/gpuyard
home=${GPUYARD_PYTHON:-/opt/gpuyard/python}
if [ -e "$home/.sha256" ] && [ "$(cat "$home/.sha256")" = "$GPUYARD_PROGRAMS_SHA256" ]; then
  exit 0
fi
archive=$(mktemp)
case $GPUYARD_PROGRAMS in
  s3://*) retry aws s3 cp --only-show-errors --region "$GPUYARD_REGION" "$GPUYARD_PROGRAMS" "$archive" ;;
  oss://*) retry ossutil cp -f -c "$etc/ossutil.conf" "$GPUYARD_PROGRAMS" "$archive" ;;
  cos://*)
    retry coscli cp -e "cos.$GPUYARD_REGION.myqcloud.com" -c "$etc/cos.yaml" --disable-log "$GPUYARD_PROGRAMS" "$archive"
    ;;
esac
case $GPUYARD_PROGRAMS in
  *.b64)
    base64 -d "$archive" > "$archive.tar.gz"
    mv "$archive.tar.gz" "$archive"
    ;;
esac
if ! echo "$GPUYARD_PROGRAMS_SHA256  $archive" | sha256sum --check --quiet > /dev/null; then
  echo "$GPUYARD_PROGRAMS is not what it should be" >&2
  exit 1
fi
rm -rf "$home.new"
mkdir -p "$home.new"
tar -xzf "$archive" -C "$home.new"
echo "$GPUYARD_PROGRAMS_SHA256" > "$home.new/.sha256"
rm -rf "$home" "$archive"
mv "$home.new" "$home"
