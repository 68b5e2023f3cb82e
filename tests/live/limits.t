#!/bin/bash
# limits.t - limits of a QOS or an association that a changed job can violate, and the Policy
# line that avoids it
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Slurm checks them on the rewritten job, with a real slurmdbd on MariaDB. Each case is seen
# without the line first: the job that was within its limits waits or is refused.

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin limits job_submit_dnnest

readonly JOB=(--gres=gpu:a100:4 -c 80 -t 1-0 -o /dev/null --comment="dnnest:$LIVE_KEYS")

submit() {
    live_sbatch "${JOB[@]}" "$@" job.sh
}
waits_for() {
    [[ $(cluster_job_field "$1" JobState) = PENDING && $(cluster_job_field "$1" Reason) =~ $2 ]]
}
# waits TITLE REASON OPTION...: the job waits, and for ever, since nothing else runs
waits() {
    local title=$1 reason=$2
    shift 2
    submit "$@"
    cluster_until 180 waits_for "$job" "$reason" || true
    like "$title" "$(cluster_job_field "$job" JobState) $(cluster_job_field "$job" Reason)" \
        "^PENDING $reason\$"
    scancel "$job"
}
runs() {
    local title=$1
    shift
    submit "$@"
    ok "$title" cluster_wait_job "$job" COMPLETED 180
}
use() {
    live_conf Mode=enforce "$@"
    cluster_restart_ctld || fail 'slurmctld starts again'
}
live_hardware
live_conf Mode=enforce
live_start --plugin-dir "$plugin_dir" \
    --conf 'AccountingStorageEnforce=associations,limits,qos'
printf '#!/bin/sh\ntrue\n' >"$dir/home/job.sh"
admin add qos novolta MaxTRESPerJob=gres/gpu:v100=0
admin add qos wide MinTRESPerJob=cpu=20
admin add qos strict MinTRESPerJob=cpu=20 Flags=DenyOnLimit
admin modify user "$CLUSTER_USER" set qos+=novolta,wide,strict
cluster_restart_ctld

# --- without a line --------------------------------------------------------------------

runs 'a job without such a QOS runs'
runs 'a job whose QOS allows none of another type runs' --qos=novolta
waits 'a job with fewer CPUs than its QOS requires waits' 'QOSMin.*' --qos=wide
submit --qos=strict
like 'a job with fewer CPUs than its QOS with DenyOnLimit requires is refused' \
    "$status $said" '^1 .*violates accounting/QOS policy'

for qos in novolta wide strict; do
    runs "the same job with dnnest:off runs: $qos" --qos=$qos --comment=dnnest:off
done

# --- with the line -----------------------------------------------------------------------

use 'Policy QOS=novolta GpuType=keep' 'Policy QOS=wide,strict Cpus=keep'
runs 'with GpuType=keep for the QOS the job runs' --qos=novolta
like 'with GpuType=keep the time is still lowered' "$(scontrol show job -o "$job")" \
    'TimeLimit=0?[0-9]:.*gpu:a100:4'
for qos in wide strict; do
    runs "with Cpus=keep for the QOS the job runs: $qos" --qos=$qos
    like "with Cpus=keep the CPUs are as requested: $qos" \
        "$(cluster_job_field "$job" NumCPUs)" '^80$'
done

# The plugin sees the QOS that a job names, and not the default one of its owner.
admin modify user "$CLUSTER_USER" set defaultqos=wide
cluster_restart_ctld
waits 'a line for a QOS does not match a job that has it by default' 'QOSMin.*'
use "Policy User=$CLUSTER_USER Cpus=keep"
runs 'a line for the user does'

# --- an association --------------------------------------------------------------------

admin modify user "$CLUSTER_USER" set defaultqos=normal MaxTRESPerJob=gres/gpu:v100=0
use
runs 'a job whose association allows none of another type runs'

done_testing
