#!/bin/bash
# LNet over EFA, preferred to TCP. It never falls back to TCP in silence: a file system that was paid for its RDMA
# would then be slow and nobody would know.
# https://docs.aws.amazon.com/fsx/latest/LustreGuide/configure-efa-clients.html
set -euo pipefail

# AWS's own package, where the image brings it, knows more of each instance type than this.
for packaged in /opt/configure-efa-fsx-lustre-client /etc/eks/configure-efa-fsx-lustre-client; do
  if [ -x "$packaged/setup.sh" ]; then
    cd "$packaged"
    exec ./setup.sh
  fi
done

if ! modprobe -n kefalnd 2> /dev/null; then
  echo "the Lustre client has no module for EFA (kefalnd): it needs client 2.15 and EFA's driver" >&2
  exit 1
fi
mapfile -t devices < <(
  for device in "${GPUYARD_SYS:-/sys}"/class/infiniband/*; do
    if [ -e "$device/device/driver" ] && [ "$(basename "$(realpath "$device/device/driver")")" = efa ]; then
      basename "$device"
    fi
  done
)
if [ "${#devices[@]}" -eq 0 ]; then
  echo "no EFA device: the file system cannot be reached over RDMA" >&2
  exit 1
fi
primary=$(ip -o route get 169.254.169.254 | sed -n 's/.* dev \([^ ]*\).*/\1/p')
modprobe lnet
modprobe kefalnd "ipif_name=$primary"
modprobe ksocklnd
lnetctl lnet configure
if ! lnetctl net show --net tcp | grep -q "$primary"; then
  lnetctl net add --net tcp --if "$primary"
fi
# The first and the last device: on machines of several cards they are on different sides of the machine.
for device in "${devices[0]}" "${devices[-1]}"; do
  if ! lnetctl net show --net efa | grep -q "$device"; then
    lnetctl net add --net efa --if "$device" --peer-credits 32
  fi
done
lnetctl set discovery 1
if ! lnetctl udsp show | grep -q efa; then
  lnetctl udsp add --src efa --priority 0
fi
modprobe lustre
