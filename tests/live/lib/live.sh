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
#   live_start [ARGUMENT]...      cluster_start in $dir with these; ends the test if it fails
#   live_restart                  ends the controller, marks its log, and starts it again
#   live_daemons                  starts dnnestd and dnnest-guard, both with dnnest.conf
#   live_end                      the last check of every test: of the controller's log
#   live_sbatch OPTION...         sbatch as the user; sets job, said and status
#   live_need OPTION...           the same; ends the test if the job is refused
#   held OPTION...                the same of job.sh, held
#   field JOB NAME                one field of 'scontrol show job', as cluster_job_field
#   state_is JOB STATE; limit_is JOB TIME
#   later JOB                     the limits that the guard has written into its record:
#                                 '[300]', or nothing
#   member JOB PATH               of its record, as jq names it
#   key_of APP                    of an application of the user, in the history
#   planned JOB                   backfill has planned when the job starts
#   all_ended                     no job waits or runs
#   waits_for NAME                prints the script of a job that ends at 'end NAME', and not
#                                 before
#   daemon TASK                   a task of dnnestd once, with dnnest.conf
#   daemon_end                    ends the process daemon_pid, if there is one
#   seconds_of TIME               of one such as 1-02:03:04 or 00:30:00
#   request_of JOB                what right-sizing may change, one Key=Value a line
#   shown JOB                     a job without the fields that differ between any two jobs
#   admin ARGUMENT...             sacctmgr
#   minutes TIME                  of a time that scontrol shows
#   live_fast_site                the bundle of a site whose jobs start at once
#   live_looked                   waits until the plugin has looked at the files of dnnestd
#   live_see [for-all]            dnnestd takes a snapshot, and the plugin reads it; it stays
#                                 valid until live_blind removes it. With idle nodes for all
#                                 jobs: idle GPUs are promised to one job only
#   live_partition_lines          options of cluster_start for the partitions of live_conf
#   live_built NAME               a variable of the build
#   live_cc                       the compiler, with the headers of Slurm
#   LIVE_MOVES                    rules by which jobs move at submission, with a snapshot
#   mark; logged                  what dnnest wrote since then into the controller's log
#
# Where no cluster can run, or one of the plugins is not built, the test is skipped.
# DNNEST_PLUGIN_DIR, DNNEST and DNNEST_SHARE name the plugins, the command and the
# directory of the shipped files, such as those that 'make install' has made; the others are
# those of the build.
# Sets top, build, plugin_dir, dnnest, dnnestd, dnnest_guard, share and dir; tap.sh and cluster.sh are sourced, too.
# shellcheck disable=SC2034  # used by those that source it

set -euo pipefail
umask 022 # the plugin reads no file that others may write

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
top=${abs_top_srcdir:-$(cd "$here/../.." && pwd)}
build=${abs_top_builddir:-$top}
plugin_dir=${DNNEST_PLUGIN_DIR:-$build/.libs}
dnnest=${DNNEST:-$build/dnnest}
share=${DNNEST_SHARE:-$top/etc}
dnnestd=${DNNESTD:-$build/dnnestd}
dnnest_guard=${DNNEST_GUARD:-$build/dnnest-guard}
# Variables of the test suite, which sbatch would pass to the jobs; no user has them.
for variable in "${!DNNEST@}"; do export -n "$variable"; done
. "$here/lib/tap.sh"
. "$here/lib/cluster.sh"

