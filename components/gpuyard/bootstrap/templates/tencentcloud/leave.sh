#!/bin/bash
# This node is about to go: tell the jobs, and wait until they release it or its time is over.
#   leave.sh REASON SECONDS
# The jobs read /run/gpuyard/leaving.json, or put a program into /etc/gpuyard/on-leave.d, which is given the reason and
# the seconds. Whoever has written its checkpoint runs release-node.sh.
set -euo pipefail

reason=$1
seconds=$2
state=${GPUYARD_RUN:-/run/gpuyard}
programs=${GPUYARD_ON_LEAVE:-/etc/gpuyard/on-leave.d}

end=$((SECONDS + seconds))
mkdir -p "$state"
printf '{"reason": "%s", "seconds": %d}\n' "$reason" "$seconds" > "$state/leaving.json.new"
mv "$state/leaving.json.new" "$state/leaving.json"
for program in "$programs"/*; do
  if [ -x "$program" ]; then
    left=$((end - SECONDS))
    [ "$left" -gt 0 ] || break
    timeout "$left" "$program" "$reason" "$left" || echo "gpuyard: $program failed" >&2
  fi
done
while [ ! -e "$state/released" ] && [ "$SECONDS" -lt "$end" ]; do
  sleep "${GPUYARD_PAUSE:-2}"
done
