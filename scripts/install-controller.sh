#!/bin/sh
# Makes this box the controller of a fleet: takes the program from a release host or a file, checks it, and runs
# "roomtone setup controller", which does everything else and leaves the box as it was when it fails.
set -eu

usage() {
  cat <<'USAGE'
usage: install-controller.sh --release-base URL [--version TAG] [options]   (as root)
       install-controller.sh --file ARCHIVE.tar.gz [options]                with ARCHIVE.tar.gz.sha256 or SHA256SUMS beside it

  --release-base URL      releases are fetched from URL/TAG/; the latest from URL/latest/, or where URL is
                          .../OWNER/REPO/releases/download by the list of releases there
  --version TAG           full release tag (default: the latest)
  --file FILE             archive of a release on this box; nothing is fetched
  --release-key FILE      Ed25519 public key, PEM: take only what its owner signed (default: /etc/roomtone/release-key.pem, where
                          that is)
  --allow-insecure        take a release by plain http that is not signed (development only)
  --public-url URL        address at which people and recorders reach this controller
  --host ADDRESS          address to listen on (default: 127.0.0.1, this box only)
  --port N                port to listen on (default: 8787)
  --tls-cert FILE --tls-key FILE
  --with-lifecycle        act on the recorders over SSH from here: no separate runner is needed
  --no-packages           do not install Debian packages
  --no-start              do not enable and start the service
  --uninstall [--purge]   remove Roomtone; --purge: also settings, keys, users and all recordings
USAGE
}

fail() {
  printf 'install-controller: %s\n' "$1" >&2
  exit 1
}

misused() {
  printf 'install-controller: %s (see --help)\n' "$1" >&2
  exit 2
}

installed=/opt/roomtone/bin/roomtone
site_key=/etc/roomtone/release-key.pem

target_of() {
  # A 64-bit kernel may carry a 32-bit system, as Raspberry Pi OS does.
  [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 64 ] || fail 'this is a 32-bit system: install a 64-bit one, Roomtone does not support this one'
  case $1 in
    x86_64 | amd64) echo x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) echo aarch64-unknown-linux-gnu ;;
    *) fail "the architecture $1 is not supported: x86_64 and aarch64 (64-bit systems) are" ;;
  esac
}

# fetch URL FILE HINT
fetch() {
  # Without a signature only https is allowed, also for redirects.
  curl --fail --silent --show-error --location ${strict:+--proto '=https'} --retry 2 --connect-timeout 20 --output "$2" -- "$1" \
    2>"$work/words" || {
    words=$(grep '^curl: (' "$work/words" | tail -n 1)
    hint=${3-Check the address, and whether this box can reach it.}
    case $words in *rotocol*) hint='An unsigned release must come by https, also across redirects: sign it and pass --release-key, or use --allow-insecure for a test.' ;; esac
    fail "$1 could not be fetched: ${words%.}. $hint"
  }
}

# Checks that the owner of the release key signed a list of checksums: verify LIST SIGNATURE
verify() {
  said=$(openssl pkeyutl -verify -pubin -inkey "$release_key" -rawin -in "$1" -sigfile "$2" 2>&1) && return 0
  case $said in
    *'Verification Failure'*) fail "SHA256SUMS was not signed by the owner of $release_key. Nothing was changed" ;;
    *) fail "the signature of SHA256SUMS cannot be checked with $release_key: $(printf %s "$said" | head -n 1)" ;;
  esac
}

# A repository (https://HOST/OWNER/REPO/releases/download) may hold releases of several components: takes the newest of ours
# from its list of releases, without drafts and pre-releases.
newest_tag() {
  case $version:$release_base in latest:*/releases/download) ;; *) return 0 ;; esac
  repo=${release_base%/releases/download}
  authority=${repo#*://}
  authority=${authority%%/*}
  repo=${repo#*://"$authority"/}
  case $authority in
    github.com) list=https://api.github.com/repos/$repo/releases ;;
    *) list=${release_base%%://*}://$authority/api/v3/repos/$repo/releases ;;
  esac
  fetch "$list?per_page=100" "$work/releases"
  version=$(grep -oE '"(tag_name|draft|prerelease)": *("[^"]*"|true|false)' "$work/releases" | sed 's/": */ /; s/"//g' |
    awk '$1 == "tag_name" { tag = $2; draft = "" } $1 == "draft" { draft = $2 }
      $1 == "prerelease" && $2 == "false" && draft == "false" && tag ~ /^agent-v[0-9A-Za-z.+-]+$/ { print tag }' |
    sort -V | tail -n 1)
  [ -n "$version" ] || fail "$list contains no release whose tag begins with agent-v: pass one with --version"
}

