#!/bin/bash
# Mount the shared file system over NFS, with bounded tries, and prove it by a write before anything relies on it. CPFS
# has a client of its own, whose address ends in cpfs.aliyuncs.com.
# https://www.alibabacloud.com/help/en/nas/user-guide/mount-an-nfs-file-system-on-a-linux-ecs-instance
# https://help.aliyun.com/en/cpfs/cpfsonecs/user-guide/mount-a-file-system-by-using-the-cpfs-nfs-client
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"

target=$GPUYARD_FILE_SYSTEM
source=$GPUYARD_NFS_DNS_NAME:/${GPUYARD_NFS_PATH#/}
options=vers=3,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport
client=https://cpfs-hangzhou-nfs-client.oss-cn-hangzhou.aliyuncs.com/aliyun-alinas-utils-latest.al.noarch.rpm
tries=${GPUYARD_TRIES:-10}

case $GPUYARD_NFS_DNS_NAME in
  *.cpfs.aliyuncs.com) kind=cpfs-nfs package=$client ;;
  *) kind=nfs package=nfs-utils options=$options,nolock,proto=tcp ;;
esac
for try in $(seq "$tries"); do
  if command -v "mount.$kind" > /dev/null || dnf -q -y install "$package"; then
    break
  fi
  if [ "$try" -eq "$tries" ]; then
    echo "cannot install the client of $source ($package)" >&2
    exit 1
  fi
  sleep $((try * ${GPUYARD_PAUSE:-3}))
done
mkdir -p "$target"
for try in $(seq "$tries"); do
  if mountpoint -q "$target" || timeout 120 mount -t "$kind" -o "$options" "$source" "$target"; then
    break
  fi
  if [ "$try" -eq "$tries" ]; then
    echo "cannot mount $source after $tries tries" >&2
    exit 1
  fi
  sleep $((try * ${GPUYARD_PAUSE:-3}))
done
if ! mountpoint -q "$target"; then
  echo "$target is no mount point though mount succeeded" >&2
  exit 1
fi
probe=$target/.gpuyard-probe-$(hostname)
echo ok > "$probe"
if [ "$(cat "$probe")" != ok ]; then
  echo "what was written to $target cannot be read back" >&2
  exit 1
fi
rm -f "$probe"
