#!/bin/bash
# guard.t - dnnest-guard extends lowered limits of running jobs, and nothing else
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Real jobs, with accounting, whose limit the plugin has lowered to a minute. Most run at the
# same time. slurmctld ends a job up to 30 seconds after its limit.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin guard job_submit_dnnest
if [[ ! -x $dnnest_guard ]]; then skip_all 'dnnest-guard is not built'; fi

readonly SPEC=dnnest:${LIVE_KEYS/steps=20000/steps=10}
readonly INTERVAL=2 # of the guard; a limit of a minute is extended 44 s before its end
readonly SLACK=45   # a limit may be passed by 30 s, and machines are busy

# --- helpers -------------------------------------------------------------------------

# Sets 'job'; the script sleeps SECONDS. Without the job the test ends.
submit() {
    local seconds=$1
    shift
    live_need --gres=gpu:1 -c 1 --mem=100 \
        -o "$dir/home/%A_%a.out" --comment="$SPEC" "$@" <<<$'#!/bin/sh\nsleep '"$seconds"
}
set_limit() {
    scontrol update "jobid=$1" "timelimit=$2"
}
is_over() {
    [[ ! $(field "$1" JobState) =~ PENDING|RUNNING|COMPLETING|SUSPENDED ]]
}
# From the accounting: its state, and the seconds that it ran.
outcome() {
    sacct -n -X -P -j "$1" -o State | head -n 1
}
elapsed() {
    sacct -n -X -P -j "$1" -o ElapsedRaw | head -n 1
}
outcome_is() {
    [[ $(outcome "$1") = "$2"* ]]
}
ends() {
    ok "$1" cluster_until 180 outcome_is "$2" "$3"
    diag "$(outcome "$2") after $(elapsed "$2") s, later $(later "$2")"
}
started() {
    cluster_wait_job "$1" RUNNING 60 || fail "job $1 starts"
}

guard_pid=
guard_start() {
    "$dnnest_guard" --conf="$dir/etc/guard.conf" >>"$dir/log/guard.log" 2>&1 &
    guard_pid=$!
}
guard_kill() {
    if [[ -n $guard_pid ]]; then
        disown "$guard_pid" 2>/dev/null || true # no message of the shell
        kill -9 "$guard_pid" 2>/dev/null || true
        guard_pid=
    fi
}
cluster_trap "guard_kill; rm -rf '$dir'"

# --- the cluster ---------------------------------------------------------------------

live_hardware
mkdir -p "$dir/state.dnnest"
live_fast_site
chmod -R go-w "$dir/etc" "$dir/state.dnnest"
# The plugin does not see the heartbeat, so that limits of all jobs are the same minute: where
# a guard is alive they are longer than two passes, or shorter for users whom it trusts.
live_conf Mode=enforce GpuType=keep Cpus=keep TimeLimit=limit TimeMin=00:01:00 \
    TimeQuantile=0.5 "GuardInterval=$INTERVAL" "StateDir=$dir/state.none"
sed "s|/state.none|/state.dnnest|" "$dir/etc/dnnest.conf" >"$dir/etc/guard.conf"
chmod 644 "$dir/etc/guard.conf"
live_start --plugin-dir "$plugin_dir" \
    --conf 'AccountingStorageEnforce=associations,limits,qos' \
    --conf 'PartitionName=gpu Nodes=ALL Default=YES MaxTime=2-0 State=UP' \
    --conf 'PartitionName=short Nodes=ALL MaxTime=2 State=UP'
admin add qos brief MaxWall=00:02:00
admin modify user "$CLUSTER_USER" set qos+=brief
cluster_restart_ctld

# --- without a guard -----------------------------------------------------------------

submit 150 -t 5 -w a1
alone=$job
started "$alone"
is 'dnnest has lowered the limit' "$(field "$alone" TimeLimit)" 00:01:00
sleep 22
job_now() {
    scontrol show job -o "$alone" | sed 's/RunTime=[^ ]*//'
}
before=$(job_now)
"$dnnest_guard" --once --dry-run --conf="$dir/etc/guard.conf" >"$dir/dry" 2>&1
like 'a dry run says what it would do' "$(<"$dir/dry")" "job $alone: .*00:01:00.*00:05:00"
is 'a dry run changes nothing' "$(job_now)" "$before"
not_ok 'a dry run leaves no heartbeat' test -e "$dir/state.dnnest/guard"
sleep 20
submit 100 -t 5 -w a1
late=$job
ends 'without a guard a job ends at its lowered limit' "$alone" TIMEOUT
guard_start
ok 'a guard that comes late finds the next job' cluster_until 180 limit_is "$late" 00:05:00
ok 'the heart of the guard beats' cluster_until 180 test -s "$dir/state.dnnest/guard"
guard_kill

# --- with a guard ----------------------------------------------------------------------

scontrol create reservation reservationname=service nodes=v2 user=root duration=30 \
    starttime=now+240 >/dev/null
guard_start
submit 100 -t 5 -x v2
before=$job
started "$before"
# The guard cannot know who set a limit that it sees for the first time. A pass may have begun
# before the job started, the next has not.
for _ in 1 2; do
    touch "$dir/mark"
    cluster_until 180 test "$dir/state.dnnest/guard" -nt "$dir/mark"
