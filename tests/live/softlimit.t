#!/bin/bash
# softlimit.t - with time_min_as_soft_limit jobs keep their limits, and are planned shorter
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Four nodes that a job holds for two more hours, a job that wants all of them next, and
# jobs of a day that only start before it if the scheduler plans them shorter.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin softlimit job_submit_dnnest

readonly SPEC=dnnest:${LIVE_KEYS/steps=20000/steps=10}
readonly LONG=dnnest:$LIVE_KEYS
readonly OFF=dnnest:off
readonly DAY=(--gres=gpu:a100:1 -c 4 -t 1-0)
readonly SOFT=time_min_as_soft_limit
readonly SINCE=2411

if (($(_cluster_version) < SINCE)); then
    skip_all "dnnest uses soft limits from 24.11 on, and this is $(slurmctld -V)"
fi

# --- helpers -------------------------------------------------------------------------

# Sets 'job' and 'said'; without the job the test ends.
submit() {
    live_need -o /dev/null "$@"
    said=$(<"$dir/said")
}

# fields ID: limit and minimum time
fields() {
    echo "$(field "$1" TimeLimit) $(field "$1" TimeMin)"
}

# runs_for ID SECONDS
runs_for() {
    [[ $(field "$1" JobState) = RUNNING ]] &&
        (($(seconds_of "$(field "$1" RunTime)") > $2))
}
# tasks ID FIELD: of each task of an array that has one, a line
tasks() {
    scontrol show job -o "$1" | grep ArrayTaskId=[0-9] | grep -oE "(^| )$2=[^ ]+" | cut -d= -f2
}
task_count() {
    tasks "$1" JobState | grep -c "^$2\$"
}
has_tasks() {
    (($(task_count "$1" "$2") == $3))
}

# configure PARAMETER LINE...: SchedulerParameters of Slurm, and lines of dnnest.conf
configure() {
    sed -i "s/^SchedulerParameters=.*/SchedulerParameters=$PARAMETERS$1/" "$SLURM_CONF"
    shift
    live_conf Mode=enforce GpuType=keep Cpus=keep "$@"
    sleep 1.1 # Slurm stamps a reconfiguration with whole seconds
    mark
    cluster_reconfigure
}

# --- the cluster ---------------------------------------------------------------------

readonly PARAMETERS=batch_sched_delay=0,bf_interval=1,sched_interval=2
live_hardware
live_conf Mode=enforce GpuType=keep Cpus=keep TimeMin=00:01:00
live_start --plugin-dir "$plugin_dir" --no-accounting \
    --conf "SchedulerParameters=$PARAMETERS,$SOFT" --conf MinJobAge=3600 \
    --conf "PartitionName=gpu Nodes=v[1-2],a[1-2] Default=YES MaxTime=2-0 State=UP" \
    --conf "PartitionName=short Nodes=v[1-2],a[1-2] MaxTime=12:00:00 State=UP"

# --- what a submission becomes --------------------------------------------------------

submit "${DAY[@]}" -H --comment="$LONG" <<<$'#!/bin/sh\n'
like 'TimeLimit=auto keeps the limit and sets the minimum time' "$(fields "$job")" \
    '^1-00:00:00 0[0-9]:[0-5][05]:00$'
like 'the message says how long the job is planned' "$said" \
    "dnnest: planned as $(field "$job" TimeMin) of 1-00:00:00 \\("
planned_s=$(seconds_of "$(field "$job" TimeMin)")
# GuardedQuantile waits for two finished runs.
like 'the record has the minimum time and the quantile' "$(field "$job" AdminComment)" \
    "\"set\":\\{\"time_min_s\":$planned_s\\}.*\"bound_bp\":9900,"
submit "${DAY[@]}" -H --comment="$LONG" --time-min=5:00:00 <<<$'#!/bin/sh\n'
is "a user's own minimum time is kept" "$(fields "$job")" '1-00:00:00 05:00:00'
submit "${DAY[@]}" -H --comment="$LONG" --deadline=now+2days <<<$'#!/bin/sh\n'
is 'a job with a deadline is kept' "$(fields "$job")" '1-00:00:00 N/A'
submit --gres=gpu:a100:1 -c 4 -H --comment="$LONG" <<<$'#!/bin/sh\n'
like 'a job without a limit is kept' "$(field "$job" TimeMin)" '^N/A$'
submit "${DAY[@]}" -t 10:00:00 -p short -H --comment="$LONG" <<<$'#!/bin/sh\n'
is 'a job within the limit of its own partition keeps it, and is planned as elsewhere' \
    "$(fields "$job")" "10:00:00 $(cut -d' ' -f2 <<<"$(
        awk -v s="$planned_s" 'BEGIN { printf "x %02d:%02d:00", s / 3600, s % 3600 / 60 }')")"
submit "${DAY[@]}" -p short -H --comment="$LONG" <<<$'#!/bin/sh\n'
is 'a limit above that of the partition stays, for Slurm to judge' "$(field "$job" TimeLimit)" \
    1-00:00:00
