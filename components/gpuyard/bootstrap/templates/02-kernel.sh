#!/bin/bash
# Kernel and limits as training needs them: large socket buffers, memory that RDMA and CUDA may pin, many open files,
# huge pages where the pool asks for them.
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html (memlock)
# https://fasterdata.es.net/host-tuning/linux/ (socket buffers)
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_ENV:-/etc/gpuyard/node.env}"
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

etc=${GPUYARD_ETC:-/etc}
put "$etc/sysctl.d/90-gpuyard.conf" << END || true
net.core.rmem_max = 268435456
net.core.wmem_max = 268435456
net.ipv4.tcp_rmem = 4096 131072 268435456
net.ipv4.tcp_wmem = 4096 131072 268435456
net.core.netdev_max_backlog = 250000
net.core.somaxconn = 65535
vm.max_map_count = 1048576
fs.inotify.max_user_instances = 8192
END
put "$etc/security/limits.d/90-gpuyard.conf" << END || true
* soft memlock unlimited
* hard memlock unlimited
* soft nofile 1048576
* hard nofile 1048576
END
# Services do not read limits.d: a job that systemd or Docker starts has these.
if put "$etc/systemd/system.conf.d/90-gpuyard.conf" << END; then
[Manager]
DefaultLimitMEMLOCK=infinity
DefaultLimitNOFILE=1048576
END
  systemctl daemon-reexec
fi
sysctl -q -p "$etc/sysctl.d/90-gpuyard.conf"
if [ -n "${GPUYARD_HUGE_PAGES_GIB:-}" ]; then
  pages=$((GPUYARD_HUGE_PAGES_GIB * 512))
  sysctl -q -w "vm.nr_hugepages=$pages"
  got=$(sysctl -n vm.nr_hugepages)
  if [ "$got" -lt "$pages" ]; then
    echo "the kernel gives $got huge pages of 2 MiB, $pages were asked for: ask for fewer, or start with more memory" >&2
    exit 1
  fi
fi
