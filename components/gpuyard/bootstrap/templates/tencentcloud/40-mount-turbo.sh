#!/bin/bash
# Mount the parallel file system, with bounded tries, and prove it by a write before anything relies on it.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

target=$GPUYARD_FILE_SYSTEM
source=$GPUYARD_TURBO_ADDRESS@tcp0:/$GPUYARD_TURBO_TREE
mount_and_prove "$source" "$target" lustre user_xattr
