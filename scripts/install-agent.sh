#!/bin/sh
# Makes this box a Roomtone recorder: fetches the program from the controller (or a release host), checks it, and runs
# "roomtone setup agent", which does everything else and leaves the box as it was when it fails.
set -eu

# Filled in by the controller that serves this script: its address, and the certificate authority of its site (PEM).
default_controller_url=''
default_controller_ca=''

usage() {
  cat <<'USAGE'
usage: install-agent.sh --controller-url URL [--pairing-code CODE] [options]     (as root)
       curl -fsSL -o install.sh https://CONTROLLER/install.sh && sudo sh install.sh [options]

  --controller-url URL          address of the controller (a script it served knows it)
  --pairing-code CODE           the code on the recorder's page in the console; it names the node and is good once; or in
                                SVC_PAIRING_CODE, or typed when asked
  --node-id ID                  the node, as enrolled on the controller (default: the name of this box), with a token
  --bootstrap-token-file FILE   single-use token, - = standard input; or in SVC_BOOTSTRAP_TOKEN, or typed when asked
  --bootstrap-token TOKEN       the same, seen by every user of this box
  --site, --room, --node-alias TEXT
  --version TAG                 full release tag (default: the latest)
  --release-base URL            fetch from URL/TAG/ in place of the controller; the latest from URL/latest/, or where URL is
                                .../OWNER/REPO/releases/download by the list of releases there
  --release-key FILE            Ed25519 public key, PEM: take only what its owner signed (default: /etc/roomtone/release-key.pem,
                                where that is)
  --controller-ca FILE          certificate authority of the controller, PEM: the only one that is trusted (a script it served
                                knows that of its site)
  --allow-insecure              accept plain http, also for releases that are not signed, and untrusted certificates
                                (development only)
  --no-packages                 do not install Debian packages
  --no-start                    do not enable and start the service
  --replace                     turn a box that is another node into this one
  --uninstall [--purge]         remove Roomtone; --purge: also settings, keys, users and all recordings
USAGE
}

fail() {
  printf 'install-agent: %s\n' "$1" >&2
  exit 1
}

misused() {
  printf 'install-agent: %s (see --help)\n' "$1" >&2
  exit 2
}

installed=/opt/roomtone/bin/roomtone
settings=/etc/roomtone/recorder-agent.env
site_key=/etc/roomtone/release-key.pem

setting() {
  [ ! -r "$settings" ] || sed -n "s/^$1=//p" "$settings" | sed 's/^"\(.*\)"$/\1/' | tail -n 1
}

# Without trailing slashes, because addresses are compared as text.
trimmed() {
  url=$1
  while [ "$url" != "${url%/}" ]; do url=${url%/}; done
  printf %s "$url"
}

target_of() {
  # A 64-bit kernel may carry a 32-bit system, as Raspberry Pi OS does.
  [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 64 ] || fail 'this is a 32-bit system: install a 64-bit one, Roomtone does not support this one'
  case $1 in
    x86_64 | amd64) echo x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) echo aarch64-unknown-linux-gnu ;;
    *) fail "the architecture $1 is not supported: x86_64 and aarch64 (64-bit systems) are" ;;
  esac
}

# curl reads the token from standard input, because every user of this box sees arguments. The empty --capath keeps curl from
# trusting the system's authorities besides the given one.
fetch() {
  fetched_from=$1
  if [ -z "$2" ]; then
    # Without a signature only https is allowed, also for redirects.
    curl --fail --silent --show-error --location ${strict:+--proto '=https'} --retry 2 --connect-timeout 20 --output "$3" \
      -- "$1" 2>"$work/words"
  else
    printf 'header = "Authorization: Bearer %s"\n' "$2" |
      curl --fail --silent --show-error --connect-timeout 20 --config - ${ca:+--cacert "$ca" --capath "$work/none"} \
        ${insecure:+--insecure} --output "$3" -- "$1" 2>"$work/words"
  fi
}

# With a token of this node: the new one, or the one this box already has.
fetch_from_controller() {
  for credential in "$token" "$own_token"; do
    [ -n "$credential" ] || continue
    if fetch "$controller_url/api/v1/nodes/$node_id/agent-release/$1" "$credential" "$2"; then return 0; fi
  done
  [ -n "$token$own_token" ] || fail 'a bootstrap token is needed, or a pairing code: make one for this node and pass it with --bootstrap-token-file or --pairing-code'
  return 1
}

