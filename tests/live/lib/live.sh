# shellcheck shell=bash
# live.sh - what every test on a private Slurm begins with, to be sourced
#
#   live_begin NAME [PLUGIN]...   after that, $dir is a directory that goes with the cluster
#
# Where no cluster can run, or one of the plugins is not built, the test is skipped.
# Sets top, build, plugin_dir, dnnest and dir; tap.sh and cluster.sh are sourced, too.
# shellcheck disable=SC2034  # used by those that source it

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
top=${abs_top_srcdir:-$(cd "$here/../.." && pwd)}
build=${abs_top_builddir:-$top}
plugin_dir=${DNNEST_PLUGIN_DIR:-$build/.libs}
dnnest=${DNNEST:-$build/dnnest}
# The suite's own, which sbatch would hand to the jobs; no user has it.
unset DNNEST
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
