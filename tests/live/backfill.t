#!/bin/bash
# backfill.t - on a busy cluster a job that dnnest describes starts before its twin
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The use of a right limit: a job holds every node for two more hours, the next one requests
# all of them, and any later job must end before that one starts. A job of a day cannot, its
# twin with a lowered limit can. Only the order of starts is checked, never a duration.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin backfill job_submit_dnnest

readonly SPEC=dnnest:${LIVE_KEYS/steps=20000/steps=10}
readonly OFF='dnnest:off'
readonly DAY=(--gres=gpu:a100:1 -c 8 -t 1-0)
# Slurm's soft limits, and dnnest's use of them
readonly SOFT_SINCE=2311 POLICY_SINCE=2411

# --- helpers -------------------------------------------------------------------------

# Only the time of a job changes, so that its twin is the same in everything else.
write_conf() {
    live_conf Mode=enforce GpuType=keep Cpus=keep "$@"
}

# Sets 'job'; the script is read from stdin. Without the job the test ends.
submit() {
    live_need -o /dev/null "$@"
}

is_over() {
    [[ ! $(field "$1" JobState) =~ PENDING|RUNNING|COMPLETING ]]
}

started() {
    echo "$(field "$1" StartTime) by $(field "$1" Scheduler), limit $(field "$1" TimeLimit)"
}
# earlier TITLE JOB OTHER: both have started, JOB first; the same second is no order
earlier() {
    ok "$1" test "$(field "$2" StartTime)" '<' "$(field "$3" StartTime)"
    diag "started $(started "$2")," "the other one $(started "$3")"
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
write_conf TimeLimit=limit

version=$(_cluster_version)
parameters=batch_sched_delay=0,bf_interval=1,sched_interval=2
if ((version >= SOFT_SINCE)); then parameters+=,time_min_as_soft_limit; fi
live_start --plugin-dir "$plugin_dir" --no-accounting \
    --conf "SchedulerParameters=$parameters"

# --- a busy cluster ------------------------------------------------------------------

# make_busy NAME: sets 'wide' and 'twin', the first job without dnnest after it
make_busy() {
    submit -N 4 --ntasks-per-node=1 -c 4 -t 2:00:00 --comment="$OFF" < <(waits_for "$1")
    ok 'a job runs on every node, two hours by its limit' cluster_wait_job "$job" RUNNING 180
    submit -N 4 --exclusive -t 10 --comment="$OFF" <<<$'#!/bin/sh\nsleep 1'
    wide=$job
    ok 'another job requests every node whole, and has a planned start' \
        cluster_until 180 planned "$wide"
    submit "${DAY[@]}" --comment="$OFF" <<<$'#!/bin/sh\nsleep 1'
    twin=$job
}

end_busy() {
    end "$1"
    ok 'the job without dnnest runs in the end' cluster_wait_job "$twin" COMPLETED 120
    ok 'the job that requested every node runs in the end' cluster_wait_job "$wide" COMPLETED 120
}

# --- a lower limit -------------------------------------------------------------------

make_busy first
submit "${DAY[@]}" --comment="$SPEC" <<<$'#!/bin/sh\nsleep 1'
small=$job
ok 'a job whose limit dnnest has lowered runs in the gap' cluster_wait_job "$small" COMPLETED 120
is 'the job with the lower limit was started by backfill' "$(field "$small" Scheduler)" Backfill
ok 'the job with the lower limit has less than two hours' \
    test "$(seconds_of "$(field "$small" TimeLimit)")" -lt 7200
is 'the twin without dnnest came first and waits with its own limit' \
    "$(field "$twin" JobState) $(field "$twin" TimeLimit)" 'PENDING 1-00:00:00'
is 'the job that requests every node waits' "$(field "$wide" JobState)" PENDING
end_busy first
earlier 'the job with a lowered limit started before its twin' "$small" "$twin"
earlier 'jobs without dnnest kept their order' "$wide" "$twin"

# --- a soft limit --------------------------------------------------------------------

# Who sets time_min: the policy if possible, else the user.
knows_soft_limits() {
    ((version >= POLICY_SINCE)) &&
        "$dnnest" config --check="$dir/etc/dnnest.conf"
}
use_soft_limit() {
    write_conf TimeLimit=time_min TimeMin=00:01:00
    by=dnnest soft=()
    if ! knows_soft_limits >/dev/null 2>&1; then
        write_conf TimeLimit=keep
        by='its user' soft=(--time-min=1)
    fi
    sleep 1.1 # Slurm stamps a reconfiguration with whole seconds
    cluster_reconfigure
}

soft_limit() {
    local hard gentle patient
    use_soft_limit
    make_busy second
    submit "${DAY[@]}" --comment="$SPEC" "${soft[@]}" <<<$'#!/bin/sh\nsleep 1'
    gentle=$job
    ok "a job whose time_min is set by $by runs in the gap" cluster_wait_job "$gentle" COMPLETED 120
    is 'the job with time_min was started by backfill' "$(field "$gentle" Scheduler)" Backfill
    is 'the job with time_min has its limit unchanged' "$(field "$gentle" TimeLimit)" 1-00:00:00
    ok 'the job with time_min has one below two hours' \
        test "$(seconds_of "$(field "$gentle" TimeMin)")" -lt 7200

    # dnnest always adds minutes for the start of a run, so it did not set this time_min.
    submit "${DAY[@]}" --comment="$OFF" --time-min=1 < <(waits_for patient)
    patient=$job
    ok 'a job with a time_min of one minute runs in the gap' cluster_wait_job "$patient" RUNNING 120
    # For comparison: the controller's clock, on a job that started later.
    submit -c 1 -t 1 --comment="$OFF" < <(waits_for hard)
    hard=$job
    ok 'a later job with a hard limit of one minute runs' cluster_wait_job "$hard" RUNNING 180
    cluster_until 300 is_over "$hard" || true
    is 'the job with the hard limit is killed at its limit' "$(field "$hard" JobState)" TIMEOUT
    is 'the job with time_min still runs when the other one is killed' \
        "$(field "$patient" JobState)" RUNNING
    ok 'the job with time_min runs longer than its time_min' \
        test "$(seconds_of "$(field "$patient" RunTime)")" -gt 60
    end patient
    ok 'the job with time_min ends well' cluster_wait_job "$patient" COMPLETED 180
    # Up to 24.11 the job that requests every node is now planned after the day of this one,
    # so that the twin need not wait for it. Which of these two starts first is not checked.
    end_busy second
    earlier 'the job with a soft limit started before its twin' "$gentle" "$twin"
}

# The reason why dnnest sets no time_min without soft limits. From 25.05.3 on the job keeps
# the time that fits.
hard_limit() {
    local cut
    make_busy third
    submit "${DAY[@]}" --comment="$OFF" --time-min=1 < <(waits_for third)
    cut=$job
    ok 'without soft limits a job with time_min runs in the gap, too' \
        cluster_wait_job "$cut" RUNNING 120
    is 'backfill cuts its limit to time_min' "$(field "$cut" TimeLimit)" 00:01:00
    end_busy third
}

if ((version >= SOFT_SINCE)); then
    soft_limit
else
    hard_limit
    skip 'a job with time_min runs in the gap and is not killed at it' \
        "before 23.11 a job that backfill starts is killed at its time_min, and this is $(slurmctld -V)"
fi

live_end