explain() {
  words=$(grep '^curl: (' "$work/words" | tail -n 1)
  case $fetched_from$words in
    *.sig*' 404'*) hint="The release is not signed, and $release_key asks for signed ones." ;;
    *nodes/pair*' 401'*) hint="The controller refuses the pairing code: it is mistyped, has expired, or was used. Get a new one on the recorder's page in the console." ;;
    *nodes/pair*' 404'*) hint='It knows no pairing codes: use a bootstrap token.' ;;
    *nodes/pair*' 429'*) hint='Too many codes were tried: wait a minute and type it again, the code is still good.' ;;
    *' 401'*) hint="The controller refuses the token: it has expired, was used, or is for another node than $node_id. Mint a new one." ;;
    *' 404'*) hint="It has no such release for $target: look at --version, or put the release into its release directory." ;;
    "$controller_url"*ertificate* | "$controller_url"*SSL*)
      hint='Name the certificate authority of the site with --controller-ca FILE.'
      [ -z "$ca" ] || hint="$ca (--controller-ca) is not the authority of this controller: bring its /etc/roomtone/tls/ca.pem."
      ;;
    *ertificate* | *SSL*) hint='This box does not trust the certificate of that host: is ca-certificates installed, and the clock right?' ;;
    *rotocol*) hint='An unsigned release must come by https, also across redirects: sign it and pass --release-key, or use --allow-insecure for a test.' ;;
    *) hint='Check the address, and whether this box can reach it.' ;;
  esac
  fail "$fetched_from could not be fetched: ${words%.}. $hint"
}

# Checks that the owner of the release key signed a list of checksums: verify LIST SIGNATURE
verify() {
  said=$(openssl pkeyutl -verify -pubin -inkey "$release_key" -rawin -in "$1" -sigfile "$2" 2>&1) && return 0
  case $said in
    *'Verification Failure'*) fail "SHA256SUMS was not signed by the owner of $release_key. Nothing was changed" ;;
    *) fail "the signature of SHA256SUMS cannot be checked with $release_key: $(printf %s "$said" | head -n 1)" ;;
  esac
}

fetch_release() {
  if [ -n "$release_base" ]; then
    fetch "$release_base/$version/$1" '' "$2" || explain
    return 0
  fi
  case $1:$version in
    *:latest | roomtone-*) fetch_from_controller "$1" "$2" || explain ;;
    *) fetch_from_controller "${version#agent-v}.$1" "$2" || explain ;;
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
  fetch "$list?per_page=100" '' "$work/releases" || explain
  version=$(grep -oE '"(tag_name|draft|prerelease)": *("[^"]*"|true|false)' "$work/releases" | sed 's/": */ /; s/"//g' |
    awk '$1 == "tag_name" { tag = $2; draft = "" } $1 == "draft" { draft = $2 }
      $1 == "prerelease" && $2 == "false" && draft == "false" && tag ~ /^agent-v[0-9A-Za-z.+-]+$/ { print tag }' |
    sort -V | tail -n 1)
  [ -n "$version" ] || fail "$list contains no release whose tag begins with agent-v: pass one with --version"
}

