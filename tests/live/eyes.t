#!/bin/bash
# eyes.t - decisions with a snapshot of the cluster, on a real slurmctld with accounting; and,
# without one, limits of a QOS that a changed job violates, and the Policy line that avoids it
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each case is seen with the snapshot that 'dnnestd watch' takes at that moment.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin eyes job_submit_dnnest
[[ -x $dnnestd ]] || skip_all 'dnnestd is not built'

readonly B=(--gres=gpu:a100:1 -c 16 --mem=64G -t 2-0 -o /dev/null)
readonly M='dnnest:model=resnet101,batch=128,precision=fp16,optimizer=momentum,epochs=3,dataset=imagenet'
readonly NODES='PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=gpu'

# --- helpers -------------------------------------------------------------------------

# use KEYS [LINE]...: Gpu lines with these keys besides the prices, and further lines
use() {
    cat >"$dir/etc/dnnest.new" <<END
Mode=enforce
DataDir=$dir/etc
StateDir=$dir/seen
SnapshotAge=3600
$LIVE_MOVES
DecisionTime=1000
Gpu Type=v100 Device=v100_sxm2_16gb Cost=1 $1
Gpu Type=a100 Device=a100_sxm4_40gb Cost=3 $1
$(printf '%s\n' "${@:2}")
END
    mv "$dir/etc/dnnest.new" "$dir/etc/dnnest.conf"
}
# Sets 'job', 'said' and 'gpus', the constraint and the GPUs.
submit() {
    job=$(cluster_as_user sbatch --parsable "${B[@]}" --comment="$M" "$@" job.sh 2>"$dir/said") \
        || job=
    said=$(<"$dir/said")
    gpus=rejected
    if [[ -n $job ]]; then gpus="$(cluster_job_field "$job" Features) $(cluster_job_field "$job" TresPerNode)"; fi
}
# stays TITLE REASON [OPTION...]: the job does not move, for that reason
stays() {
    local title=$1 reason=$2
    shift 2
    live_see
    mark
    submit -H "$@"
    like "$title: stays" "$gpus" 'null.*gpu:a100:1|^a100 .*gpu:1'
    like "$title: the log says why" "$(logged | grep because= | tail -n 1)" "$reason"
    scancel "$job"
}
moves() {
    local title=$1
    shift
    live_see
    submit -H "$@"
    like "$title: moved" "$gpus" '^v100 .*gpu:1'
    scancel "$job"
}
# runs TITLE [OPTION...]: the job runs to its end.
runs() {
    local title=$1
    shift
    submit "$@"
    ok "$title" cluster_wait_job "${job:-0}" COMPLETED 180
}
is_idle() {
    [[ $(sinfo -h -N -p gpu -n "$1" -o %T | sort -u) = idle ]]
}
# --- the cluster ---------------------------------------------------------------------

live_hardware
use "$NODES"
live_start --plugin-dir "$plugin_dir" \
    --conf 'AccountingStorageEnforce=associations,limits,qos' \
    --conf 'PartitionName=gpu Nodes=ALL Default=YES MaxTime=7-0 State=UP'
printf '#!/bin/sh\ntrue\n' >"$dir/home/job.sh"

# --- nodes that cannot be had ---------------------------------------------------------

moves 'with V100 idle'
scontrol update nodename=v1,v2 state=drain reason=eyes
stays 'V100 drained' 'not v100: its 2 nodes are down, drained or reserved'
scontrol update nodename=v1,v2 state=resume
cluster_until 180 is_idle v1,v2
moves 'V100 resumed'

scontrol create reservation reservation=now starttime=now duration=5-0 nodes=v1,v2 \
    users=root >/dev/null
sleep 2
stays 'V100 reserved for five days' 'not v100: its 2 nodes are down, drained or reserved'
scontrol delete reservation=now
scontrol create reservation reservation=later starttime=now+3hours duration=5-0 \
    nodes=v1,v2 users=root >/dev/null
stays 'V100 reserved in three hours' 'not v100: its nodes are reserved in (03:00:00|02:5[0-9]:)'
scontrol delete reservation=later
moves 'no reservation left'

busy=()
for node in v1 v2; do
    busy+=("$(sbatch --parsable -w $node --gres=gpu:v100:4 -t 2-0 -o /dev/null \
        --comment=dnnest:off --wrap 'sleep 900')")
done
for id in "${busy[@]}"; do cluster_until 180 state_is "$id" RUNNING; done
stays 'V100 busy for days' 'not v100: its GPUs are busy'
scancel "${busy[@]}"
cluster_until 180 is_idle v1,v2
moves 'V100 idle again'