done
set_limit "$before" 2
submit 100 -t 5 -x v2
longer=$job
submit 100 -t 5 -x v2 -a 1-2
array=$job
submit 200 -t 5 -x v2
after=$job
submit 200 -t 5 -x v2 -p short
in_partition=$job
submit 200 -t 5 -x v2 --qos=brief
in_qos=$job
submit 200 -t 5 -x v2 --deadline=now+130seconds
deadline=$job
submit 300 -t 5 -w v2
reserved=$job
submit 70 -t 5 -w v2
suspended=$job
started "$suspended"
scontrol suspend "$suspended"
submit 300 -t 2 -x v2
own=$job
submit 300 -t 2 -x v2 --comment=dnnest:off
own_twin=$job
submit 200 -t 1 -x v2 --comment=dnnest:off
foreign=$job
for job in "$longer" "$own" "$own_twin" "$reserved" "$foreign"; do started "$job"; done

ok 'a job is extended to what its user requested' cluster_until 180 limit_is "$longer" 00:05:00
like 'the record says so' "$(later "$longer")" '^\[([0-9]+,)?300\]$'
like 'the log has one line for it' "$(grep -c "job $longer: limit" "$dir/log/guard.log")" '^1$'
for task in 1 2; do
    ok "a task of an array is extended: $task" \
        cluster_until 180 limit_is "${array}_$task" 00:05:00
done
ok 'a job is extended before a human changes it' cluster_until 180 limit_is "$after" 00:05:00
set_limit "$after" 3
ok 'a job is extended to what Slurm accepted, above MaxTime of its partition' \
    cluster_until 180 limit_is "$in_partition" 00:05:00
ok 'a job is extended above MaxWall of its QOS' cluster_until 180 limit_is "$in_qos" 00:05:00
ok 'a job is extended up to its deadline' cluster_until 180 limit_is "$deadline" 00:02:00
ok 'a job is extended up to its own limit' cluster_until 180 limit_is "$own" 00:02:00
reserved_to() {
    [[ $(field "$reserved" EndTime) > $(field "$reserved" StartTime) ]] &&
        [[ ! $(later "$reserved") = '' ]]
}
ok 'a job before a reservation is extended' cluster_until 180 reserved_to
reservation=$(scontrol show reservation -o service | grep -o 'StartTime=[^ ]*' | cut -d= -f2)
not_ok 'a job before a reservation does not run into it' \
    test "$(field "$reserved" EndTime)" '>' "$reservation"
ok 'the user of a job before a reservation is told' cluster_until 180 \
    grep -q 'dnnest: warning: .*reservation service' "$dir/home/${reserved}_4294967294.out"
is 'a job of an operator keeps its limit' "$(field "$foreign" TimeLimit)" 00:01:00
ok 'to what a human added comes what dnnest had taken' \
    cluster_until 180 limit_is "$before" 00:06:00

is 'a suspended job keeps its limit' \
    "$(field "$suspended" JobState) $(field "$suspended" TimeLimit)" 'SUSPENDED 00:01:00'
scontrol resume "$suspended"

# A controller that is away for a while.
submit 150 -t 5 -x v2
outage=$job
started "$outage"
_cluster_end slurmctld
sleep 25
_cluster_start_ctld || fail 'slurmctld starts again'
ok 'a job is extended after an outage of slurmctld' \
    cluster_until 180 limit_is "$outage" 00:05:00

# --- the ends --------------------------------------------------------------------------

over() {
    is_over "$own" && is_over "$own_twin" && is_over "$outage" && is_over "$in_qos"
}
cluster_until 200 over || true
ends 'with a guard the same job completes' "$longer" COMPLETED
for task in 1 2; do ends "a task of an array completes: $task" "${array}_$task" COMPLETED; done
ends 'a job found late completes' "$late" COMPLETED
ends 'a job during an outage completes' "$outage" COMPLETED
ends 'a job that was suspended completes' "$suspended" COMPLETED
ends 'a job of an operator ends at its limit' "$foreign" TIMEOUT
ends 'a job ends at the limit of its user' "$own" TIMEOUT
ends 'the same job without dnnest ends at that limit' "$own_twin" TIMEOUT
difference=$(($(elapsed "$own") - $(elapsed "$own_twin")))
ok 'both have run for as long' test "${difference#-}" -lt $SLACK
diag "difference: $difference s"
ends 'a job above MaxTime of its partition completes' "$in_partition" COMPLETED
ends 'a job above MaxWall of its QOS completes' "$in_qos" COMPLETED
is 'a human who changes a limit later is obeyed' "$(field "$after" TimeLimit)" 00:03:00
like 'the record has the limit before that' "$(later "$after")" '300\]$'
like 'the accounting has the record' \
    "$(sacct -n -X -P -j "$longer" -o AdminComment)" '"later":\['
like 'the tallies have the jobs that needed more' "$(<"$dir/state.dnnest/guard")" "$longer"
diag "$(<"$dir/log/guard.log")"
done_testing
