#!/bin/bash
# The CloudWatch agent with the pool's own configuration, and the kernel's log, where Xid errors are told, in a file.
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/download-cloudwatch-agent-commandline.html
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

control=${GPUYARD_AGENT:-/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl}
if [ ! -x "$control" ] && command -v dpkg > /dev/null; then
  package=$(mktemp --suffix=.deb)
  retry curl -fsS --retry 3 -o "$package" \
    "https://amazoncloudwatch-agent-$GPUYARD_REGION.s3.$GPUYARD_REGION.amazonaws.com/ubuntu/$(dpkg --print-architecture)/latest/amazon-cloudwatch-agent.deb"
  dpkg -i "$package"
  rm -f "$package"
fi
if [ ! -x "$control" ]; then
  echo "the image has no CloudWatch agent ($control): GPUs would go unwatched" >&2
  exit 1
fi
systemctl enable --now gpuyard-kernel-log.service
"$control" -a fetch-config -m ec2 -s -c file:/etc/gpuyard/cloudwatch-agent.json