# Leaves the archive at $archive and the line with its checksum at $line.
from_host() {
  newest_tag
  from=$release_base/$version
  fetch "$from/SHA256SUMS" "$work/SHA256SUMS"
  if [ -n "$release_key" ]; then
    fetch "$from/SHA256SUMS.sig" "$work/SHA256SUMS.sig" "Is the release signed? $release_key asks for signed ones."
    verify "$work/SHA256SUMS" "$work/SHA256SUMS.sig"
  fi
  line=$(grep -E "^[0-9a-f]{64} [ *]roomtone-[A-Za-z0-9._+-]+-$target\.tar\.gz\$" "$work/SHA256SUMS" | head -n 1) ||
    fail "$from/SHA256SUMS lists no program for $target"
  # A list of another release would be signed as well.
  case $version:${line#* ?} in
    latest:* | *":roomtone-${version#agent-v}-$target.tar.gz") ;;
    *) fail "$from/SHA256SUMS is the list of another release: ${line#* ?}" ;;
  esac
  echo "Fetching ${line#* ?} ..."
  fetch "$from/${line#* ?}" "$work/archive"
  archive=$work/archive
}

# The line of a list with the checksum of exactly this file: listed NAME LIST
listed() {
  while read -r digest name; do
    [ "${name#\*}" != "$1" ] || { echo "$digest" && break; }
  done <"$2"
}

from_file() {
  [ -r "$file" ] || fail "the file $file cannot be read"
  case $file in *"-$target.tar.gz") ;; *) fail "$file is not a release for this box, whose name ends in -$target.tar.gz" ;; esac
  beside=$(dirname -- "$file")
  # Only the list of all files is signed.
  own=$file.sha256
  if [ -n "$release_key" ]; then
    own=''
    [ -r "$beside/SHA256SUMS.sig" ] ||
      fail "the release is not signed (SHA256SUMS.sig is not beside $file), and $release_key asks for signed ones"
    verify "$beside/SHA256SUMS" "$beside/SHA256SUMS.sig"
  fi
  for sums in "$own" "$beside/SHA256SUMS"; do
    [ -r "$sums" ] || continue
    line=$(listed "${file##*/}" "$sums")
    [ -z "$line" ] || break
  done
  [ -n "${line-}" ] || fail "there is no checksum for $file: put ${file##*/}.sha256 or SHA256SUMS of its release beside it"
  archive=$file
}

obtain() {
  if [ -n "$file" ]; then from_file; else from_host; fi
  got=$(sha256sum "$archive")
  [ "${got%% *}" = "${line%% *}" ] ||
    fail "the archive is damaged or was tampered with: its SHA-256 is ${got%% *}, it should be ${line%% *}. Nothing was changed; fetch it again"
  tar -xzf "$archive" -C "$work" --no-same-owner roomtone || fail 'the archive holds no program'
}

# For a box whose program was removed without --purge.
purge_rest() {
  removed=''
  # After "apt-get remove" the package still owns configuration files.
  case $(dpkg-query -W -f '${db:Status-Abbrev}' roomtone 2>/dev/null) in rc*) dpkg --purge roomtone ;; esac
  for place in /etc/roomtone /etc/credstore/roomtone.* /var/lib/roomtone /var/lib/roomtone-setup; do
    [ -e "$place" ] || continue
    rm -rf "$place"
    removed="$removed, $place"
  done
  rmdir /etc/credstore 2>/dev/null || :
  for user in roomtone-agent roomtone roomtone-lifecycle; do
    ! getent passwd "$user" >/dev/null || { userdel --force "$user" && removed="$removed, user $user"; }
    ! getent group "$user" >/dev/null || groupdel "$user"
  done
  [ -n "$removed" ] || fail 'there is nothing of Roomtone on this box'
  echo "Removed: ${removed#, }."
}

