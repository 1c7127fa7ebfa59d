#!/bin/bash
# The CloudWatch agent with the pool's own configuration, and the kernel's log, where Xid errors are told, in a file.
set -euo pipefail

control=${GPUYARD_AGENT:-/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl}
if [ ! -x "$control" ]; then
  echo "the image has no CloudWatch agent ($control): GPUs would go unwatched" >&2
  exit 1
fi
systemctl enable --now gpuyard-kernel-log.service
"$control" -a fetch-config -m ec2 -s -c file:/etc/gpuyard/cloudwatch-agent.json