live_begin() {
    local name=$1 reason plugin
    shift
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
    mkdir -p "$dir"/etc/{hardware,bundle,zoo} "$dir/seen"
    install -m 644 "$share"/hardware/*.conf "$dir/etc/hardware/"
    install -m 644 "$share"/zoo/*.json "$dir/etc/zoo/"
    install -m 644 "$share"/bundle/* "$dir/etc/bundle/"
    install -m 644 "$share/datasets.conf" "$dir/etc/"
}

# With the shipped bundle, prices and rules, four a100, 80 CPUs and a day become four v100,
# at four fifths of the cost, a tenth of the CPUs and a few hours.
live_built() {
    sed -n "s/^S\[\"$1\"\]=\"\(.*\)\"\$/\1/p" "$build/config.status" 2>/dev/null | head -1
}
live_cc() {
    local cc
    cc=$(live_built CC)
    echo "${cc:-gcc} $(live_built SLURM_CPPFLAGS)"
}

readonly LIVE_MOVES='GpuType=choose Objective=cost'
readonly LIVE_KEYS='model=bert_base,precision=fp16,batch=2,steps=20000,decode=text,since=2023'

# Nodes are those of cluster_start. All rules have their defaults, but words suffice for a limit
# (EvidenceTime) and all jobs are changed (StartChanges) unless a line says otherwise, and a
# decision may take a
# second, because the machine is busy and the build may have sanitizers. A file is replaced
# atomically: a running controller may read it at any time.
live_partitions=gpu,long,off,rigid,short
# Their options for cluster_start, in the array 'partitions'.
live_partition_lines() {
    local name
    partitions=()
    for name in ${live_partitions//,/ }; do
        partitions+=(--conf "PartitionName=$name Nodes=ALL MaxTime=2-0 State=UP $(
            [[ $name != gpu ]] || echo Default=YES)")
    done
}
live_conf() {
    local nodes="PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=$live_partitions"

    [[ $* = *EvidenceTime=* ]] || set -- EvidenceTime=words "$@"
    printf '%s\n' "DataDir=$dir/etc" DecisionTime=1000 StartChanges=0 \
        "StateDir=$dir/seen SnapshotAge=3600" \
        "Gpu Type=a100 Device=a100_sxm4_40gb $nodes" \
        "Gpu Type=v100 Device=v100_sxm2_16gb $nodes" "$@" >"$dir/etc/dnnest.new"
    mv "$dir/etc/dnnest.new" "$dir/etc/dnnest.conf"
}

# The bundle of a site whose jobs start at once, so that limits of a minute suffice.
live_fast_site() {
    local site=$dir/etc/bundle/site.json sum
    cat >"$site" <<'END'
{"dnnest_site": 4, "runs": 9, "constants": {
 "start_s": {"value": 1, "shipped": 180, "sigma": 0.1},
 "epoch_s": {"value": 1, "shipped": 20, "sigma": 0.1}}}
END
    sum=$(sha256sum <"$site" | cut -d ' ' -f 1)
    sed -i "s/\"files\": *{/&\"site.json\": {\"bytes\": $(stat -c %s "$site"), \"sha256\": \"$sum\"},/" \
        "$dir/etc/bundle/manifest.json"
}

# In a file, because 'ok' runs its command in another shell.
mark() {
    wc -l <"$dir/log/slurmctld.log" >"$dir/mark"
}
logged() {
    tail -n "+$(($(<"$dir/mark") + 1))" "$dir/log/slurmctld.log" | grep -a 'job_submit/dnnest' || true
}

live_start() {
    if ! cluster_start "$dir" "$@"; then
        fail 'Slurm starts'
        done_testing
        exit 1
    fi
    echo 0 >"$dir/mark"
    pass 'Slurm starts'
}

# The controller that ends may read a changed file, too: what it writes is not counted.
live_restart() {
    _cluster_end slurmctld
    _cluster_start_ctld || _cluster_failed slurmctld || return 1
    echo "$CLUSTER_CTLD_FROM" >"$dir/mark"
}

# The plugin's thread looks at every second tick, and sleeps between two ticks of a second.
# It sleeps while it writes, too: time must pass as well.
live_looked() {
    local pid task slept
    pid=$(cluster_pids slurmctld | head -n 1)
    task=$(grep -lx dnnest "/proc/$pid/task/"*/comm | head -n 1)
    slept=$(_live_sleeps "${task%/comm}")
    sleep 4
    cluster_until 180 _live_has_slept "${task%/comm}" $((slept + 4))
}
_live_sleeps() {
    sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "$1/status"
}
_live_has_slept() {
    (($(_live_sleeps "$1") >= $2))
}

