#!/bin/bash
# Tell the scaler that this node may go now: its checkpoint is written. Without it the scaler waits for the whole time
# of its lifecycle hook.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

metadata=${GPUYARD_METADATA:-http://169.254.169.254}
token=$(curl -fsS -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$metadata/latest/api/token")
instance=$(curl -fsS -H "X-aws-ec2-metadata-token: $token" "$metadata/latest/meta-data/instance-id")
group=$(aws autoscaling describe-auto-scaling-instances --region "$GPUYARD_REGION" --instance-ids "$instance" \
  --query 'AutoScalingInstances[0].AutoScalingGroupName' --output text)
aws autoscaling complete-lifecycle-action --region "$GPUYARD_REGION" --auto-scaling-group-name "$group" \
  --lifecycle-hook-name "$GPUYARD_HOOK" --instance-id "$instance" --lifecycle-action-result CONTINUE