# Leaves the checked program at $program.
obtain() {
  newest_tag
  fetch_release SHA256SUMS "$work/SHA256SUMS"
  if [ -n "$release_key" ]; then
    fetch_release SHA256SUMS.sig "$work/SHA256SUMS.sig"
    verify "$work/SHA256SUMS" "$work/SHA256SUMS.sig"
  fi
  line=$(grep -E "^[0-9a-f]{64} [ *]roomtone-[A-Za-z0-9._+-]+-$target\.tar\.gz\$" "$work/SHA256SUMS" | head -n 1) ||
    fail "$fetched_from lists no program for $target"
  digest=${line%% *}
  archive=${line#* ?}
  release=${archive#roomtone-}
  release=${release%-"$target".tar.gz}
  # A list of another release would be signed as well.
  [ "$version" = latest ] || [ "$release" = "${version#agent-v}" ] || fail "$fetched_from is the list of $release, not of $version"
  program=/opt/roomtone/versions/$release/roomtone
  case $release in
    # A released version never changes: the one that is here will do.
    [0-9][0-9][0-9][0-9].[0-9][0-9].[0-9][0-9]-*) [ ! -x "$program" ] || return 0 ;;
  esac
  echo "Fetching $archive ..."
  fetch_release "$archive" "$work/archive"
  got=$(sha256sum "$work/archive")
  [ "${got%% *}" = "$digest" ] ||
    fail "$archive is damaged or was tampered with: its SHA-256 is ${got%% *}, it should be $digest. Nothing was changed; try again"
  tar -xzf "$work/archive" -C "$work" --no-same-owner roomtone || fail "$archive holds no program"
  rm -f "$work/archive"
  program=$work/roomtone
}

# The authority that came with this script, unless another address or authority is given.
own_authority() {
  [ -n "$default_controller_ca" ] && [ -z "$ca$insecure" ] && [ "$controller_url" = "$(trimmed "$default_controller_url")" ] || return 0
  ca=$work/ca.pem
  printf %s "$default_controller_ca" >"$ca"
}

# Asks on the terminal: standard input may be the pipe this script comes from. A code names the node and ends by itself; a
# token is hidden.
ask_token() {
  (: </dev/tty) 2>/dev/null || return 0
  if [ -z "$named" ]; then
    printf "Pairing code, from the recorder's page in the console: " >/dev/tty
    read -r token </dev/tty || :
  else
    printf 'Bootstrap token or pairing code of %s (not shown): ' "$node_id" >/dev/tty
    stty -echo </dev/tty
    read -r token </dev/tty || :
    stty echo </dev/tty
    echo >/dev/tty
  fi
  if is_code "$token"; then
    code=$token
    token=''
  fi
}

# Eight letters and digits, however they are grouped.
is_code() {
  bare=$(printf %s "$1" | tr -d ' \t\r\n-')
  case $bare in
    *[!A-Za-z2-9]*) return 1 ;;
    ????????) return 0 ;;
  esac
  return 1
}

# Trades the code for a node and its token. The code comes on standard input, as the token does.
pair() {
  [ -n "$code" ] || return 0
  is_code "$code" || fail 'this is not a pairing code: it has 8 letters and digits, like K7QM-3XPD'
  fetched_from=$controller_url/api/v1/nodes/pair
  printf '{"code":"%s"}' "$bare" |
    curl --fail --silent --show-error --connect-timeout 20 ${ca:+--cacert "$ca" --capath "$work/none"} ${insecure:+--insecure} \
      --header 'Content-Type: application/json' --data-binary @- --output "$work/answer" -- "$fetched_from" 2>"$work/words" || explain
  node_id=$(answered nodeId)
  token=$(answered token)
  case $node_id$token in
    *[!A-Za-z0-9_.:@-]*) fail "$fetched_from did not answer as a controller does" ;;
    *svc_bs_*) ;;
    *) fail "$fetched_from did not answer as a controller does" ;;
  esac
  # A token of this box is of no use if it is to be another node.
  [ "$(setting SVC_NODE_ID)" = "$node_id" ] || own_token=''
}

answered() {
  grep -oE "\"$1\": *\"[^\"]*\"" "$work/answer" | head -n 1 | sed 's/.*: *"//; s/"$//'
}

read_token() {
  case $token_file in
    '') ;;
    -) token=$(cat) ;;
    *) token=$(cat "$token_file") || fail "the token file $token_file cannot be read" ;;
  esac
  token=$(printf %s "$token" | tr -d ' \t\r\n')
  [ -z "$code" ] || [ -z "$token" ] || misused 'a bootstrap token and a pairing code are both given: one of them is enough'
  [ -n "$token$own_token$code" ] || ask_token
  case $token in
    '' | svc_bs_*) ;;
    svc_node_*) fail 'this is the token of a node: mint a bootstrap token for this node (it begins with svc_bs_)' ;;
    *) fail 'this is not a bootstrap token, which begins with svc_bs_, nor a pairing code: make one for this node' ;;
  esac
}

# The release comes from another host: ask the controller about the token first, which does not use it up.
check_token() {
  [ -n "$release_base" ] && [ -n "$token" ] && [ -z "$own_token" ] || return 0
  fetch "$controller_url/api/v1/nodes/$node_id/bootstrap" "$token" "$work/answer" || explain
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
  [ ! -x "$installed" ] || exec "$installed" setup remove ${purge:+--purge}
  [ -n "$purge" ] || fail 'Roomtone is not installed on this box: there is nothing to remove (its settings and state, if any, go with --purge)'
  purge_rest
  exit 0
}

controller_url=$default_controller_url
token=${SVC_BOOTSTRAP_TOKEN-}
code=${SVC_PAIRING_CODE-}
unset SVC_BOOTSTRAP_TOKEN SVC_PAIRING_CODE
node_id='' token_file='' site='' room='' alias='' version=latest release_base='' release_key=''
ca='' insecure='' packages='' start='' replace='' remove='' purge=''

