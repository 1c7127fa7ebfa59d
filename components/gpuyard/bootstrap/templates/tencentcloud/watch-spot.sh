#!/bin/bash
# Ask the metadata every few seconds whether this spot machine is to end: two minutes ahead it tells when. The jobs are
# told then, by leave.sh.
set -euo pipefail

metadata=${GPUYARD_METADATA:-http://metadata.tencentyun.com}
home=${GPUYARD_HOME:-/opt/gpuyard}
# A little less than the notice, for a checkpoint that is written in its last second.
seconds=110
while true; do
  # 404 means that nothing is planned.
  if end=$(curl -fsS --max-time 3 "$metadata/latest/meta-data/spot/termination-time" 2> /dev/null) && [ -n "$end" ]; then
    echo "gpuyard: this spot machine ends at $end"
    exec "$home/leave.sh" spot "$seconds"
  fi
  sleep "${GPUYARD_PAUSE:-5}"
done
