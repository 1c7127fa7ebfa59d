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

# at_least MINIMUM VERSION: whether a version is that one or a later one.
at_least() {
  [ "$(printf '%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ]
}

# fetch URL SHA256 FILE: a file over the network, with retries; one of another sum is refused.
fetch() {
  retry curl -fsS --retry 3 -o "$3" "$1" || return 1
  if ! echo "$2  $3" | sha256sum --check --quiet > /dev/null; then
    echo "${1##*/} is not the file that it should be" >&2
    return 1
  fi
}

# driver_version: of the GPU driver that runs.
driver_version() {
  local versions
  # One line for each GPU.
  versions=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader) || return 1
  echo "${versions%%$'\n'*}"
}

# check_driver: it sees GPUs, and is new enough for them and for the pool's PyTorch. One that is not is refused, not left
# to fail in the middle of a job.
check_driver() {
  local listed version minimum=${GPUYARD_DRIVER_MINIMUM:-0}
  listed=$(nvidia-smi -L) || true
  if [[ $listed != GPU* ]]; then
    echo "the driver is there and sees no GPU" >&2
    return 1
  fi
  version=$(driver_version) || return 1
  if ! at_least "$minimum" "$version"; then
    echo "driver $version is too old: ${GPUYARD_DRIVER_REASON:-these GPUs} need $minimum or newer" >&2
    return 1
  fi
}

# put FILE: standard input becomes the file, whole or not at all. Fails when the file has been so already, so that
# whoever has to be told of a change is told only then: put FILE << END && systemctl ...
put() {
  local file=$1 new
  new=$(mktemp)
  cat > "$new"
  if [ -e "$file" ] && [ "$(cat "$new")" = "$(cat "$file")" ]; then
    rm -f "$new"
    return 1
  fi
  mkdir -p "$(dirname "$file")"
  chmod 0644 "$new"
  mv "$new" "$file"
}

# install_packages NAME...: by the image's package manager, with retries; what is there already costs nothing.
install_packages() {
  if command -v apt-get > /dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    retry apt-get -qq update
    retry apt-get -qq -y install "$@"
  else
    retry dnf -q -y install "$@"
  fi
}

# mount_and_prove SOURCE TARGET TYPE OPTIONS: as a systemd unit, so that jobs can require it (RequiresMountsFor=), with
# bounded tries; proved by a write before anything relies on it. What is mounted already is only proved.
mount_and_prove() {
  local source=$1 target=$2 type=$3 options=$4 tries=${GPUYARD_TRIES:-10} try unit probe
  unit=$(systemd-escape --path --suffix=mount "$target")
  mkdir -p "$target"
  # It is started by the set-up at each boot and not enabled: its network has to be there before it.
  if put "${GPUYARD_UNITS:-/etc/systemd/system}/$unit" << END; then
[Unit]
Description=gpuyard: the shared file system
After=network-online.target
Wants=network-online.target

[Mount]
What=$source
Where=$target
Type=$type
Options=$options
TimeoutSec=120
END
    systemctl daemon-reload
  fi
  for try in $(seq "$tries"); do
    if mountpoint -q "$target" || timeout 150 systemctl start "$unit"; then
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
