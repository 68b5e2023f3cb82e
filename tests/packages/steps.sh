# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # for those who source this; tool and dir are theirs
# steps.sh - packages, and jobs of a private Slurm, in a root that is thrown away, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The caller sets 'tool', apt or rpm, and 'dir', the directory of the private Slurm.

. "$(dirname "${BASH_SOURCE[0]}")/../live/lib/tap.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../live/lib/cluster.sh"
readonly NAMES=(dnnest dnnest-dev slurm-dnnest-plugins dnnestd)
readonly KEYS='model=resnet50,batch=128,precision=fp16,optimizer=momentum,epochs=30,dataset=imagenet'
export DEBIAN_FRONTEND=noninteractive

# Sets 'said' and 'status'.
run() {
    status=0
    said=$("$@" 2>&1) || status=$?
}
apt() {
    run apt-get -q -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold \
        --no-install-recommends "$@"
}
# put DIR: installs or upgrades the packages of a directory. What they require are packages of
# Debian, which rpm does not know.
put() {
    case $tool in
        apt) apt install "$1"/*.deb ;;
        rpm) run rpm -U --nodeps "$1"/*.x86_64.rpm ;;
    esac
}
# take NAME...: removes packages
take() {
    case $tool in
        apt) apt remove "$@" ;;
        rpm) run rpm -e --nodeps "$@" ;;
    esac
}
answers() {
    scontrol ping | grep -q 'is UP'
}
# The controller answers, and a job of 'sleep_s' seconds (1) can be submitted. Sets 'limit' and 'id'.
submit() {
    limit='' id=''
    answers || return 1
    id=$(cluster_as_user sbatch --parsable -t 1-0 --gres=gpu:a100:4 -c 80 --mem=200G \
        -o /dev/null "$@" --wrap="sleep ${sleep_s:-1}" 2>"$dir/words") || return 1
    limit=$(cluster_job_field "$id" TimeLimit)
}
# accepted TITLE OPTION...: not by ok (), whose command runs in another process
accepted() {
    local title=$1
    shift
    if submit "$@"; then
        pass "$title"
    else
        fail "$title"
        diag "$(cat "$dir/words" 2>&1)"
    fi
}
well() {
    accepted "slurmctld is well $1"
}
# How many of the packages are installed.
installed() {
    case $tool in
        apt)
            dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${NAMES[@]}" 2>/dev/null |
                grep -c ' installed$' || true
            ;;
        rpm) rpm -q "${NAMES[@]}" | grep -vc 'is not installed' || true ;;
    esac
}
# site_lines LINE...: what a site adds to the dnnest.conf of the package
site_lines() {
    local nodes='PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=gpu'
    printf '%s\n' 'Mode=enforce EvidenceTime=words' "Gpu Type=a100 Device=a100_sxm4_40gb Cost=3.0 $nodes" \
        "Gpu Type=v100 Device=v100_sxm2_16gb Cost=1.0 $nodes" "$@"
}
# write_conf: the dnnest.conf of the private Slurm
write_conf() {
    mkdir -p "$dir/state"
    {
        cat /etc/slurm/dnnest.conf
        site_lines "StateDir=$dir/state" WatchInterval=2
    } >"$dir/etc/dnnest.conf"
}
