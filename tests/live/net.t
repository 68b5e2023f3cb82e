#!/bin/bash
# net.t - no job that dnnest lowered ends worse than the same job with dnnest:off
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Whatever becomes of the guard, of its clock and files, and of the limits around the job. Last
# come jobs that need more than their first limits: from then on their user is not trusted. Jobs
# request six minutes, and need three and a half; the plugin lowers their limits to two or less,
# since their description is wrong. NET_JOBS: of each kind in each situation (2); up to 100.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
readonly JOBS=${NET_JOBS:-2}
# A node has room for four situations.
CLUSTER_GPUS=$((JOBS * 8))
CLUSTER_CPUS="SocketsPerBoard=2 CoresPerSocket=$((JOBS * 4 > 48 ? JOBS * 4 : 48)) ThreadsPerCore=1"
live_begin net job_submit_dnnest
if [[ ! -x $dnnest_guard ]]; then skip_all 'dnnest-guard is not built'; fi

readonly SPEC=dnnest:${LIVE_KEYS/steps=20000/steps=10}
readonly OWN=00:06:00

# --- helpers -------------------------------------------------------------------------

# fields FIELD SITUATION [KIND]: of those jobs, all in one look, a line each
fields() {
    scontrol -o show job | awk -v field="$1" -v situation="$2" -v kind="${3-}" '
        NR == FNR { if ($1 == situation && (kind == "" || $2 == kind)) want["JobId=" $3]; next }
        $1 in want && match($0, " " field "=[^ ]*") {
            print substr($0, RSTART + length(field) + 2, RLENGTH - length(field) - 2) }
    ' "$dir/jobs" -
}
# Adds jobs to $dir/jobs: SITUATION KIND ID. They start together, when 'start' lets them.
pair() {
    local situation=$1 kind comment i
    shift
    scontrol update nodename=ALL state=drain reason=later
    for kind in dnnest off; do
        comment=$SPEC
        if [[ $kind = off ]]; then comment=dnnest:off; fi
        for ((i = 0; i < JOBS; i++)); do
            live_need --gres=gpu:1 -c 1 --mem=100 -t 6 -o /dev/null --comment="$comment" \
                "${@//NODE/${nodes[$kind]}}" <<<$'#!/bin/sh\nsleep '"$need"
            echo "$situation $kind $job" >>"$dir/jobs"
        done
    done
}
jobs_of() {
    awk -v s="$1" '$1 == s { print $3 }' "$dir/jobs"
}
all_run() {
    [[ $(fields JobState "$1" | sort | uniq -c | xargs) = "$((2 * JOBS)) RUNNING" ]]
}
# start SITUATION...
start() {
    local situation
    scontrol update nodename=ALL state=resume
    for situation in "$@"; do
        cluster_until 60 all_run "$situation" || fail "$situation: all jobs start"
        ok "$situation: dnnest has lowered the limits" \
            test "$(limits "$situation" dnnest | sort | tail -n 1)" '<' "$OWN"
        is "$situation: those of dnnest:off are their own" "$(limits "$situation" off | sort -u)" \
            "$OWN"
    done
}
limits() {
    fields TimeLimit "$@"
}
own() {
    [[ $(limits "$1" dnnest | sort | uniq -c | xargs) = "$JOBS $OWN" ]]
}
# What must come before the lowered limits end: a minute, and up to 30 s.
given_back() {
    ok "$1: the limits are given back" cluster_until 75 own "$1"
    ok "$1: and no job has ended" all_run "$1"
    cancel "$1"
}
# cancel SITUATION...
cancel() {
    local situation
    # shellcheck disable=SC2046  # one word per job
    for situation in "$@"; do scancel $(jobs_of "$situation"); done
    cluster_until 60 are_over || fail "$*: all jobs end"
}
# states SITUATION KIND: by accounting
states() {
    sacct -n -X -P -a -S now-1days -o JobID,State | awk -F '|' -v situation="$1" -v kind="$2" '
        NR == FNR { split($0, job, " "); if (job[1] == situation && job[2] == kind) want[job[3]]
            next }
        $1 in want { print $2 }' "$dir/jobs" - | sort | uniq -c | awk '{ print $1, $2 }' | xargs
}
are_over() {
    [[ -z $(squeue -h -t PENDING,RUNNING,SUSPENDED,COMPLETING -o %i) ]]
}
have_completed() {
    [[ $(states "$1" "$2") = "$JOBS COMPLETED" ]]
}
completed() {
    cluster_until 60 have_completed "$1" off || true
    cluster_until 20 have_completed "$1" dnnest || true
    is "$1: with dnnest:off all complete" "$(states "$1" off)" "$JOBS COMPLETED"
    is "$1: with dnnest, too" "$(states "$1" dnnest)" "$JOBS COMPLETED"
}
# guard_start [COMMAND OF THE GUARD]...: the timer that looks after it runs beside it
guard_start() {
    rm -f "$dir/state/guard"
    setsid "$@" "$dnnest_guard" -D --conf="$dir/etc/dnnest.conf" >>"$dir/log/guard.log" 2>&1 &
    disown
}
guard_pids() {
    pgrep -f "^$dnnest_guard -D --conf=$dir/etc/dnnest.conf" || true
}
new_guard() {
    guard_start
    ok 'a new guard is alive' cluster_until 60 guard_alive
    live_looked
}
guard_alive() {
    [[ -s $dir/state/guard ]] && ! grep -q 'Time=0 ' "$dir/state/guard"
}
guard_ended() {
    [[ -z $(guard_pids) ]]
}
guard_kill() {
    local pid
    for pid in $(guard_pids); do
        kill "-$1" "$pid" 2>/dev/null || true
    done
}
timer_run() {
    while [[ -d $dir/etc ]]; do
        "$dnnest_guard" --restore --if-silent --conf="$dir/etc/dnnest.conf" >>"$dir/log/timer.log" 2>&1 ||
            true
        sleep 4
    done
}
timer_pid=
timer_start() {
    timer_run &
    timer_pid=$!
    disown
}
timer_end() {
    if [[ -n $timer_pid ]]; then kill "$timer_pid" 2>/dev/null || true; fi
    timer_pid=
}
cluster_trap "timer_end; guard_kill CONT; guard_kill KILL; rm -rf '$dir'"

