# shellcheck shell=bash
# What several parts do. Read by them, not run.

# retry COMMAND...: five times, with a growing pause.
retry() {
  local try
  for try in 1 2 3 4 5; do
    if "$@"; then
      return 0
    fi
    sleep $((try * ${GPUYARD_PAUSE:-5}))
  done
  echo "gave up: $*" >&2
  return 1
}

# mount_and_prove SOURCE TARGET COMMAND...: mount with bounded tries, and prove it by a write before anything relies on
# it. What is mounted already is only proved.
mount_and_prove() {
  local source=$1 target=$2 tries=${GPUYARD_TRIES:-10} try probe
  shift 2
  mkdir -p "$target"
  for try in $(seq "$tries"); do
    if mountpoint -q "$target" || timeout 120 "$@" "$source" "$target"; then
      break
    fi
    if [ "$try" -eq "$tries" ]; then
      echo "cannot mount $source after $tries tries" >&2
      return 1
    fi
    sleep $((try * ${GPUYARD_PAUSE:-3}))
  done
  if ! mountpoint -q "$target"; then
    echo "$target is no mount point though mount succeeded" >&2
    return 1
  fi
  probe=$target/.gpuyard-probe-$(hostname)
  echo ok > "$probe" || return 1
  if [ "$(cat "$probe")" != ok ]; then
    echo "what was written to $target cannot be read back" >&2
    return 1
  fi
  rm -f "$probe"
}
