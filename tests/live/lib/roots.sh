# shellcheck shell=bash
# shellcheck disable=SC2154  # cache, mirror and work are the caller's
# roots.sh - roots of other distributions, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The caller sets 'cache', the directory of the roots, 'mirror', where debootstrap gets them
# from (empty: its own), and 'work', which is /tmp for what runs inside. The caller's
# clean-up calls end_apart. versions.sh is sourced before.

child= # the process that runs apart

# apart COMMAND...: with mounts and processes of its own, so that nothing of either is left,
# however it ends. In the background, since bash runs a trap only after a command in the
# foreground has ended.
apart() {
    local status=0
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
        "$@" </dev/null &
    child=$!
    wait "$child" || status=$?
    child=
    return "$status"
}

# Killing the first of the processes that run apart ends them all, and their mounts with them.
end_apart() {
    if [[ -z $child ]]; then return 0; fi
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
}

# inside ROOT COMMAND...: apart, and /tmp is $work
inside() {
    # shellcheck disable=SC2016  # the inner shell's
    apart bash -c '
        root=$1 work=$2
        shift 2
        mount --bind "$work" "$root/tmp" || exit 1
        if [[ $root != / ]]; then
            mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 1
        fi
        chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LC_ALL=C.UTF-8 http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" "$@"
    ' inside "$1" "$work" "${@:2}"
}

# Prints where the keys of Ubuntu are. Debian has them as a package, but not Debian 12.
ubuntu_keys() {
    local keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg root=$cache/trixie
    if [[ -e $keys ]]; then
        echo "$keys"
    elif [[ -e $root ]]; then
        inside "$root" apt-get -q -y update >&2 &&
            inside "$root" apt-get -q -y --no-install-recommends install ubuntu-keyring >&2 &&
            echo "$root$keys"
    else
        echo 'no keys of Ubuntu: install ubuntu-keyring, or test 24.11 first' >&2
        return 1
    fi
}

# make_root SUITE ROOT: nothing but what apt needs, under another name until it is whole
make_root() {
    local suite=$1 root=$2 options=(--variant=minbase --force-check-gpg) keys script=()
    if ! command -v debootstrap >/dev/null; then
        echo 'debootstrap is not installed'
        return 1
    fi
    if grep -q "Ubuntu .* $suite\$" <<<"$SLURM_VERSIONS"; then
        keys=$(ubuntu_keys) || return 1
        options+=('--components=main,universe' "--keyring=$keys")
        script=(gutsy) # that of every later one, too, whether debootstrap knows it or not
    fi
    rm -rf "$root.part"
    apart debootstrap "${options[@]}" "$suite" "$root.part" "$mirror" "${script[@]}" || return 1
    # A root that is lost is made again: there is no need to wait for its disk.
    echo force-unsafe-io >"$root.part/etc/dpkg/dpkg.cfg.d/dnnest-matrix"
    # Copies of sid may be older than they say they may be.
    if [[ $suite = sid ]]; then
        echo 'Acquire::Check-Valid-Until "false";' >"$root.part/etc/apt/apt.conf.d/90dnnest-matrix"
    fi
    mv "$root.part" "$root"
}

# The names that are looked up inside. This host's own must be found, or every look-up of
# it takes ten seconds.
write_names() {
    local root=$1
    cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
    printf '127.0.0.1 localhost %s\n::1 localhost\n' "$(uname -n)" >"$root/etc/hosts"
}