# --- the cluster ---------------------------------------------------------------------

live_hardware
mkdir -p "$dir/state"
live_fast_site
chmod -R go-w "$dir/etc" "$dir/state"
conf() {
    live_conf Mode=enforce GpuType=keep Cpus=keep TimeLimit=limit TimeMin=00:01:00 \
        GuardInterval=2 "StateDir=$dir/state" "$@"
}
conf
live_start --plugin-dir "$plugin_dir" \
    --conf 'AccountingStorageEnforce=associations,limits,qos' \
    --conf 'PartitionName=gpu Nodes=ALL Default=YES MaxTime=2-0 State=UP' \
    --conf 'PartitionName=short Nodes=ALL MaxTime=2 State=UP' \
    --conf 'PartitionName=shrinks Nodes=ALL MaxTime=2-0 State=UP' \
    --conf 'PartitionName=wide Nodes=ALL MaxTime=2-0 State=UP' \
    --conf 'PartitionName=narrow Nodes=ALL MaxTime=2-0 State=UP'
admin add qos beyond,wide,narrow,brief,over
admin modify qos beyond set Flags=PartitionTimeLimit MaxWall=00:20:00
admin modify qos wide set MaxWall=00:20:00
admin modify qos narrow set MaxWall=00:02:00
admin modify qos brief set MaxWall=00:02:00
admin modify qos over set Flags=OverPartQOS MaxWall=00:20:00
admin modify user "$CLUSTER_USER" set qos+=beyond,wide,narrow,brief,over
cluster_restart_ctld
scontrol update PartitionName=wide QOS=wide
scontrol update PartitionName=narrow QOS=narrow
guard_start
ok 'the guard is alive' cluster_until 60 guard_alive
live_looked

