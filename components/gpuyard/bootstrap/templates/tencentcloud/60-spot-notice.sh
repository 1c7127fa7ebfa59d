#!/bin/bash
# Watch the metadata for the end of this spot machine.
set -euo pipefail

systemctl enable --now gpuyard-spot-notice.service
