# shellcheck shell=bash
# live.sh - the common start of every test on a private Slurm, to be sourced
#
#   live_begin NAME [PLUGIN]...   after that, $dir is a directory, removed with the cluster
#   live_hardware                 the catalogue and a data set, in $dir/etc
#   live_conf [LINE]...           $dir/etc/dnnest.conf: two GPU types, and these lines
#   mark; logged                  what dnnest wrote since then into the controller's log
#
# Where no cluster can run, or one of the plugins is not built, the test is skipped.
# Sets top, build, plugin_dir, dnnest and dir; tap.sh and cluster.sh are sourced, too.
# shellcheck disable=SC2034  # used by those that source it

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
top=${abs_top_srcdir:-$(cd "$here/../.." && pwd)}
build=${abs_top_builddir:-$top}
plugin_dir=${DNNEST_PLUGIN_DIR:-$build/.libs}
dnnest=${DNNEST:-$build/dnnest}
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
    mkdir -p "$dir/etc/hardware"
    install -m 644 "$top"/etc/hardware/*.conf "$dir/etc/hardware/"
    echo 'Dataset=imagenet Samples=1281167 SampleBytes=110000 Decode=jpeg' \
        >"$dir/etc/datasets.conf"
}

# A v100 for a quarter of the price of an a100; nodes are those of cluster_start. A file is
# replaced atomically: a running controller may read it at any time.
live_partitions=ALL
live_conf() {
    local nodes="PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=$live_partitions"

    printf '%s\n' "HardwareDir=$dir/etc/hardware" \
        "Datasets=$dir/etc/datasets.conf DecisionTime=1000" \
        MaxSlowdown=9 MinConfidence=0 "Gpu Type=a100 Device=a100_sxm4_40gb Cost=4 $nodes" \
        "Gpu Type=v100 Device=v100_sxm2_16gb Cost=1 $nodes" "$@" >"$dir/etc/dnnest.new"
    mv "$dir/etc/dnnest.new" "$dir/etc/dnnest.conf"
}

log_mark=0
mark() {
    log_mark=$(wc -l <"$dir/log/slurmctld.log")
}
logged() {
    tail -n "+$((log_mark + 1))" "$dir/log/slurmctld.log" | grep -a 'job_submit/dnnest' || true
}