need=210
# --- the guard is killed, hangs, is stopped ------------------------------------------------

declare -A nodes=([dnnest]=v1 [off]=v1)
timer_start
pair killed -w NODE
start killed
guard_kill KILL
given_back killed

new_guard
pair hangs -w NODE
start hangs
guard_kill STOP
given_back hangs
guard_kill CONT
guard_kill KILL
timer_end

new_guard
pair stopped -w NODE
pair waits -w NODE --begin=now+600
is 'waits: the limits of pending jobs are lowered' \
    "$(own waits || echo lowered)" lowered
start stopped
guard_kill TERM
ok 'the guard ends when it is told to' cluster_until 60 guard_ended
ok 'stopped: at that time all limits have been given back' own stopped
ok 'waits: those of pending jobs, too' own waits
like 'the plugin is told that it has gone' "$(<"$dir/state/guard")" 'Time=0 '
cancel stopped waits

# --- its clock is wrong, its configuration broken, its directory missing --------------------

if command -v faketime >/dev/null; then
    for shift in -1h +1h; do
        guard_start env FAKETIME_DONT_FAKE_MONOTONIC=1 faketime -f "$shift"
        ok "clock$shift: the guard is alive" cluster_until 60 guard_alive
        live_looked
        pair "clock$shift" -w NODE
        start "clock$shift"
        ok "clock$shift: the limits are extended" cluster_until 160 own "clock$shift"
        cancel "clock$shift"
        guard_kill KILL
    done
else
    skip 'faketime is not installed' 10
fi

new_guard
pair typo -w NODE
start typo
guard_kill KILL
conf "StateDir=/proc/none" Mod=enforce
guard_start
ok 'typo: a guard with a broken configuration extends the limits' cluster_until 160 own typo
like 'typo: it says what is wrong, and what applies' "$(<"$dir/log/guard.log")" \
    "unknown key 'Mod'.*: the defaults apply"
like 'typo: and that it has no directory' "$(<"$dir/log/guard.log")" '/proc/none'
guard_kill KILL
cancel typo

# --- a healthy guard, and limits that came later or do not count ----------------------------

conf
new_guard
nodes=([dnnest]=v1 [off]=v1)
pair flag-of-qos -w NODE -p short --qos=beyond
pair qos-of-partition -w NODE -p wide --qos=brief
pair over-qos-of-partition -w NODE -p narrow --qos=over
pair maxtime-shrinks -w NODE -p shrinks
nodes=([dnnest]=v2 [off]=v2)
pair maintenance -w NODE
nodes=([dnnest]=a1 [off]=a2)
pair reservation -w NODE
start flag-of-qos qos-of-partition over-qos-of-partition maxtime-shrinks maintenance reservation
scontrol update PartitionName=shrinks MaxTime=1
scontrol create reservation reservationname=service nodes=v2 user=root duration=30 \
    flags=maint,ignore_jobs starttime=now+100 >/dev/null
reserve() {
    scontrol create reservation "reservationname=course-$1" "nodes=$1" user=root duration=30 \
        starttime=now+150 >/dev/null 2>&1
}
# Where Slurm does not accept it beside the lowered limits, because they have been extended
# already, the situation has not arisen.
reserve a1 || diag 'the reservation was refused on the node of the lowered jobs'
not_ok 'Slurm refuses a reservation on the node of jobs with their own limits' reserve a2
cluster_until 330 are_over || fail 'all jobs end'
for situation in flag-of-qos qos-of-partition over-qos-of-partition maxtime-shrinks maintenance \
    reservation; do
    completed "$situation"
done
for name in service course-a1; do
    scontrol delete "reservationname=$name" >/dev/null 2>&1 || true
done
scontrol update PartitionName=shrinks MaxTime=2-0

diag "$(tail -n 30 "$dir/log/guard.log")"
diag "$(tail -n 10 "$dir/log/timer.log")"
live_end