submit "${DAY[@]}" -H --comment="$LONG" --array=1-3 <<<$'#!/bin/sh\n'
is 'an array gets a minimum time, too' \
    "$(($(seconds_of "$(field "$job" TimeMin)"))) $(field "$job" TimeLimit)" "$planned_s 1-00:00:00"
is 'nothing is refused' "$(logged | grep -c 'TimeLimit=time_min needs' || true)" 0
scancel -u "$CLUSTER_USER"

# --- a hole ------------------------------------------------------------------------------

# Planned as short as can be, because the test waits until that time is over.
configure ",$SOFT" TimeMin=00:01:00 TimeMargin=0 TimeQuantile=0.5
submit -N 4 --ntasks-per-node=1 -c 4 -t 2:00:00 --comment="$OFF" < <(waits_for blocker)
ok 'a job holds a part of every node' cluster_wait_job "$job" RUNNING 180
submit -N 4 --exclusive -t 10 --comment="$OFF" <<<$'#!/bin/sh\nsleep 1'
wide=$job
ok 'another job wants every node whole, and has a planned start' cluster_until 180 planned "$wide"
submit "${DAY[@]}" --comment="$OFF" <<<$'#!/bin/sh\nsleep 1'
twin=$job
submit "${DAY[@]}" --comment="$SPEC" < <(waits_for patient)
patient=$job
ok 'a job of a day that dnnest describes starts in the hole' \
    cluster_wait_job "$patient" RUNNING 120
is 'backfill has started the job in the hole' "$(field "$patient" Scheduler)" Backfill
is 'the job in the hole has its whole limit' "$(field "$patient" TimeLimit)" 1-00:00:00
ok 'the job in the hole has a minimum time below two hours' \
    test "$(seconds_of "$(field "$patient" TimeMin)")" -lt 7200
is 'the twin without dnnest waits' "$(field "$twin" JobState)" PENDING
submit "${DAY[@]}" --comment="$SPEC" --array=1-2 < <(waits_for array)
array=$job
ok 'the tasks of an array start' cluster_until 120 has_tasks "$array" RUNNING 2
is 'every task of an array has its whole limit' "$(tasks "$array" TimeLimit | sort | uniq -c | xargs)" \
    '2 1-00:00:00'
is 'every task of an array has the minimum time' \
    "$(tasks "$array" TimeMin | sort -u)" "$(field "$patient" TimeMin)"

# The minimum time that dnnest sets has minutes for the start of a run; a minute is enough
# to see that it ends nothing.
submit "${DAY[@]}" --comment="$LONG" --time-min=1 < <(waits_for minute)
minute=$job
ok 'a job with a minimum time of its own of one minute runs' \
    cluster_wait_job "$minute" RUNNING 180
least=$(seconds_of "$(field "$patient" TimeMin)")
ok "a job runs longer than the $least s that it was planned" \
    cluster_until $((least + 120)) runs_for "$patient" $((least + 40))
is 'the tasks of an array run on beyond their minimum time' "$(task_count "$array" RUNNING)" 2
is 'a job with a minimum time of one minute runs on' "$(field "$minute" JobState)" RUNNING
is 'jobs beyond their minimum times have their whole limits' \
    "$(field "$patient" TimeLimit) $(field "$minute" TimeLimit) $(tasks "$array" TimeLimit | sort -u)" \
    '1-00:00:00 1-00:00:00 1-00:00:00'
for name in patient array minute; do end $name; done
ok 'the job ends well' cluster_wait_job "$patient" COMPLETED 180
ok 'the tasks of the array end well' cluster_until 180 has_tasks "$array" COMPLETED 2
end blocker
ok 'the job that wants every node runs in the end' cluster_wait_job "$wide" COMPLETED 120
ok 'the twin runs in the end' cluster_wait_job "$twin" COMPLETED 120

# --- without the parameter ------------------------------------------------------------

configure ''
submit "${DAY[@]}" -H --comment="$LONG" <<<$'#!/bin/sh\n'
like 'without the parameter TimeLimit=auto lowers the limit' "$(fields "$job")" \
    '^0[0-9]:[0-5][05]:00 N/A$'
is 'no guard is alive, so the limit has TimeQuantile, as the plan of a first run' \
    "$(seconds_of "$(field "$job" TimeLimit)")" "$planned_s"
like 'the message does not speak of an extension' "$said" 'dnnest: time 1-00:00:00 -> 0[0-9:]+ \(bert'
configure ",$SOFT" TimeLimit=limit
submit "${DAY[@]}" -H --comment="$LONG" <<<$'#!/bin/sh\n'
like 'TimeLimit=limit lowers the limit with the parameter' "$(fields "$job")" \
    '^0[0-9]:[0-5][05]:00 N/A$'
configure ",$SOFT"
submit "${DAY[@]}" -H --comment="$LONG" <<<$'#!/bin/sh\n'
like 'a reconfiguration brings the soft limit back' "$(fields "$job")" '^1-00:00:00 0'

live_end