live_daemons() {
    _cluster_spawn dnnestd "$dnnestd" -D --conf="$dir/etc/dnnest.conf"
    _cluster_spawn dnnest-guard "$dnnest_guard" -D --conf="$dir/etc/dnnest.conf"
}
live_see() {
    local snapshot=$dir/seen/cluster.snapshot
    "$dnnestd" watch --once --conf="$dir/etc/dnnest.conf" >>"$dir/log/watch.out" 2>&1 ||
        fail "dnnestd watch --once: $(tail -n 3 "$dir/log/watch.out")"
    if [[ ${1:-} = for-all ]]; then
        sed 's/Nodes=2 Up=2 Idle=0,0,0,0,2/Nodes=900 Up=900 Idle=0,0,0,0,900/' "$snapshot" \
            >"$snapshot.new"
        mv "$snapshot.new" "$snapshot"
    fi
    live_looked
}
live_blind() {
    rm -f "$dir/seen/cluster.snapshot"
    live_looked
}

live_end() {
    is 'slurmctld never complained about itself' \
        "$(grep -aciE 'segfault|sigsegv|assert|abort|fatal' "$dir/log/slurmctld.log" || true)" 0
    done_testing
}

# A command that hangs fails.
live_sbatch() {
    status=0
    job=$(cluster_as_user timeout 180 sbatch --parsable "$@" 2>"$dir/said") || status=$?
    said=$(<"$dir/said")
}

live_need() {
    live_sbatch "$@"
    if ((status != 0)); then
        echo "Bail out! sbatch: $said"
        exit 1
    fi
}

held() {
    live_sbatch -H "$@" job.sh
}

field() {
    cluster_job_field "$1" "$2"
}
state_is() {
    [[ $(field "$1" JobState) = "$2" ]]
}
limit_is() {
    [[ $(field "$1" TimeLimit) = "$2" ]]
}
later() {
    scontrol show job -o "$1" | grep -o '"later":\[[0-9,]*\]' | cut -d : -f 2 || true
}
member() {
    scontrol show job "$1" | sed -n 's/^ *AdminComment=//p' | head -n 1 | jq -r ".$2"
}
key_of() {
    printf 'user:%s:%s' "$(id -u "$CLUSTER_USER")" "$1" | sha256sum | cut -c 1-16
}
planned() {
    [[ $(field "$1" StartTime) = 20* && $(field "$1" Reason) =~ Resources|Priority ]]
}
all_ended() {
    [[ -z $(squeue -h -t RUNNING,COMPLETING,PENDING -o %i) ]]
}
waits_for() {
    printf '#!/bin/sh\nuntil [ -e %s ]; do sleep 0.2; done\n' "$dir/home/$1.end"
}
end() {
    touch "$dir/home/$1.end"
}
daemon() {
    "$dnnestd" "$1" --once -v --conf="$dir/etc/dnnest.conf" >>"$dir/log/dnnestd.log" 2>&1
}
daemon_pid=
daemon_end() {
    kill "$daemon_pid" 2>/dev/null || true
    wait "$daemon_pid" 2>/dev/null || true
}
seconds_of() {
    awk '{ n = split($0, part, /[-:]/); days = n == 4 ? part[1] : 0
           print ((days * 24 + part[n - 2]) * 60 + part[n - 1]) * 60 + part[n] }' <<<"$1"
}

request_of() {
    scontrol show job -o "$1" | tr ' ' '\n' |
        grep -E '^(TimeLimit|NumCPUs|CPUs/Task|TresPerNode|ReqTRES|TRES|MinMemoryNode|MinCPUsNode)=' |
        grep -v '^TRES=.*billing=0' || true
}

# Priorities count down. The comment is the carrier of the metadata.
shown() {
    scontrol show job "$1" | sed -E \
        -e 's/JobId=[0-9]+/JobId=ID/g' -e 's/Priority=[0-9]+/Priority=P/' \
        -e 's/(SubmitTime|EligibleTime|AccrueTime|StartTime|EndTime|LastSchedEval)=[^ ]+/\1=T/g' \
        -e 's/-[0-9]+((_[0-9]+)?\.out)/-ID\1/' -e '/^ +(AdminComment|Comment|SubmitLine)=/d'
}

admin() {
    sacctmgr -i "$@" >>"$dir/log/sacctmgr.out" 2>&1
}

minutes() {
    local days=0 time=$1 hours mins
    if [[ $time = *-* ]]; then days=${time%%-*} time=${time#*-}; fi
    IFS=: read -r hours mins _ <<<"$time"
    echo $((days * 1440 + 10#$hours * 60 + 10#$mins))
}