scontrol update nodename=a1,a2 state=drain reason=eyes
live_see
submit -H
like 'the user is told that no A100 is there' "$said" \
    'warning: no node with a100 is available \(its 2 nodes are .*\); v100 has idle ones'
scancel "$job"
scontrol update nodename=a1,a2 state=resume

# --- lines with Type and Device --------------------------------------------------------

use ''
moves 'lines with Type and Device alone'
live_blind
submit -H
like 'such lines move no job without a snapshot' "$gpus" 'gpu:a100:1'
scancel "$job"
use "$NODES"

# --- limits ----------------------------------------------------------------------------

admin add qos novolta MaxTRESPerJob=gres/gpu:v100=0
admin add qos wide MinTRESPerJob=cpu=15
admin add qos strict MinTRESPerJob=cpu=15 Flags=DenyOnLimit
admin add qos one MaxTRESPerUser=gres/gpu:v100=0
admin modify user "$CLUSTER_USER" set qos+=novolta,wide,strict,one
cat >>"$SLURM_CONF" <<END
PartitionName=mem Nodes=v[1-2],a[1-2] DefMemPerCPU=3000 MaxTime=1:00:00 State=UP
END
cluster_restart_ctld
cluster_until 180 is_idle v1,v2,a1,a2
live_see
for qos in novolta wide strict one; do
    runs "a job with dnnest:off runs: $qos" --qos=$qos --comment=dnnest:off
    runs "with eyes so does the same job: $qos" --qos=$qos
done
submit -H --qos=novolta
like 'a job of a QOS without V100 stays' "$gpus" 'gpu:a100:1'
is 'a job that stays gets the CPUs that an A100 needs' "$(cluster_job_field "$job" NumCPUs)" 14
scancel "$job"
submit -H --qos=wide
like 'a job of a QOS with at least 15 CPUs moves' "$gpus" '^v100 .*gpu:1'
is 'a job that needs fewer CPUs keeps those that it requested' "$(cluster_job_field "$job" NumCPUs)" 16
scancel "$job"

admin modify user "$CLUSTER_USER" set defaultqos=novolta
live_see
runs 'a QOS that a job has by default binds, too'
admin modify user "$CLUSTER_USER" set defaultqos=normal
admin modify account research set GrpTRES=gres/gpu:v100=0
live_see
runs 'a job of an account without V100 runs'
like 'a job of an account without V100 stays' "$gpus" 'gpu:a100:1'
admin modify account research set GrpTRES=gres/gpu:v100=-1
moves 'the account may have V100 again'

# --- a partition of its own ------------------------------------------------------------

live_see
job=$(cluster_as_user sbatch --parsable -H -p mem --gres=gpu:a100:1 -c 16 -t 1:00:00 \
    --comment="$M" job.sh 2>"$dir/said")
like 'memory of the default per CPU of the partition is kept' \
    "$(scontrol show job -o "$job")" 'NumCPUs=14 .*MinMemoryNode=48000M'
scancel "$job"

# --- without a snapshot ------------------------------------------------------------------

# Slurm checks limits on the changed job.
waits_for_qos() {
    [[ $(cluster_job_field "$job" Reason) = QOSMin* ]]
}
# waits TITLE [OPTION...]: the job waits, and for ever, since nothing else runs
waits() {
    submit "${@:2}"
    ok "$1" cluster_until 180 waits_for_qos
    scancel "$job"
}
live_blind
runs 'without a snapshot a job whose QOS allows none of another type runs' --qos=novolta
waits 'a job with fewer CPUs than its QOS requires waits' --qos=wide
submit --qos=strict
like 'a job with fewer CPUs than its QOS with DenyOnLimit requires is refused' "$gpus $said" \
    '^rejected .*violates accounting/QOS policy'
use "$NODES" 'Policy QOS=wide,strict Cpus=keep'
cluster_restart_ctld
for qos in wide strict; do
    runs "with Cpus=keep for the QOS the job runs: $qos" --qos=$qos
    is "with Cpus=keep the CPUs are as requested: $qos" "$(cluster_job_field "$job" NumCPUs)" 16
done
# The plugin sees the QOS that a job names, and not the default one of its owner.
admin modify user "$CLUSTER_USER" set defaultqos=wide
cluster_restart_ctld
waits 'a line for a QOS does not match a job that has it by default'
use "$NODES" "Policy User=$CLUSTER_USER Cpus=keep"
cluster_restart_ctld
runs 'a line for the user does'
admin modify user "$CLUSTER_USER" set defaultqos=normal MaxTRESPerJob=gres/gpu:v100=0
runs 'a job whose association allows none of another type runs'

done_testing
