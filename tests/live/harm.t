#!/bin/bash
# harm.t - jobs that a change would harm, in a real slurmctld, for an ordinary user
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The configuration is that of the demo: the shipped bundle, the rules at their defaults, a
# V100 for a third of the price of an A100. An ordinary job shows that all three fields
# change; every other job differs from it by one thing that must keep a field, and the log
# says which line and which word kept it.

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin harm job_submit_dnnest

readonly B=(--gres=gpu:a100:1 -c 16 --mem=64G -t 2-0)
readonly M='dnnest:model=resnet101,batch=128,precision=fp16,optimizer=momentum,epochs=3,dataset=imagenet'

# --- helpers -------------------------------------------------------------------------

# script LINE...: the batch script of the next job
script() {
    printf '%s\n' '#!/bin/bash' "$@" >"$dir/home/job.sh"
}

one_line() {
    local text
    printf -v text '%s; ' "$@"
    printf '%s' "${text%; }"
}

# Submit the script, held. Sets 'job' and 'now': the fields, a word for each that
# differs from the request.
submit() {
    local limit cpus gpus
    job=$(cluster_as_user sbatch --parsable -H "${B[@]}" --comment="$M" "$@" job.sh \
        2>"$dir/said") || job=
    now=rejected
    [[ -n $job ]] || return 0
    limit=$(cluster_job_field "$job" TimeLimit)
    cpus=$(cluster_job_field "$job" CPUs/Task)
    gpus=$(cluster_job_field "$job" TresPerNode)
    now=
    [[ $limit = 2-00:00:00 ]] || now+='time '
    [[ $gpus = *a100* ]] || now+='gpu '
    [[ $cpus = 16 ]] || now+='cpus '
    now=${now% }
}

# The log line of the last job: it has every reason, the record only those that have room.
reasons() {
    logged | grep "because=" | tail -n 1
}

