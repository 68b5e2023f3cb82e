#!/bin/bash
# faults.t - faults that only a real slurmctld can have
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/plugin/faults.c forces all others; doc/design.md lists them.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin faults job_submit_dnnest

readonly JOB=dnnest:$LIVE_KEYS

# submit: a held job; sets $job, and $said, the message to its user.
submit() {
    live_sbatch -H --gres=gpu:a100:4 -t 1-0 --comment="$JOB" --wrap=true
}

restart() {
    live_restart
}

live_hardware
live_conf Mode=enforce

live_start --plugin-dir "$plugin_dir" --no-accounting
submit
sound=$(cluster_job_field "$job" TimeLimit)
not_ok 'the job is not what its user wrote' [ "$sound" = '1-00:00:00' ]

# With 64 KiB slurmctld 22.05 itself ends at its start, also without the plugin.
CLUSTER_CTLD_VIA=(prlimit --stack=131072:131072)
ok 'slurmctld starts with a stack limit of 128 KiB' restart
is 'slurmctld has a stack limit of 128 KiB' "$(awk '/^Max stack size/ { print $4, $5 }' \
    "/proc/$(cluster_pids slurmctld)/limits")" '131072 131072'
submit
is 'slurmctld with a stack of 128 KiB rewrites the job' \
    "$(cluster_job_field "$job" TimeLimit)" "$sound"
CLUSTER_CTLD_VIA=()

echo 'SlurmctldParameters=dnnest_decisiontime=0.0001' >>"$SLURM_CONF"
ok 'slurmctld starts with a DecisionTime in slurm.conf' restart
submit
is 'a decision over DecisionTime leaves the job' \
    "$(cluster_job_field "$job" TimeLimit)" '1-00:00:00'
like 'the user of a decision over DecisionTime gets the reason' "$said" \
    '^sbatch: dnnest: took longer than 0\.0001 ms, .*; job submitted as written$'
is 'a decision over DecisionTime has one line in the log' \
    "$(logged | grep -c 'uid=.* took longer than .*; job unchanged')" 1

is 'slurmctld never complained about itself' \
    "$(grep -ciE 'segfault|sigsegv|assert|abort|fatal' "$dir/log/slurmctld.log" || true)" 0
done_testing
