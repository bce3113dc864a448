#!/bin/sh
# What a machine that ended leaves behind: its network and its control groups. For `unshare --mount`.
# usage: raze.sh NAME
set -u
ip netns delete "$1" 2>/dev/null
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit
# A group goes when its last process is reaped, which may be a moment after that process is dead.
tries=0
while [ -d "/sys/fs/cgroup/$1" ] && [ $tries -lt 50 ]; do
  find "/sys/fs/cgroup/$1" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
  tries=$((tries + 1))
done
