#!/bin/bash
# SSH by key only, for people who are let in at all: no password, no root, no forwarding of displays.
set -euo pipefail
# shellcheck source=/dev/null
. "${GPUYARD_LIB:-/opt/gpuyard/lib.sh}"

# The first value counts, and files are read in the order of their names.
if put "${GPUYARD_ETC:-/etc}/ssh/sshd_config.d/00-gpuyard.conf" << END; then
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
PermitEmptyPasswords no
X11Forwarding no
MaxAuthTries 3
ClientAliveInterval 120
END
  # A server that does not start again would lock everybody out: its files are judged first.
  sshd -t
  systemctl try-reload-or-restart sshd.service || systemctl try-reload-or-restart ssh.service
fi
