# shellcheck shell=bash
# live.sh - the common start of every test on a private Slurm, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
#   live_begin NAME [PLUGIN]...   after that, $dir is a directory, removed with the cluster
#   live_hardware                 what is shipped, in $dir/etc: catalogue, data sets, bundle
#   live_conf [LINE]...           $dir/etc/dnnest.conf: two GPU types with the prices of the
#                                 catalogue, the shipped bundle, and these lines
#   LIVE_KEYS                     the description of a job that all rules change
#   mark; logged                  what dnnest wrote since then into the controller's log
#
# Where no cluster can run, or one of the plugins is not built, the test is skipped.
# DNNEST_PLUGIN_DIR, DNNEST and DNNEST_SHARE name the plugins, the command and the
# directory of the shipped files, such as those that 'make install' has made; the others are
# those of the build.
# Sets top, build, plugin_dir, dnnest, share and dir; tap.sh and cluster.sh are sourced, too.
# shellcheck disable=SC2034  # used by those that source it

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
top=${abs_top_srcdir:-$(cd "$here/../.." && pwd)}
build=${abs_top_builddir:-$top}
plugin_dir=${DNNEST_PLUGIN_DIR:-$build/.libs}
dnnest=${DNNEST:-$build/dnnest}
share=${DNNEST_SHARE:-$top/etc}
# Variables of the test suite, which sbatch would pass to the jobs; no user has them.
for variable in "${!DNNEST@}"; do export -n "$variable"; done
# shellcheck source=tests/live/lib/tap.sh
. "$here/lib/tap.sh"
# shellcheck source=tests/live/lib/cluster.sh
. "$here/lib/cluster.sh"

live_begin() {
    local name=$1 reason plugin
    shift
    plan_later
    if reason=$(cluster_missing); then skip_all "$reason"; fi
    for plugin in "$@"; do
        if [[ ! -e $plugin_dir/$plugin.so ]]; then
            skip_all "$plugin is not built (--without-slurm)"
        fi
    done
    dir=$(mktemp -d "/tmp/dnnest-$name.XXXXXX")
    cluster_trap "rm -rf '$dir'"
}

live_hardware() {
    mkdir -p "$dir"/etc/{hardware,bundle}
    install -m 644 "$share"/hardware/*.conf "$dir/etc/hardware/"
    install -m 644 "$share"/bundle/* "$dir/etc/bundle/"
    install -m 644 "$share/datasets.conf" "$dir/etc/"
}

# With the shipped bundle, prices and rules, four a100, 80 CPUs and a day become four v100,
# at two thirds of the cost, a tenth of the CPUs and a few hours.
readonly LIVE_KEYS='model=bert_base,precision=fp16,batch=2,steps=20000,decode=text'

# Nodes are those of cluster_start. All rules have their defaults, but a decision may take a
# second, because the machine is busy and the build may have sanitizers. A file is replaced
# atomically: a running controller may read it at any time.
live_partitions=ALL
live_conf() {
    local nodes="PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=$live_partitions"

    printf '%s\n' "HardwareDir=$dir/etc/hardware" \
        "Datasets=$dir/etc/datasets.conf DecisionTime=1000" "Bundle=$dir/etc/bundle" \
        "Gpu Type=a100 Device=a100_sxm4_40gb $nodes" \
        "Gpu Type=v100 Device=v100_sxm2_16gb $nodes" "$@" >"$dir/etc/dnnest.new"
    mv "$dir/etc/dnnest.new" "$dir/etc/dnnest.conf"
}

log_mark=0
mark() {
    log_mark=$(wc -l <"$dir/log/slurmctld.log")
}
logged() {
    tail -n "+$((log_mark + 1))" "$dir/log/slurmctld.log" | grep -a 'job_submit/dnnest' || true
}
