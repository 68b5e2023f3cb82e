#!/bin/bash
# 0031-advise-fields.t - fields of the submission, as sbatch of each version fills them
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Observed on real controllers. The edits show the previous value of a field. Each row
# expects exactly these edits, in this order.

. "$(dirname "$0")/lib.sh"

# fields VERSION OPTIONS "FIELD OLD -> NEW; ..." TITLE
fields() {
    local version=$1 options=$2 want=$3 title=$4
    # shellcheck disable=SC2086  # one word per option
    json "$version: $title" "'; '.join('%s %s -> %s' % (e['field'], e['old'], e['new'])
        for e in d['edits'] if e['field'] != 'admin_comment') == '''$want'''" \
        advise --snapshot="$work/idle" --slurm "$version" --comment="dnnest:$short" $options
}

time='time_limit 1440 -> 30'
for version in 22.05 23.02.7; do
    fields $version '-t 1-0 -G a100:4' \
        "$time; tres_per_job gres:gpu:a100:4 -> gres:gpu:4; environment SLURM_GPUS=a100:4 -> SLURM_GPUS=4; features None -> a100" \
        '--gpus is in tres_per_job and in the environment'
    fields $version '-t 1-0 --gres=gpu:a100:4' \
        "$time; tres_per_node gres:gpu:a100:4 -> gres:gpu:4; features None -> a100" \
        '--gres is in tres_per_node alone'
    fields $version '-t 1-0 --gres=gpu:a100:4,license:2' \
        "$time" 'other resources of a node keep the GPU type'
    fields $version '-t 1-0 --gpus-per-node=a100:2 -N2' \
        "$time; tres_per_node gres:gpu:a100:2 -> gres:gpu:2; environment SLURM_GPUS_PER_NODE=a100:2 -> SLURM_GPUS_PER_NODE=2; features None -> a100" \
        '--gpus-per-node is in tres_per_node and in the environment'
    fields $version '-t 1-0 --gpus-per-task=a100:1 -n 4 -c 2' \
        "$time; tres_per_task gres:gpu:a100:1 -> gres:gpu:1; environment SLURM_GPUS_PER_TASK=a100:1 -> SLURM_GPUS_PER_TASK=1; features None -> a100" \
        '--gpus-per-task is in tres_per_task and in the environment'
    fields $version '-t 1-0 -G a100:1 -c 16 --gpu-bind=none --set=GpuType=keep' \
        "$time; cpus_per_task 16 -> 2; min_cpus 16 -> 2; pn_min_cpus 16 -> 2" \
        '-c is in three fields'
done
for version in 23.11.1 24.05; do
    fields $version '-t 1-0 -G a100:4' \
        "$time; tres_per_job gres/gpu:a100:4 -> gres/gpu:4; environment SLURM_GPUS=a100:4 -> SLURM_GPUS=4; features None -> a100" \
        'gres is followed by a slash'
    fields $version '-t 1-0 --gpus-per-task=a100:1 -n 4 -c 16' \
        "$time; tres_per_task cpu:16,gres/gpu:a100:1 -> cpu:2,gres/gpu:1; environment SLURM_TRES_PER_TASK=cpu:16,gres/gpu:a100:1 -> SLURM_TRES_PER_TASK=cpu:2,gres/gpu:1; features None -> a100; cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2" \
        '-c is in tres_per_task with a colon'
done
for version in 24.11 25.05.3 26.05; do
    fields $version '-t 1-0 --gpus-per-task=a100:1 -n 4 -c 16' \
        "$time; tres_per_task cpu=16,gres/gpu:a100=1 -> cpu=2,gres/gpu=1; environment SLURM_TRES_PER_TASK=cpu=16,gres/gpu:a100=1 -> SLURM_TRES_PER_TASK=cpu=2,gres/gpu=1; features None -> a100; cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2" \
        '-c is in tres_per_task with an equals sign'
    fields $version '-t 1-0 --tres-per-task=cpu=16,gres/gpu:a100=1 -n 1' \
        "$time; tres_per_task cpu=16,gres/gpu:a100=1 -> cpu=2,gres/gpu=1; environment SLURM_TRES_PER_TASK=cpu=16,gres/gpu:a100=1 -> SLURM_TRES_PER_TASK=cpu=2,gres/gpu=1; features None -> a100; cpus_per_task 16 -> 2; min_cpus 16 -> 2; pn_min_cpus 16 -> 2" \
        '--tres-per-task is as typed, its CPUs are in the fields'
