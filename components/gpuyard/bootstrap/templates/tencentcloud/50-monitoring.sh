#!/bin/bash
# The cloud's own agent sends the GPUs' metrics; here it is only seen to. The kernel's log, where Xid errors are told,
# is kept in a file of the node.
set -euo pipefail

agent=${GPUYARD_AGENT:-/usr/local/qcloud/monitor}
tries=${GPUYARD_TRIES:-30}
systemctl enable --now gpuyard-kernel-log.service
for try in $(seq "$tries"); do
  if [ -d "$agent" ]; then
    exit 0
  fi
  [ "$try" -lt "$tries" ] && sleep "${GPUYARD_PAUSE:-10}"
done
echo "the image has no monitoring agent ($agent): GPUs would go unwatched" >&2
exit 1
