#!/bin/sh
# Makes the file system that the machines of these tests begin with: Debian 12 with systemd and what a recorder's box has.
# usage: base.sh DIRECTORY (root; whole or not at all; what is there already stays)
set -eu
to=$1
[ ! -e "$to" ] || exit 0

packages=systemd,systemd-sysv,dbus,udev,openssh-server,sudo,curl,ca-certificates,openssl,iproute2,procps
packages=$packages,alsa-utils,libasound2-plugins,ffmpeg,jackd2,sndfile-tools

made=$to.$$
# What is mounted below must be gone before anything is removed.
undo() {
  for at in proc sys; do umount -R "$made/$at" 2>/dev/null || :; done
  rm -rf --one-file-system "$made"
}
trap undo EXIT
debootstrap --foreign --variant=minbase --include="$packages" bookworm "$made"
# Nobody reads these manuals, and a base that a power cut damages is made anew.
mkdir -p "$made/etc/dpkg/dpkg.cfg.d"
printf '%s\n' force-unsafe-io 'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/man/*' \
  'path-exclude=/usr/share/locale/*' >"$made/etc/dpkg/dpkg.cfg.d/field"
chroot "$made" /debootstrap/debootstrap --second-stage
rm -rf "$made"/var/cache/apt/archives/*.deb "$made"/var/lib/apt/lists/* "$made/etc/dpkg/dpkg.cfg.d/field"
# Every machine is somebody else: its name, its identity and its host keys come with it.
rm -f "$made"/etc/ssh/ssh_host_*
: >"$made/etc/machine-id"
umount -R "$made/proc" 2>/dev/null || :
umount -R "$made/sys" 2>/dev/null || :
mv "$made" "$to"
trap - EXIT
