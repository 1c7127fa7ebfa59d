#!/bin/bash
# Watch for the end of this machine, so that its jobs write a checkpoint before it goes.
set -euo pipefail

systemctl enable --now gpuyard-watcher.service
