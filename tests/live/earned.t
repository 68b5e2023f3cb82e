#!/bin/bash
# earned.t - a low estimate passes no limit of minutes, and a lower limit must be earned
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs say that they take ten steps, and run for minutes, with accounting and a guard. Each
# case is compared with the same job with dnnest:off, or without the liar. EARNED_DRAWS: of the
# neighbour's wait (1).

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin earned job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built'; fi

readonly LIE=dnnest:${LIVE_KEYS/steps=20000/steps=10}
readonly DRAWS=${EARNED_DRAWS:-1}
readonly OFF=dnnest:off,${LIVE_KEYS/steps=20000/steps=10}

# submit SECONDS COMMENT OPTION...: sets 'job'
submit() {
    local seconds=$1 comment=$2
    shift 2
    live_need --gres=gpu:1 -c 1 --mem=100 -o /dev/null --comment="$comment" "$@" \
        <<<$'#!/bin/sh\nsleep '"$seconds"
}
limits() {
    squeue -h -r -q "$1" -o %l | sort | uniq -c | xargs
}
running() {
    squeue -h -r -q "$1" -t R | wc -l
}
all_are_tried() {
    ! squeue -h -r -q "$1" -t PD -o %r | grep -qxE 'None|Priority'
}
# same QOS N: ten jobs of that QOS keep their limit, and N of them run, as with dnnest:off
same() {
    local qos=$1 n=$2 comment
    for comment in "$OFF" "$LIE"; do
        mark
        for _ in 1 2 3 4 5 6 7 8 9 10; do submit 600 "$comment" --qos="$qos" -t 10; done
        is "ten jobs with ${comment%%,*} and the QOS $qos have their own limits" \
            "$(limits "$qos")" '10 10:00'
        cluster_until 90 all_are_tried "$qos" || true
        cluster_until 60 eval "[[ \$(running $qos) = $n ]]" || true
        is "$n of them run" "$(running "$qos")" "$n"
        scancel -q "$qos" -u "$CLUSTER_USER"
        cluster_until 60 eval "[[ -z \$(squeue -h -q $qos) ]]"
    done
    like 'the log has the reason' "$(logged)" "the QOS '$qos' limits minutes"
}
lies_are_known() {
    grep -qE "^User Id=[0-9]+ Jobs=([0-9]+\+,){2}[0-9]+\+ Debt=" "$dir/state/guard"
}
# neighbour SECONDS: root's jobs: one is on two nodes for so long, the next needs all four. Sets
# 'busy' and 'next'.
neighbour() {
    local common=(--parsable --comment=dnnest:off --gres=gpu:4 --mem=100 -o /dev/null)
    busy=$(sbatch "${common[@]}" -N 2 -w 'v[1-2]' -t 3 <<<$'#!/bin/sh\nsleep '"$1")
    cluster_wait_job "$busy" RUNNING 60
    next=$(sbatch "${common[@]}" -N 4 -t 1 <<<$'#!/bin/sh\ntrue')
}
queue_is_empty() {
    [[ -z $(squeue -h) ]]
}
# beside LIARS SECONDS: sets 'waited', how long the neighbour's second job waits, where so many
# lies come after it
beside() {
    local n=$1 lies=() start
    neighbour "$2"
    for ((; n > 0; n--)); do
        submit 400 "$LIE" -t 20
        lies+=("$job")
    done
    cluster_wait_job "$next" COMPLETED 400 || fail 'the job of the neighbour completes'
    start=$(date -d "$(field "$next" StartTime)" +%s)
    waited=$((start - $(date -d "$(field "$next" SubmitTime)" +%s)))
    if ((${#lies[@]} > 0)); then scancel "${lies[@]}"; fi
    cluster_until 60 queue_is_empty || fail 'all jobs end'
}
# owes SECONDS: the user is in debt with so many GPU seconds
owes() {
    local debt
    debt=$(sed -n 's/^User Id=[0-9]* Jobs=.* Debt=\([0-9]*\).*/\1/p' "$dir/state/guard")
    ((${debt:-0} >= $1))
}

# --- the cluster -----------------------------------------------------------------------

live_hardware
live_fast_site
mkdir -p "$dir/state"
chmod -R go-w "$dir/etc" "$dir/state"
live_conf Mode=enforce GpuType=keep Cpus=keep TimeLimit=limit TimeMin=00:01:00 \
    EvidenceTime=auto "StateDir=$dir/state" WatchInterval=2 GuardInterval=1 Accounting=none
live_start --plugin-dir "$plugin_dir" \
    --conf 'AccountingStorageEnforce=associations,limits,qos,safe'
admin add qos run GrpTRESRunMins=gres/gpu=20
admin add qos each MaxTRESMinsPerJob=gres/gpu=5
admin modify user "$CLUSTER_USER" set qos+=run,each
cluster_restart_ctld
_cluster_spawn dnnestd "$dnnestd" -D --conf="$dir/etc/dnnest.conf"
_cluster_spawn dnnest-guard "$dnnest_guard" -D --conf="$dir/etc/dnnest.conf"
ok 'dnnestd writes a snapshot and a heartbeat' \
    cluster_until 180 test -s "$dir/state/cluster.snapshot" -a -s "$dir/state/guard"
live_looked

# --- limits of minutes -----------------------------------------------------------------

submit 600 "$LIE" -t 10
like 'a job without such a limit gets a lower one' "$(field "$job" TimeLimit)" '^00:0[1-3]:00$'
scancel "$job"
same run 2
same each 0

account=$(sacctmgr -n -P show user "$CLUSTER_USER" format=defaultaccount)
admin modify account "$account" set GrpTRESRunMins=gres/gpu=1000
ok 'the snapshot has the limit of the account' \
    cluster_until 60 grep -qE "^Assoc Account=$account .*Minutes=yes" "$dir/state/cluster.snapshot"
live_looked
submit 600 "$LIE" -t 10
is 'a job below a limit of its account has its own limit' "$(field "$job" TimeLimit)" 00:10:00
scancel "$job"
admin modify account "$account" set GrpTRESRunMins=gres/gpu=-1
cluster_until 60 eval "! grep -q Minutes=yes '$dir/state/cluster.snapshot' || grep -c Minutes=yes '$dir/state/cluster.snapshot' | grep -qx 2"
live_looked

# --- trust -----------------------------------------------------------------------------

neighbour 60
liars=()
for _ in 1 2 3; do
    submit 400 "$LIE" -t 20
    liars+=("$job")
done
ok 'lies of a user without a tally start before the job of a neighbour' \
    cluster_wait_job "$job" RUNNING 20
is 'the job of the neighbour waits' "$(field "$next" JobState)" PENDING
scancel "$busy" "$next"
like 'a job of a user without a tally gets a lower limit' "$(field "$job" TimeLimit)" '^00:0[1-3]:00$'
ok 'three jobs need more than their first limits' cluster_until 300 lies_are_known
live_looked
mark
submit 1 "$LIE" -t 20
is 'the fourth job of the liar has its own limit' "$(field "$job" TimeLimit)" 00:20:00
like 'the log has the reason' "$(logged)" 'needed more than their limits'
submit 1 "dnnest:$LIVE_KEYS" -t 20:00:00
is 'a job with an honest description of the same user has its own limit' "$(field "$job" TimeLimit)" 20:00:00
ok 'the liars owe minutes' cluster_until 240 owes 150
for job in "${liars[@]}"; do
    is 'a liar has the limit that it has requested, at last' \
        "$(cluster_until 120 eval "[[ \$(field $job TimeLimit) = 00:20:00 ]]" && echo yes)" yes
done
scancel "${liars[@]}"
submit 1 "$LIE" -t 20 --array=1-18
ok 'eighteen jobs of a second end' cluster_until 180 eval "[[ -z \$(squeue -h -j $job) ]]"
sleep 5
live_looked
submit 1 "$LIE" -t 20
is 'eighteen jobs of a second restore no trust' "$(field "$job" TimeLimit)" 00:20:00
cluster_until 60 queue_is_empty

# --- the neighbour's wait from then on ---------------------------------------------------

with=0 without=0
for ((draw = 1; draw <= DRAWS; draw++)); do
    seconds=$((30 + RANDOM % 31)) n_lies=$((1 + RANDOM % 8))
    beside "$n_lies" "$seconds"
    with=$((with + waited)) line="$n_lies lies: $waited s"
    beside 0 "$seconds"
    without=$((without + waited))
    diag "draw $draw: busy for $seconds s, the neighbour waits: without the liar $waited s, with $line"
done
diag "in all: $without s, $with s"
ok 'a neighbour waits as long with the distrusted liar as without' \
    test "$with" -le $((without + without / 10 + 5 * DRAWS))
diag "$(grep ^User "$dir/state/guard")"
live_end
