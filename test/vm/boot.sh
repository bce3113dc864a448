#!/bin/sh
# Becomes a machine: an overlay on the base, a control group and a network of its own. For `unshare --mount`: what is
# mounted here goes with the process.
# usage: boot.sh BASE DIRECTORY; the directory's name is the machine's, and that of its network
set -eu
base=$1 dir=$2
name=${dir##*/}

mkdir -p "$dir/upper" "$dir/work" "$dir/root"
if ! mount -t overlay overlay -o "lowerdir=$base,upperdir=$dir/upper,workdir=$dir/work" "$dir/root" 2>/dev/null; then
  # No overlay on this file system: a copy then, made once.
  [ -d "$dir/root/usr" ] || cp -a --reflink=auto "$base/." "$dir/root/"
fi
# Its own name and host keys, made once.
if [ ! -e "$dir/root/etc/ssh/ssh_host_ed25519_key" ]; then
  chroot "$dir/root" ssh-keygen -A >/dev/null
  echo "$name" >"$dir/root/etc/hostname"
  printf '127.0.0.1 localhost %s\n' "$name" >"$dir/root/etc/hosts"
fi
# The machine's systemd wants the unified hierarchy, whatever this one's system uses.
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p "/sys/fs/cgroup/$name"
echo $$ >"/sys/fs/cgroup/$name/cgroup.procs"
exec systemd-nspawn --quiet --boot --register=no --keep-unit --machine="$name" --directory="$dir/root" \
  --network-namespace-path="/run/netns/$name" --resolv-conf=off --timezone=off --link-journal=no \
  --console=passive --kill-signal=SIGRTMIN+3