# keeps TITLE CHANGES REASON OPTION...: the job changes in CHANGES alone, and the log has
# the reason.
keeps() {
    local title=$1 changes=$2 reason=$3
    shift 3
    mark
    submit "$@"
    is "$title" "$now" "$changes"
    like "$title: the log has the reason" "$(reasons)" "$reason"
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
cat >"$dir/etc/dnnest.conf" <<END
Mode=enforce StartChanges=0
DataDir=$dir/etc
StateDir=$dir/seen
SnapshotAge=3600
DecisionTime=1000
$LIVE_MOVES
Gpu Type=v100 Device=v100_sxm2_16gb Cost=1 PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=gpu
Gpu Type=a100 Device=a100_sxm4_40gb Cost=3 PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=gpu
END
live_start --plugin-dir "$plugin_dir" --no-accounting \
    --conf 'PartitionName=gpu Nodes=ALL Default=YES MaxTime=7-0 State=UP'
live_see for-all

# --- what may change -----------------------------------------------------------------

plain() {
    script "$@"
    submit
    is "'$(one_line "$@")' changes the time, the GPU type and the CPUs" "$now" 'time gpu cpus'
}
plain 'python train.py'
plain 'srun python train.py --workers $SLURM_CPUS_PER_TASK'
plain 'torchrun --standalone --nproc_per_node=1 train.py -c config.yaml'
plain 'srun -n1 --exact --gpus=1 -c $SLURM_CPUS_PER_TASK python train.py'
plain 'head_node=$(srun --nodes=1 --ntasks=1 -w "$SLURMD_NODENAME" hostname -I)' \
    'torchrun --rdzv_endpoint=$head_node:29500 train.py'
plain 'cat >config.yaml <<END' 'for seed in 1 2 3; do python train.py; done' 'END' \
    'python train.py'
plain 'python -c "import torch; print(torch.__version__)"' 'python train.py'
plain 'python train.py --lr $((SLURM_NTASKS / 2))'

# --- arithmetic on the CPUs ----------------------------------------------------------

arithmetic() {
    script "$@"
    keeps "'$(one_line "$@")' keeps the CPUs" 'time gpu' 'cpus: kept, [^;]*line [0-9]+'
}
arithmetic 'python train.py --workers $((SLURM_CPUS_PER_TASK - 4))'
arithmetic 'python train.py --workers $(( $SLURM_CPUS_PER_TASK/8 ))'
arithmetic 'N=$SLURM_CPUS_PER_TASK' 'python train.py --workers $((N - 4))'
arithmetic 'let W=SLURM_CPUS_ON_NODE-8' 'python train.py --workers $W'
arithmetic 'python train.py --workers $(expr $SLURM_CPUS_PER_TASK - 4)'
arithmetic 'W=$(($(nproc) - 12))' 'python train.py --workers $W'

# --- CPUs that the script counts -----------------------------------------------------

counted() {
    script "$@"
    keeps "'$(one_line "$@")' keeps the CPUs" 'time gpu' 'cpus: kept, [^;]*line [0-9]+'
}
counted 'srun -c 16 python train.py'
counted 'srun --cpus-per-task=16 python train.py'
counted 'mpirun -np 4 --map-by ppr:4:node:PE=16 python train.py'
counted 'numactl --physcpubind=0-15 python train.py'
counted 'srun --cpu-bind=map_cpu:0,4,8,12 python train.py'
counted 'srun --cpu-bind=verbose,mask_cpu:0xff00 python train.py'
counted 'taskset -c 0-15 python train.py'
counted 'srun \' '  --cpus-per-task=16 \' '  python train.py'

# --- several trainings ---------------------------------------------------------------

several() {
    script "$@"
    keeps "'$(one_line "$@")' keeps the time and the GPU type" 'cpus' 'time: kept, [^;]*line [0-9]+'
}
several 'for seed in 0 1 2 3 4; do python train.py --seed $seed; done'
several 'python train.py; python train.py --stage 2'
several 'while read -r lr; do' '    python train.py --lr "$lr"' 'done <rates.txt'
several 'srun python pretrain.py && srun python finetune.py'
several 'pip install -r requirements.txt' 'python train.py'

script 'run() { torchrun train.py "$@"; }' 'run --seed 1' 'run --seed 2'
keeps 'a function keeps all fields' '' 'time: kept, [^;]*line [0-9]+'
script 'CMD="python train.py --lr 0.1"' 'bash -c "$CMD"'
keeps 'a command in a variable keeps all fields' '' 'time: kept, [^;]*line [0-9]+'
script 'python train.py --fold 0 &' 'python train.py --fold 1 &' 'wait'
keeps 'programs side by side keep all fields' '' 'cpus: kept, [^;]*line [0-9]+'

script 'for seed in 0 1 2 3 4; do python train.py --seed $seed; done'
submit
one=$now
mark
submit --comment="$M,runs=5"
is 'a loop whose runs= the metadata state changes all fields' "$now" 'time gpu cpus'
is 'the same loop without runs= keeps the time and the GPU type' "$one" 'cpus'

# --- a clock below its maximum -------------------------------------------------------

script 'python train.py'
keeps 'a job with --gpu-freq keeps its time and GPU type' 'cpus' 'gpu-freq' --gpu-freq=low
script 'srun --gpu-freq=low python train.py'
keeps 'a step with --gpu-freq keeps the time and GPU type' 'cpus' 'gpu-freq'

# --- units that another type lacks ---------------------------------------------------

unit() {
    script "$@"
    mark
    submit
    unlike_gpu "'$(one_line "$@")' keeps the GPU type though precision=fp16 is stated"
}
unlike_gpu() {
    is "$1" "$(grep -c gpu <<<"$now" || true)" 0
    like "$1: the log has the reason" "$(reasons)" 'gpu: not v100: [^;]*line [0-9]+'
}
unit 'python train.py --bf16'
unit 'python train.py --tf32 True'
unit 'python train.py --attn_implementation flash_attention_2'
unit 'accelerate launch --mixed_precision=bf16 train.py'
unit 'python train.py --precision bf16-mixed'
unit 'python train.py --fp8'
script 'python train.py --bf16 False'
submit
is 'a unit that is switched off does not keep the GPU type' "$now" 'time gpu cpus'

# --- descriptions that say too little ------------------------------------------------

script 'python train.py'
mark
job=$(cluster_as_user sbatch --parsable -H "${B[@]}" \
    --comment='dnnest:model=transformer,batch=8' job.sh 2>"$dir/said")
is 'a family alone does not lower the CPUs' "$(cluster_job_field "$job" CPUs/Task)" 16

live_end
