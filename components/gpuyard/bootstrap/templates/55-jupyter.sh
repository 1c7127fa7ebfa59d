#!/bin/bash
# JupyterLab for people who reach the node through the cloud's sessions or SSH: on the loopback address only, with a
# token that this node draws by itself and that only its user may read (/run/gpuyard-jupyter/token).
#   ssh -L 8888:127.0.0.1:8888 NODE
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

home=${GPUYARD_JUPYTER:-/opt/gpuyard-jupyter}
if ! id gpuyard-jupyter > /dev/null 2>&1; then
  useradd --system --create-home --shell /usr/sbin/nologin gpuyard-jupyter
fi
if [ ! -x "$home/bin/jupyter-lab" ]; then
  if command -v apt-get > /dev/null; then
    install_packages python3-venv
  fi
  python3 -m venv "$home"
  retry "$home/bin/pip" install -q jupyterlab
fi
if put "${GPUYARD_UNITS:-/etc/systemd/system}/gpuyard-jupyter.service" << END; then
[Unit]
Description=gpuyard: JupyterLab on the loopback address
After=network-online.target

[Service]
User=gpuyard-jupyter
RuntimeDirectory=gpuyard-jupyter
RuntimeDirectoryMode=0700
UMask=0077
EnvironmentFile=/etc/gpuyard/node.env
ExecStartPre=/bin/sh -c 'head -c 32 /dev/urandom | od -An -tx1 | tr -d " \\\\n" > /run/gpuyard-jupyter/token'
ExecStart=/bin/sh -c 'JUPYTER_TOKEN=\$(cat /run/gpuyard-jupyter/token) exec $home/bin/jupyter-lab --ip=127.0.0.1 --port=8888 --no-browser'
NoNewPrivileges=yes
ProtectSystem=full
Restart=on-failure

[Install]
WantedBy=multi-user.target
END
  systemctl daemon-reload
fi
systemctl enable --now gpuyard-jupyter.service
