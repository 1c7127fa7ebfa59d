# shellcheck shell=sh
# Jobs are told what this node is part of: GPUYARD_CHECKPOINT_URI and the like.
if [ -r /etc/gpuyard/node.env ]; then
  set -a
  # shellcheck source=/dev/null
  . /etc/gpuyard/node.env
  set +a
fi
