#!/bin/bash
# rescue.t - a job that was moved to a GPU with too little memory is started again as it was
# requested, where Slurm can change the type of a pending job, and else is told of
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Real jobs that v100 cannot run by their description. They move, fail on an a100 as PyTorch
# does, and succeed on a v100.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin rescue job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built'; fi

readonly SPEC=dnnest:${LIVE_KEYS/fp16/bf16}
readonly INTERVAL=5

# Sets 'job'; options of sbatch. It says on which node it runs.
submit() {
    local says=${SAYS:-torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB}
    if ! job=$(cluster_as_user sbatch --parsable -c 20 --mem=100 -t 1-0 --open-mode=append \
        -o "$dir/home/%j.out" --comment="$SPEC" "$@" 2>"$dir/said" <<END
#!/bin/sh
echo "on \$SLURMD_NODENAME"
env | grep ^SLURM_RESTART_COUNT
case \$SLURMD_NODENAME in a*) echo '$says'; exit 1 ;; esac
srun -n 1 hostname
END
    ); then
        echo "Bail out! sbatch: $(<"$dir/said")"
        exit 1
    fi
}
gres() {
    scontrol show job -o "$1" | grep -o 'TresPerNode=[^ ]*' | grep -o '[av]100:[0-9]*'
}
log_has() {
    grep -q "rescue: job $1: .*$2" "$dir/log/dnnestd.log"
}

cluster_trap "daemon_end; rm -rf '$dir'"
live_hardware
mkdir -p "$dir/state.dnnest" "$dir/progress"
chmod -R go-w "$dir/etc" "$dir/state.dnnest"
chmod 1777 "$dir/progress"
live_conf Mode=enforce Cpus=keep TimeLimit=limit "GuardInterval=$INTERVAL" Rescue=requeue \
    "StateDir=$dir/state.dnnest" "OutputDir=$dir/home" "ProgressDir=$dir/progress" \
    'Policy Partition=off Rescue=off'
live_start --plugin-dir "$plugin_dir" \
    --conf 'PartitionName=gpu Nodes=ALL Default=YES MaxTime=2-0 State=UP' \
    --conf 'PartitionName=off Nodes=ALL MaxTime=2-0 State=UP'
version=$(scontrol -V | grep -o '[0-9]*\.[0-9]*' | head -n 1)
"$dnnestd" rescue -v --conf="$dir/etc/dnnest.conf" >>"$dir/log/dnnestd.log" 2>&1 &
daemon_pid=$!

submit --gres=gpu:v100:1
moved=$job
ok 'a job was moved to an a100' test "$(gres "$moved")" = a100:1
diag "$(<"$dir/said")"
submit --gres=gpu:v100:1 --no-requeue
norequeue=$job
submit --gpus-per-node=v100:1
form=$job
submit --gres=gpu:v100:1 -p off
off=$job
SAYS=ValueError submit --gres=gpu:v100:1
other=$job
for job in "$norequeue" "$form" "$off" "$other"; do
    ok "job $job fails" cluster_until 180 state_is "$job" FAILED
done
ok 'a lack of GPU memory is seen' cluster_until 180 log_has "$moved" 'out of GPU memory on a100'
like 'the log has the record, to learn from' "$(<"$dir/log/dnnestd.log")" \
    "rescue: job $moved: .*\"spec\":\"model=bert_base"
ok 'Rescue=off is obeyed' cluster_until 180 log_has "$off" 'not started again: Rescue=off'

if [[ $version = 22.05 ]]; then
    ok 'Slurm 22.05 cannot change the type: told, not requeued' \
        log_has "$moved" 'not started again: this Slurm cannot change'
    sleep $((3 * INTERVAL))
    is 'the job stays as it failed' "$(field "$moved" JobState)" FAILED
else
    ok 'a job that may not be requeued is told of' \
        cluster_until 180 log_has "$norequeue" 'not started again: it may not be requeued'
    ok 'a job whose environment has the type is told of' \
        cluster_until 180 log_has "$form" 'not started again: .*--gres alone'
    like 'the job is requeued with its own type' "$(gres "$moved")" '^v100:1$'
    is 'the requeued job has its own limit' "$(field "$moved" TimeLimit)" 1-00:00:00
    like 'the record has the rescue' "$(scontrol show job -o "$moved")" '"rescued":1'
    ok 'the requeued job succeeds on a v100' cluster_until 240 state_is "$moved" COMPLETED
    like 'the output shows a second run' "$(<"$dir/home/$moved.out")" 'on a[0-9].*on v[0-9].*SLURM_RESTART_COUNT=1'
fi
is 'another failure is left alone' "$(field "$other" JobState)" FAILED
not_ok 'another failure is not told of' log_has "$other" out
for job in "$norequeue" "$form" "$off"; do
    is "job $job is left alone" "$(field "$job" JobState)" FAILED
done
grep -a rescue: "$dir/log/dnnestd.log" | cut -c 1-160 | sed 's/^/# /'
daemon_end
done_testing
