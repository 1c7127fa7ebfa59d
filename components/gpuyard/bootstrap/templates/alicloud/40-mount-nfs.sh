#!/bin/bash
# Mount the shared file system over NFS, with bounded tries, and prove it by a write before anything relies on it. CPFS
# has a client of its own, whose address ends in cpfs.aliyuncs.com.
# https://www.alibabacloud.com/help/en/nas/user-guide/mount-an-nfs-file-system-on-a-linux-ecs-instance
# https://help.aliyun.com/en/cpfs/cpfsonecs/user-guide/mount-a-file-system-by-using-the-cpfs-nfs-client
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

target=$GPUYARD_FILE_SYSTEM
source=$GPUYARD_NFS_DNS_NAME:/${GPUYARD_NFS_PATH#/}
options=vers=3,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport
client=https://cpfs-hangzhou-nfs-client.oss-cn-hangzhou.aliyuncs.com/aliyun-alinas-utils-latest

case $GPUYARD_NFS_DNS_NAME in
  *.cpfs.aliyuncs.com) kind=cpfs-nfs ;;
  *) kind=nfs options=$options,nolock,proto=tcp ;;
esac
if ! command -v "mount.$kind" > /dev/null; then
  if ! command -v apt-get > /dev/null; then
    package=nfs-utils
    [ "$kind" = nfs ] || package=$client.al.noarch.rpm
    retry dnf -q -y install "$package"
  elif [ "$kind" = nfs ]; then
    install_packages nfs-common
  else
    package=$(mktemp --suffix=.deb)
    retry curl -fsS --retry 3 -o "$package" "$client.deb"
    chmod 0644 "$package"
    install_packages "$package"
    rm -f "$package"
  fi
fi
mount_and_prove "$source" "$target" "$kind" "$options"
