#!/bin/bash
# cluster.t - the private cluster itself, without dnnest
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin cluster

if ! cluster_start "$dir" --conf 'SchedulerParameters=batch_sched_delay=0,bf_interval=1'; then
    fail 'the cluster starts'
    done_testing
    exit 1
fi
pass 'the cluster starts'

nodes() { sinfo -h -N -o '%N %t %G %c %m' | sort; }

is 'four nodes are idle, with the right GPUs, CPUs and memory' "$(nodes)" \
    'a1 idle gpu:a100:4 96 512000
a2 idle gpu:a100:4 96 512000
v1 idle gpu:v100:4 96 512000
v2 idle gpu:v100:4 96 512000'

config=$(scontrol show config)
like 'no job submit plugin is loaded unless requested' "$config" 'JobSubmitPlugins += \(null\)'
like 'a line of --conf replaces the default' "$config" \
    'SchedulerParameters += batch_sched_delay=0,bf_interval=1'$'\n'
ok 'no line of slurm.conf is given twice' \
    bash -c '! scontrol ping 2>&1 | grep -i "more than once"'

# An ordinary user's job, its step, its records
cat >"$dir/home/job.sh" <<'END'
#!/bin/sh
#SBATCH --gres=gpu:a100:4 -c 80 -t 1-0 -J train
echo "batch $(id -un) $(hostname)"
srun sh -c 'echo "step $(id -un) $SLURM_CPUS_PER_TASK $SLURMD_NODENAME"'
END
id=$(cluster_as_user sbatch --parsable --comment='two words' job.sh)
ok 'a job of an ordinary user ends well' cluster_wait_job "$id" COMPLETED 60
like 'the job of the user ran on a node with a100' \
    "$(cluster_job_field "$id" NodeList)" '^a[12]$'
is 'the time limit of the job is the requested one' \
    "$(cluster_job_field "$id" TimeLimit)" 1-00:00:00
is 'the job had 80 CPUs' "$(cluster_job_field "$id" NumCPUs)" 80
is 'the comment of the job is kept with its blanks' \
    "$(cluster_job_field "$id" Comment)" 'two words'
not_ok 'a field that does not exist is an error' cluster_job_field "$id" NoSuchField
output=$(cat "$dir/home/slurm-$id.out" 2>&1) || true
like 'the batch script ran as that user' "$output" "batch $CLUSTER_USER "
like 'srun inside the batch script works' "$output" "step $CLUSTER_USER 80 a[12]"

accounted() {
    account=$(sacct -n -X -P -j "$1" -o User,Account,State,AllocTRES,Timelimit)
    [[ $account =~ ^"$CLUSTER_USER|research|COMPLETED|".*gres/gpu:a100=4.*'|1-00:00:00'$ ]]
}
cluster_until 60 accounted "$id" || true
like 'sacct shows user, account, state, GPUs and time limit' "$account" \
    "^$CLUSTER_USER\\|research\\|COMPLETED\\|.*gres/gpu:a100=4.*\\|1-00:00:00$"

# States
id=$(cluster_as_user sbatch --parsable -H --wrap 'sleep 600')
ok 'a held job is waited for as PENDING' cluster_wait_job "$id" PENDING 10
ok 'a job may be waited for in one of several states' \
    cluster_wait_job "$id" 'RUNNING|PENDING' 10
not_ok 'a state that does not come is an error' cluster_wait_job "$id" RUNNING 1
ok 'the controller restarts' cluster_restart_ctld
is 'the controller has the job after a restart' "$(cluster_job_field "$id" JobState)" PENDING
ok 'the controller answers after a reconfiguration' cluster_reconfigure
is 'the controller has the job after a reconfiguration' \
    "$(cluster_job_field "$id" JobState)" PENDING
scancel "$id"
started=$SECONDS
not_ok 'waiting for a cancelled job to complete is an error' \
    cluster_wait_job "$id" COMPLETED 60
ok 'a cancelled job is noticed within 5 seconds' test $((SECONDS - started)) -le 5

# The end: jobs run, one of them with a process that leaves it.
cat >"$dir/home/stray.sh" <<'END'
#!/bin/sh
#SBATCH -c 1 -t 10
setsid env -i sleep 987654 &
srun sleep 987654
END
id=$(cluster_as_user sbatch --parsable stray.sh)
cluster_wait_job "$id" RUNNING 60 || true
strays() { [[ $(pgrep -u "$CLUSTER_USER" -fc 'sleep 987654') -ge 2 ]]; }
ok 'a job and a process that left it run' cluster_until 20 strays
is 'seven ports are in use' "$(cluster_listening | wc -l)" 7
pids=$(cluster_pids)
started=$SECONDS
ok 'the cluster stops' cluster_stop
ok 'the cluster stops within a minute' test $((SECONDS - started)) -le 60

alive() {
    local pid
    for pid in $pids $(pgrep -u "$CLUSTER_USER" -f 'sleep 987654'); do
        if grep -qs '^State:.[^Z]' "/proc/$pid/status"; then ps -fp "$pid"; fi
    done
}
is 'no process is left' "$(alive)" ''
is 'no port is left open' "$(cluster_listening)" ''
not_ok 'the file that reserved the ports is removed' \
    _cluster_has_reserved "/run/dnnest-cluster-$((CLUSTER_PORTS[0] % 97))"
ok 'stopping again does nothing' cluster_stop

done_testing