uninstall() {
  [ ! -x "$installed" ] || exec "$installed" setup remove controller ${purge:+--purge}
  [ -n "$purge" ] || fail 'Roomtone is not installed on this box: there is nothing to remove (its settings and state, if any, go with --purge)'
  purge_rest
  exit 0
}

version=latest release_base='' release_key='' file='' host='' port='' url='' cert='' key='' lifecycle=''
packages='' start='' remove='' purge='' insecure=''

options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --with-lifecycle) lifecycle=1 ;;
      --allow-insecure) insecure=1 ;;
      --no-packages) packages=no ;;
      --no-start) start=no ;;
      --uninstall) remove=1 ;;
      --purge) purge=1 ;;
      --help | -h)
        usage
        exit 0
        ;;
      --*=*) option "${1%%=*}" "${1#*=}" ;;
      --*)
        [ $# -gt 1 ] || misused "$1 needs a value"
        option "$1" "$2"
        shift
        ;;
      *) misused "unexpected \"$1\"" ;;
    esac
    shift
  done
}

option() {
  [ -n "$2" ] || misused "$1 needs a value"
  case $1 in
    --release-base) release_base=${2%/} ;;
    --release-key) release_key=$2 ;;
    --version) version=$2 ;;
    --file) file=$2 ;;
    --public-url) url=$2 ;;
    --host) host=$2 ;;
    --port) port=$2 ;;
    --tls-cert) cert=$2 ;;
    --tls-key) key=$2 ;;
    *) misused "there is no option $1" ;;
  esac
}

check() {
  [ "$(id -u)" = 0 ] || fail 'only root can install: run it with sudo'
  [ -z "$remove" ] || uninstall
  target=$(target_of "$(uname -m)")
  [ -n "$file$release_base" ] || misused '--release-base or --file is missing'
  case $version in *[!A-Za-z0-9._+-]*) misused "--version $version is not a release tag" ;; esac
  # A box that has a release key always requires signed releases.
  [ -n "$release_key" ] || [ ! -e "$site_key" ] || release_key=$site_key
  [ -z "$release_key" ] || [ -r "$release_key" ] || fail "the file $release_key (--release-key) cannot be read"
  # Without a signature only the connection protects the download.
  strict=1
  [ -z "$release_key$insecure" ] || strict=''
  for command in tar gzip sha256sum ${release_base:+curl} ${release_key:+openssl}; do
    command -v "$command" >/dev/null || fail "$command is missing: install it (on Debian: apt-get install $command) and run this again"
  done
}

main() {
  options "$@"
  check
  umask 077
  [ -d /opt ] || mkdir -m 755 /opt
  # Not /tmp: it is often mounted noexec.
  work=$(mktemp -d /opt/.roomtone-install.XXXXXX)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  obtain
  "$work/roomtone" version >/dev/null 2>"$work/words" </dev/null ||
    fail "the program does not run here: $(tail -n 1 "$work/words"). It needs glibc 2.34 or newer: Debian 12, Raspberry Pi OS 12, Ubuntu 22.04"
  set -- setup controller
  [ -z "$url" ] || set -- "$@" --public-url "$url"
  [ -z "$host" ] || set -- "$@" --host "$host"
  [ -z "$port" ] || set -- "$@" --port "$port"
  [ -z "$cert" ] || set -- "$@" --tls-cert "$cert"
  [ -z "$key" ] || set -- "$@" --tls-key "$key"
  [ -z "$lifecycle" ] || set -- "$@" --with-lifecycle
  [ -z "$packages" ] || set -- "$@" --no-packages
  [ -z "$start" ] || set -- "$@" --no-start
  "$work/roomtone" "$@" </dev/null
}

# Last, and in braces: a script that was cut off while downloading does nothing.
{ main "$@"; }