options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --allow-insecure) insecure=1 ;;
      --no-packages) packages=no ;;
      --no-start) start=no ;;
      --replace) replace=1 ;;
      --uninstall) remove=1 ;;
      --purge) purge=1 ;;
      --help | -h)
        usage
        exit 0
        ;;
      --*=*)
        option "${1%%=*}" "${1#*=}"
        ;;
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
    --controller-url) controller_url=$2 ;;
    --node-id) node_id=$2 ;;
    --bootstrap-token)
      echo 'A token in the command line is seen by every user of this box: --bootstrap-token-file is better.' >&2
      token=$2
      ;;
    --bootstrap-token-file) token_file=$2 ;;
    --pairing-code) code=$2 ;;
    --site) site=$2 ;;
    --room) room=$2 ;;
    --node-alias | --alias) alias=$2 ;;
    --version) version=$2 ;;
    --release-base) release_base=$(trimmed "$2") ;;
    --release-key) release_key=$2 ;;
    --controller-ca) ca=$2 ;;
    *) misused "there is no option $1" ;;
  esac
}

check() {
  [ "$(id -u)" = 0 ] || fail 'only root can install: run it with sudo'
  [ -z "$remove" ] || uninstall
  target=$(target_of "$(uname -m)")
  controller_url=$(trimmed "$controller_url")
  [ -n "$controller_url" ] || misused '--controller-url is missing'
  [ -n "$node_id" ] || node_id=$(setting SVC_NODE_ID)
  named=$node_id
  [ -n "$node_id" ] || node_id=$(uname -n)
  case $node_id in *[!A-Za-z0-9_.:@-]*) misused "--node-id $node_id is not a node ID" ;; esac
  case $version in *[!A-Za-z0-9._+-]*) misused "--version $version is not a release tag" ;; esac
  case $controller_url in
    https://* | http://localhost | http://localhost[:/]* | http://127.* | http://\[::1\]*) ;;
    http://*) [ -n "$insecure" ] || fail "$controller_url is plain http: use https, or --allow-insecure for a test" ;;
    *) misused "--controller-url $controller_url is not an http or https address" ;;
  esac
  [ -z "$ca" ] || [ -r "$ca" ] || fail "the file $ca (--controller-ca) cannot be read"
  # A box that has a release key always requires signed releases.
  [ -n "$release_key" ] || [ ! -e "$site_key" ] || release_key=$site_key
  [ -z "$release_key" ] || [ -r "$release_key" ] || fail "the file $release_key (--release-key) cannot be read"
  # Without a signature only the connection protects the download.
  strict=1
  [ -z "$release_key$insecure" ] || strict=''
  for command in curl tar gzip sha256sum ${release_key:+openssl}; do
    command -v "$command" >/dev/null || fail "$command is missing: install it (on Debian: apt-get install $command) and run this again"
  done
}

main() {
  options "$@"
  check
  own_token=''
  [ "$(setting SVC_NODE_ID)" != "$node_id" ] || own_token=$(setting SVC_CONTROLLER_TOKEN)
  read_token
  umask 077
  [ -d /opt ] || mkdir -m 755 /opt
  # Not /tmp: it is often mounted noexec.
  work=$(mktemp -d /opt/.roomtone-install.XXXXXX)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM HUP
  mkdir "$work/none"
  own_authority
  pair
  check_token
  obtain
  "$program" version >/dev/null 2>"$work/words" </dev/null ||
    fail "the program does not run here: $(tail -n 1 "$work/words"). It needs glibc 2.34 or newer: Debian 12, Raspberry Pi OS 12, Ubuntu 22.04"
  set -- setup agent --controller-url "$controller_url" --node-id "$node_id"
  [ -z "$site" ] || set -- "$@" --site "$site"
  [ -z "$room" ] || set -- "$@" --room "$room"
  [ -z "$alias" ] || set -- "$@" --node-alias "$alias"
  [ -z "$ca" ] || set -- "$@" --controller-ca "$ca"
  [ -z "$insecure" ] || set -- "$@" --allow-insecure
  [ -z "$packages" ] || set -- "$@" --no-packages
  [ -z "$start" ] || set -- "$@" --no-start
  [ -z "$replace" ] || set -- "$@" --replace
  if [ -n "$token" ]; then
    printf %s "$token" | "$program" "$@" --bootstrap-token-file -
  else
    "$program" "$@" </dev/null
  fi
}

# Last, and in braces: a script that was cut off while downloading does nothing.
{ main "$@"; }
