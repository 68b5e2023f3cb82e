#!/bin/bash
# revise.t - limits of pending jobs follow the first runs of their application
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The file of histories is written here, as 'dnnest learn' would; dnnestd finds it in
# StateDir.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin revise job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all "$dnnestd is not built"; fi

live_hardware
live_conf Mode=enforce GpuType=keep Cpus=keep TimeLimit=limit TimeMin=00:01:00 Revise=yes \
    "StateDir=$dir/state" GuardInterval=2 WatchInterval=2 CollectInterval=3600 \
    LearnInterval=3600 Accounting=none 'Policy QOS=none Revise=no'
mkdir -p "$dir/state"
chmod -R go-w "$dir/etc" "$dir/state"
cluster_start "$dir" --plugin-dir "$plugin_dir"
live_daemons
ok 'the guard is alive' cluster_until 180 test -s "$dir/state/guard"

# --- helpers -------------------------------------------------------------------------

# submit APP [OPTION...]: prints the id
submit() {
    cluster_as_user sbatch --parsable --gres=gpu:a100:1 -c 1 --mem=100 -t 60 -o /dev/null \
        --comment="dnnest:app=$1" "${@:2}" job.sh 2>>"$dir/said"
}
limit() { cluster_job_field "$1" TimeLimit; }

# know APP...: each has run eight times, two minutes a run, lately
know() {
    local app
    {
        printf '%s\n' "History Version=1 Time=$(date +%s) ByAccount=no" 'Type Name=a100'
        for app; do
            printf 'App Key=%s Type=0 Gpus=1 Unit=run Freedom=12 Runs=8 Last=%s %s\n' \
                "$(key_of "$app")" "$(($(date +%s) + 1))" \
                'Time=120000000 Sigma=50000 Longest=125000 WorkMin=1 WorkMax=1'
        done | sort
        echo "End Rows=$#"
    } >"$dir/state/history.new"
    mv "$dir/state/history.new" "$dir/state/history"
}

# --- before anything is known -----------------------------------------------------------

printf '%s\n' '#!/bin/sh' 'exec sleep 100' >"$dir/home/job.sh"
held=$(submit net -H)
human=$(submit net -H)
other=$(submit another -H)
array=$(submit net --array=0-5%1)
sparse=$(submit net -H --array=1-399:2)
off=$(cluster_as_user sbatch --parsable --gres=gpu:a100:1 -t 60 -o /dev/null -H \
    --comment=dnnest:off job.sh)
cluster_wait_job "${array}_0" RUNNING 30 || true
is 'a job without history keeps its limit' "$(limit "$held")" 01:00:00
is 'a job without history is remembered by its application' "$(member "$held" app)" net
scontrol update "JobId=$human" TimeLimit=50
sleep 1

# --- when the first runs have finished ------------------------------------------------

know net
ok 'a pending job gets the limit of its application' \
    cluster_until 180 limit_is "$held" 00:03:00
is 'the record of a revised job says so' "$(member "$held" revised) $(member "$held" set.time_s) $(member "$held" verdict) $(member "$held" req.time_s)" \
    '1 180 change 3600'
ok 'the pending tasks of an array get it, too' cluster_until 180 limit_is "${array}_5" 00:03:00
ok 'an array whose list of tasks is long gets it, too' \
    cluster_until 180 limit_is "${sparse}_399" 00:03:00
is 'the tasks of that array are still one job' "$(squeue -h -j "$sparse" -o %i | wc -l)" 1
is 'a task of the array that runs keeps its limit' "$(limit "${array}_0")" 01:00:00
is 'a limit that a human has changed stays' "$(limit "$human")" 00:50:00
is 'another application is not concerned' "$(limit "$other")" 01:00:00
is 'a job that dnnest does not touch is not concerned' "$(limit "$off")" 01:00:00
ok 'the log names the job and the runs' \
    grep -q "revise: job $held: limit 01:00:00 -> 00:03:00 by 8 runs" "$dir"/log/dnnestd*
live_looked
is 'a new job gets the same limit at once' "$(limit "$(submit net -H)")" 00:03:00

# --- the guard takes it from there ---------------------------------------------------------

printf '%s\n' '#!/bin/sh' 'exec sleep 240' >"$dir/home/job.sh"
long=$(submit late -H)
sleep 1
know late net
ok 'a job that will take longer is lowered, too' \
    cluster_until 180 limit_is "$long" 00:03:00
scontrol release "$long"
extended() { (($(member "$1" 'later[0] // 0') > 180)); }
ok 'the guard extends it as any limit of dnnest' cluster_until 200 extended "$long"
ok 'the extended job completes' cluster_wait_job "$long" COMPLETED 200

scancel "$array" "$sparse" "$held" "$human" "$other" "$off"
done_testing
