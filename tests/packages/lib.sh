# shellcheck shell=bash
# shellcheck disable=SC2034  # for those who source this
# lib.sh - roots in which packages are built and installed, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Roots are kept in 'cache', and made from 'mirror' (empty: that of debootstrap). 'work' is
# /tmp for what runs in one; the copy of the tree is in $work/src. Functions return non-zero
# if something failed, except die.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly top
source "$top/packaging/lib/build.sh"
source "$top/tests/live/lib/versions.sh"
source "$top/tests/live/lib/roots.sh"
# What a private Slurm and its test need, without a package of Slurm.
readonly FOR_CLUSTER=(munge mariadb-server-core mariadb-client-core procps util-linux jq python3
    gawk ca-certificates)
readonly SLURM_PACKAGES=(slurmctld slurmd slurmdbd slurm-client)

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/dnnest-matrix
mirror=
work=
group= # of the processes of a root that is booted

die() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 2
}

# option_of_all OPTION: one that every test of packages has
option_of_all() {
    case $1 in
        --cache=?*) cache=$(realpath -m "${1#*=}") ;;
        --mirror=?*) mirror=${1#*=} ;;
        -h | --help)
            print_usage
            exit
            ;;
        *) die "unknown option '$1', see --help" ;;
    esac
}

# The processes that were killed leave it a moment later.
remove_group() {
    local i
    for ((i = 0; i < 50; i++)); do
        if find "$group" -depth -type d -exec rmdir {} + 2>/dev/null; then break; fi
        sleep 0.1
    done
    group=
}

clean_up() {
    end_apart
    if [[ -n $group ]]; then remove_group; fi
    if [[ -n $work ]]; then rm -rf "$work"; fi
}

# begin: after the options are read; a new $work, removed at the end
begin() {
    if ((EUID != 0)); then die 'takes root: roots to change into, and a private Slurm'; fi
    command -v debootstrap >/dev/null || die 'debootstrap is not installed'
    at_end clean_up
    mkdir -p "$cache"
    work=$(mktemp -d /var/tmp/dnnest-packages.XXXXXX)
    chmod 1777 "$work"
}

# apt_in ROOT PACKAGE...
apt_in() {
    inside "$1" env DEBIAN_FRONTEND=noninteractive apt-get -q -y update &&
        inside "$1" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
            --no-install-recommends install "${@:2}"
}

# root_of NAME SUITE: $cache/NAME, made if it is not there
root_of() {
    if [[ ! -e $cache/$1 ]]; then make_root "$2" "$cache/$1" || return 1; fi
    write_names "$cache/$1"
}

# bare_with SUITE PACKAGE...: $work/bare, a copy, so that every run begins without dnnest
bare_with() {
    rm -rf "$work/bare"
    step "$1-bare" root_of "$1-bare" "$1" || return 1
    step "$1-fresh" cp -a "$cache/$1-bare" "$work/bare" || return 1
    write_names "$work/bare"
    step "$1-slurm" apt_in "$work/bare" "${@:2}"
}

# boot_root ROOT: starts its systemd, until all units are up. 'booted' runs commands in it, and
# end_apart ends it. $work is /srv, since a system that boots empties /tmp.
boot_root() {
    local i
    group=/sys/fs/cgroup/unified
    if [[ ! -d $group ]]; then group=${group%/unified}; fi
    group+=/dnnest-packages-$$
    mkdir "$group" || return 1
    # Without slurm.conf slurmd fails after a while, and the system is then degraded.
    ln -sf /dev/null "$1/etc/systemd/system/slurmd.service"
    setpriv --pdeathsig KILL "$top/tests/packages/boot" "$group" "$1" "$work" </dev/null &
    child=$!
    for ((i = 0; i < 60; i++)); do
        if booted systemctl is-system-running --wait 2>&1; then return; fi
        sleep 0.5
    done
    booted systemctl --failed --no-pager
    return 1
}

# booted COMMAND...: in the namespaces of the systemd of the root that is booted
booted() {
    local first
    first=$(pgrep -P "$child" -f systemd) || return 1
    nsenter -t "$first" --mount --pid --uts --ipc --cgroup --root --wd \
        /usr/bin/env -i \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" "$@" </dev/null
}
