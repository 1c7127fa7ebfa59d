#!/bin/bash
# Tell the scaler that this node may go now: its checkpoint is written. Without it the scaler waits for the whole time
# of its lifecycle hook. It needs the aliyun command and python3, and takes the node's own role.
# https://www.alibabacloud.com/help/en/auto-scaling/developer-reference/api-ess-2022-02-22-completelifecycleaction
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

metadata=${GPUYARD_METADATA:-http://100.100.100.200}
token=$(curl -fsS -X PUT -H 'X-aliyun-ecs-metadata-token-ttl-seconds: 60' "$metadata/latest/api/token")
ask() { curl -fsS -H "X-aliyun-ecs-metadata-token: $token" "$metadata/latest/meta-data/$1"; }
instance=$(ask instance-id)
role=$(ask ram/security-credentials/)
ess() { aliyun ess "$@" --mode EcsRamRole --ram-role-name "$role" --region "$GPUYARD_REGION" --RegionId "$GPUYARD_REGION"; }

# The older version of the API wraps each list in an object of one key.
listed='import json, sys

def of(value, key):
    found = value.get(key, [])
    return next(iter(found.values()), []) if isinstance(found, dict) else found
'
activities=$(ess DescribeScalingActivities --ScalingGroupId "$GPUYARD_SCALING_GROUP" --StatusCode InProgress \
  | python3 -c "$listed"'
for one in of(json.load(sys.stdin), "ScalingActivities"):
    print(one["ScalingActivityId"])')
for activity in $activities; do
  waiting=$(ess DescribeLifecycleActions --ScalingActivityId "$activity" --LifecycleActionStatus Pending \
    | python3 -c "$listed"'
for one in of(json.load(sys.stdin), "LifecycleActions"):
    if sys.argv[1] in of(one, "InstanceIds"):
        print(one["LifecycleHookId"], one["LifecycleActionToken"])' "$instance")
  while read -r hook action; do
    [ -n "$hook" ] || continue
    ess CompleteLifecycleAction --LifecycleHookId "$hook" --LifecycleActionToken "$action" \
      --LifecycleActionResult CONTINUE > /dev/null
    echo "released $instance"
    exit 0
  done <<< "$waiting"
done
echo "no scaling activity waits for $instance" >&2
exit 1