done

# A type of digits, which alone would be a count: a rescue to it, and one that is open.
sed 's/twin/3090/g; s/Type=a100 Device=a100_sxm4_40gb/Type=v100 Device=v100_sxm2_16gb/' "$work/site.conf" > "$work/digits.conf"
sed 's/twin/3090/g; s/=a100/=v100/g' "$work/idle" > "$work/digits"
digits() {
    json "$1" "[e['new'] for e in d['edits'] if e['field'].startswith('tres')] == $2" \
        advise --conf "$work/digits.conf" --snapshot="$work/digits" --slurm=24.11 -p gpu -t 1-0 \
        --comment="dnnest:${short/fp16/$4}" "$3"
}
digits 'a job moves to a type of digits' '["gres/gpu:3090:1"]' --gres=gpu:v100:1 bf16
digits 'a job moves to a type of digits, of which it gets one' '["gres/gpu:3090:1"]' --gres=gpu:v100 bf16
digits 'a type of digits is open, too' '["gres/gpu:2"]' --gres=gpu:3090:2 fp16

v=22.05
cpus='--set=GpuType=keep --set=TimeLimit=keep -G a100:4'
fields $v "$cpus -n 4 -N 1 -c 16" 'cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2' \
    'tasks times CPUs are min_cpus'
fields $v "$cpus -N2 --ntasks-per-node=2 -c 16" \
    'cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2' \
    '--ntasks-per-node times -N are the tasks'
fields $v "$cpus --ntasks-per-gpu=1 -N 1 -c 16" \
    'cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2' \
    '--ntasks-per-gpu times the GPUs are the tasks'
fields $v "$cpus -c 16" 'cpus_per_task 16 -> 8; min_cpus 16 -> 8; pn_min_cpus 16 -> 8' \
    'without -n there is one task'
fields $v "$cpus -c 16 --mincpus=20" 'cpus_per_task 16 -> 8; min_cpus 16 -> 8' \
    'a larger --mincpus stays'
fields $v "$cpus -N 1 -n 4 -c 16 --mem-per-cpu=1G" \
    'cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2; mem_per_node None -> 65536' \
    '--mem-per-cpu is kept whole, in MB per node'
fields $v "$cpus -N 1 -n 4 -c 16 --mem-per-cpu=1500K" \
    'cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2; mem_per_node None -> 128' \
    'kilobytes are rounded up to MB'
fields $v "$cpus -N 1 -n 4 -c 16 --def-mem-per-cpu=1G" \
    'cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2; mem_per_node None -> 65536' \
    "the cluster's memory per CPU is kept whole"
fields $v "$cpus -N 1 -n 4 -c 16 --def-mem-per-cpu=1G --mem=8G" \
    'cpus_per_task 16 -> 2; min_cpus 64 -> 8; pn_min_cpus 16 -> 2' \
    "the cluster's memory per CPU does not matter where the job states its memory"
fields $v "$cpus -n 4" '' 'without -c no CPUs are lowered'
fields $v "$cpus -c 16 -O -n 4" '' 'overcommitted CPUs are not lowered'

fields $v "$cpus -N 1 --cpus-per-gpu=16" \
    "cpus_per_tres gres:gpu:16 -> gres:gpu:2; environment SLURM_CPUS_PER_GPU=16 -> SLURM_CPUS_PER_GPU=2" \
    '--cpus-per-gpu is in cpus_per_tres and in the environment'
fields 24.11 "$cpus -N 1 --cpus-per-gpu=16" \
    "cpus_per_tres gres/gpu:16 -> gres/gpu:2; min_cpus 64 -> 8; environment SLURM_CPUS_PER_GPU=16 -> SLURM_CPUS_PER_GPU=2" \
    '--cpus-per-gpu is in min_cpus too'
fields $v "$cpus -N 1 -n 16 --cpus-per-gpu=16" \
    "cpus_per_tres gres:gpu:16 -> gres:gpu:4; environment SLURM_CPUS_PER_GPU=16 -> SLURM_CPUS_PER_GPU=4" \
    'no task goes without a CPU'
fields $v "$cpus -N 1 --cpus-per-gpu=16 --mem-per-cpu=1G" \
    "cpus_per_tres gres:gpu:16 -> gres:gpu:2; environment SLURM_CPUS_PER_GPU=16 -> SLURM_CPUS_PER_GPU=2; mem_per_node None -> 65536" \
    'memory that follows --cpus-per-gpu is kept whole'

time_of() { fields $v "--set=GpuType=keep -G a100:1 -t $1" "$2" "-t $1 is read as sbatch reads it"; }
time_of 90 'time_limit 90 -> 30'
time_of 89:01 'time_limit 90 -> 30'
time_of 2:0:0 'time_limit 120 -> 30'
time_of 2-0 'time_limit 2880 -> 30'
time_of 1-2:30 'time_limit 1590 -> 30'
time_of 1-0:0:1 'time_limit 1441 -> 30'
time_of 10 ''
time_of 0 ''
time_of infinite ''
time_of UNLIMITED ''
time_of -1 ''
fields $v '--set=GpuType=keep -G a100:1 -t 90 --time-min=60' 'time_limit 90 -> 60' \
    'no limit goes below --time-min'

# counts_of OPTIONS NODES TASKS: as recorded; sbatch derives them from GPUs that
# are requested by two options.
counts_of() {
    local options=$1 nodes=$2 tasks=$3
    # shellcheck disable=SC2086
    json "$options counts as $nodes nodes and $tasks tasks" \
        "(d['record']['req'].get('nodes'), d['record']['req'].get('tasks')) == ($nodes, $tasks)" \
        advise --comment="dnnest:$short" -t 1-0 --mem=1000 $options
}
counts_of '--gpus=a100:4' None 1
counts_of '--gpus=a100:4 --gpus-per-node=a100:2' 2 2
counts_of '--gpus=a100:4 --gpus-per-node=a100:2 -n 4' 2 4
counts_of '--gpus=a100:4 --gpus-per-node=a100:4 -N 1-2' 1 1
counts_of '--gpus=a100:4 --gpus-per-task=a100:2' None 2
counts_of '--gpus=a100:4 --gpus-per-task=a100:1 --gpus-per-node=a100:2' 2 4

cat > "$work/quotes.sh" <<JOB
#!/bin/sh
#SBATCH --job-name 'a "quoted" name' --comment="dnnest:$short" -t\ 90
#SBATCH -G a100:1 # -t 5
#SBATCH --output=out\\#1 --time="1-0" -Q
##SBATCH --time=5
 #SBATCH --time=6
JOB
json 'quotes, backslashes and comments of #SBATCH lines are understood' \
    '[(e["field"], e["old"]) for e in d["edits"]][:2]
     == [("time_limit", 1440), ("tres_per_job", "gres:gpu:a100:1")]' \
    advise --snapshot="$work/idle" --slurm $v "$work/quotes.sh"
printf '#!/bin/sh\r\n#SBATCH -G a100:1 -t 1-0\r\n#DNNEST %s\r\n' "$short" > "$work/dos.sh"
json 'a carriage return is a blank' 'd["decision"]["time_limit_s"] == 1800' advise "$work/dos.sh"
like 'DOS line ends, which sbatch refuses, have a warning' "$err" \
    '^dnnest: warning: the script has DOS line ends .CR LF., with which sbatch refuses it'
done_testing
