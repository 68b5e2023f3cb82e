#!/bin/bash
# forms.t - every form of a request that the installed Slurm has, through its own clients
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each form is submitted twice, held: with metadata, and opted out. The differences between
# the two jobs are the changes of dnnest, and must be those written here. The same
# submission then runs, and so does srun in it: srun fails if the fields of a job contradict
# each other or its environment. The forms are those of the table in job_submit_dnnest(8).

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin forms job_submit_dnnest
CLUSTER_CPUS='SocketsPerBoard=2 CoresPerSocket=24 ThreadsPerCore=2'

# The limit is TimeMin and the CPUs are CpusPerGpuMin, for any prediction; any gain counts.
# Both types have the same network between nodes.
readonly WORK=${LIVE_KEYS/steps=20000/steps=2000},net=ib100x4
readonly METADATA="dnnest:$WORK"

# write_conf [KEY=VALUE]...: these are in the line of v100; more rules in 'rules'
rules=
write_conf() {
    local nodes='PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 NodeTmp=100000 ThreadsPerCore=2'
    nodes+=' Partitions=gpu,long'
    cat >"$dir/etc/dnnest.new" <<END
Mode=enforce Message=change EvidenceTime=words StartChanges=0
DataDir=$dir/etc DecisionTime=1000
StateDir=$dir/seen SnapshotAge=3600
TimeMin=12:00:00 CpusPerGpuMin=16 $rules
Gpu Type=a100 Device=a100_sxm4_40gb $nodes ByPartition=gpu-a100 MaxTime=2-0 ByFeature=ampere Features=ib
Gpu Type=v100 Device=v100_sxm2_16gb $nodes ByPartition=gpu-v100 MaxTime=2-0 ByFeature=volta Features=ib $*
END
    mv "$dir/etc/dnnest.new" "$dir/etc/dnnest.conf"
}

live_hardware
write_conf
partitions=(
    'gpu Nodes=v[1-2],a[1-2] Default=YES'
    'long Nodes=v[1-2],a[1-2]'
    'gpu-v100 Nodes=v[1-2]'
    'gpu-a100 Nodes=a[1-2]'
)
options=(--conf 'ScronParameters=enable')
for partition in "${partitions[@]}"; do
    options+=(--conf "PartitionName=$partition MaxTime=2-0 State=UP")
done
live_start --plugin-dir "$plugin_dir" --no-accounting "${options[@]}"
# A reconfiguration forgets these features.
see() {
    cluster_until 30 scontrol update NodeName='v[1-2]' AvailableFeatures=volta,ib ActiveFeatures=volta,ib
    cluster_until 30 scontrol update NodeName='a[1-2]' AvailableFeatures=ampere,ib,nvme \
        ActiveFeatures=ampere,ib,nvme
    live_see "$@"
}
see

cat >"$dir/home/job.sh" <<'END'
#!/bin/sh
env -0 >"env-$SLURM_JOB_ID"
srun sh -c 'echo "step on $SLURMD_NODENAME"'
END

# --- helpers -------------------------------------------------------------------------

submit() {
    cluster_as_user sbatch --parsable "$@" job.sh 2>"$dir/said" || { cat "$dir/said" >&2 && return 1; }
}

# The request, one "Key=Value" per line, in the same spelling for all versions. From 23.11
# on CPUs per task are in TresPerTask as well; the job's srun fails if they disagree.
asked() {
    scontrol show job -o "$1" | tr ' ' '\n' |
        sed -E -e 's|gres/gpu|gres:gpu|g' -e '/^TresPerTask=/{s/cpu[=:][0-9]+,?//;s/(gpu(:[a-z0-9]+)?)=/\1:/}' \
            -e '/=$/d' |
        grep -E '^(TimeLimit|TimeMin|Partition|Features|Tres[A-Za-z]+|CpusPerTres|MemPerTres|NumNodes|NumTasks|CPUs/Task|MinCPUsNode|MinMemory[A-Za-z]+|OverSubscribe|JobState|ArrayTaskId)=' |
        LC_ALL=C sort
}

# What metadata change of a submission, sorted, on one line; sets 'changes'.
changes_of() {
    local with without
    with=$(submit -H --comment="$METADATA" "$@") || with=0
    without=$(submit -H --comment="dnnest:off $METADATA" "$@") || without=0
    changes=$(LC_ALL=C comm -13 <(asked "$without") <(asked "$with") | tr '\n' ' ')
    changes=${changes% }
    scancel -Q "$with" "$without" || true
}

# Forms: options | all changes | the nodes where it runs. Every job requests a day.
readonly T='TimeLimit=12:00:00'

# Some versions request the CPUs of one task for all of --ntasks-per-gpu.
per_gpu='CPUs/Task=16 Features=ampere MinCPUsNode=16 '
job=$(submit -H -t 1-0 --comment=dnnest:off --gpus=a100:4 --ntasks-per-gpu=1 -N 1 -c 20 --mem=64000) || job=0
if [[ $(cluster_job_field "$job" NumCPUs) = 20 ]]; then per_gpu='Features=ampere '; fi
scancel -Q "$job" || true
# rows PART: those of forms.txt before or behind "moves"
rows() {
    sed -E "/^#/d; s,\\bPER_GPU ,$per_gpu,; s,\\bT\\b,$T," "$top/tests/live/forms.txt" |
        awk -v moves="$([[ $1 != moves ]] || echo 1)" '$0 == "moves" { behind = 1; next } behind == moves'
}
mapfile -t forms < <(rows forms)
mapfile -t moves < <(rows moves)

# An option may contain a '|', too: the first and the last two separate the parts.
split_form() {
    where=${1##*|}
    expected=${1%|*}
    opts=${expected%|*}
    expected=${expected##*|}
}

# check FORM...: the request and, all at once, the runs
check() {
    local form ids=()
    for form; do
        split_form "$form"
        # shellcheck disable=SC2086  # one word per option
        changes_of -t 1-0 $opts
        is "$opts becomes '$expected'" "$changes" "$expected"
        ids+=(0)
        if [[ -n $where ]]; then
            # shellcheck disable=SC2086
            ids[-1]=$(submit -t 1-0 --comment="$METADATA" -o out-%j $opts) || ids[-1]=0
        fi
    done
    for form; do
        check_run "$form" "${ids[0]}"
        ids=("${ids[@]:1}")
    done
}
check_run() {
    local id=$2
    split_form "$1"
    if [[ -z $where ]]; then return; fi
    # shellcheck disable=SC2086
    if [[ $id = 0 ]] && ! submit -t 1-0 --comment=dnnest:off -o /dev/null $opts >"$dir/id"; then
        skip "the job of $opts completes" 'this Slurm refuses the same without dnnest'
        return
    fi
    ok "the job of $opts completes" cluster_wait_job "$id" COMPLETED 120
    # TaskPlugin=task/none cannot bind, and these GPUs have no clock.
    is "the srun of $opts runs on the right nodes, without an error" \
        "$(grep -vxE "step on ${where}[12]|srun: cluster configuration lacks support for cpu binding|GpuFreq=.*" \
            "$dir/home/out-$id" || true)" ''
    # srun reads it.
    if [[ $expected = *gres:gpu:[1-9]* ]]; then
        is "the environment of $opts has no type" \
            "$(grep -z '^SLURM_.*[av]100:' "$dir/home/env-$id" | tr '\0' ' ')" ''
    fi
}
check "${forms[@]}"

# With the type of the idle nodes that are cheapest.
rules=$LIVE_MOVES
write_conf
cluster_reconfigure
see for-all
check "${moves[@]}"

# Without a snapshot the scheduler chooses; a running job shows the feature that it chose.
live_blind
for request in --gres=gpu:a100:4 --gpus=a100:4 '--gpus-per-node=a100:2 -N 2' '--gpus-per-task=a100:1 -n 4'; do
    # shellcheck disable=SC2086
    job=$(submit -H -t 1-0 --comment="$METADATA" -o out-%j --mem=64000 $request)
    like "$request without a snapshot can have both types" \
        "$(scontrol show job -o "$job")" " Features=\[?ampere\|volta\]?(:1)? "
    scontrol release "$job"
    ok "the job of $request without a snapshot completes" cluster_wait_job "$job" COMPLETED 120
    like "the srun of $request without a snapshot runs on one type" \
        "$(cut -c 9 "$dir/home/out-$job" | sort -u)" '^[av]$'
done

# --- how many nodes Slurm makes of a request -------------------------------------------

# Two of four GPUs and 36 of 96 CPUs are idle on each of a1 and a2. A job that may start on
# both does so; one that must have one node waits.
blockers=()
for node in a1 a2; do
    blockers+=("$(cluster_as_user sbatch --parsable -w "$node" --gres=gpu:a100:2 -c 60 --mem=1000 \
        -t 60 -o /dev/null --wrap 'sleep 600')")
    cluster_wait_job "${blockers[-1]}" RUNNING 30 || true
done
# nodes_of OPTION...: the number of nodes that the job has had, 0 while it waits
nodes_of() {
    local job
    job=$(submit -t 10 --comment=dnnest:off -o /dev/null --mem=1000 "$@") || return 0
    cluster_wait_job "$job" 'COMPLETED|FAILED' 10 2>/dev/null || true
    if [[ $(cluster_job_field "$job" JobState) = PENDING ]]; then
        echo 0
    else
        cluster_job_field "$job" NumNodes
    fi
    scancel -Q "$job" || true
}
is 'tasks without -N spread over nodes' "$(nodes_of --gres=gpu:a100:2 -n 4 -c 10)" 2
is 'tasks with --ntasks-per-node do not spread' \
    "$(nodes_of --gres=gpu:a100:2 --ntasks-per-node=4 -c 10)" 0
is 'GPUs of tasks without -N spread over nodes' "$(nodes_of --gpus-per-task=a100:1 -n 4 -c 4)" 2
is 'GPUs of tasks with --ntasks-per-node do not spread' \
    "$(nodes_of --gpus-per-task=a100:1 -n 4 --ntasks-per-node=4 -c 4)" 0
is 'GPUs of a job without -N spread over nodes' "$(nodes_of --gpus=a100:4 -c 4)" 2
is 'GPUs of a job with -N 1 do not spread' "$(nodes_of --gpus=a100:4 -N 1 -c 4)" 0
scancel "${blockers[@]}"

# --- cores and threads ----------------------------------------------------------------

# has ID: the CPUs and the memory that a job has, and those of a task
has() {
    scontrol show job -o "$1" | tr ' ' '\n' | grep -E '^(NumCPUs|CPUs/Task)=' | xargs
    scontrol show job -d "$1" | grep -oE ' Mem=[0-9]+'
}
for cpus in 8 4; do
    job=$(submit -t 10 --comment=dnnest:off -o /dev/null --gres=gpu:a100:1 -c $cpus \
        --hint=nomultithread --mem-per-cpu=1000)
    cluster_wait_job "$job" COMPLETED 60 || true
    is "--hint=nomultithread takes a core for each CPU, and memory of $cpus CPUs" "$(has "$job" | xargs)" \
        "NumCPUs=$((2 * cpus)) CPUs/Task=$cpus Mem=$((1000 * cpus))"
done
refused=0
submit -t 10 --comment=dnnest:off --gres=gpu:a100:1 -c 49 --hint=nomultithread --mem=1000 \
    >"$dir/said" 2>&1 || refused=1
is 'a node of 48 cores has no more CPUs with --hint=nomultithread' "$refused" 1

# --- what users have in their environment --------------------------------------------

# SLURM_CONSTRAINT and SLURM_GRES are read by the srun of the script.
see for-all
export SLURM_GRES=gpu:a100:1 SLURM_CONSTRAINT=ampere
job=$(submit -t 1-0 --comment="$METADATA" -o out-%j --gres=gpu:a100:4 -C ampere --mem=64000)
ok 'a job with SLURM_GRES and SLURM_CONSTRAINT completes' cluster_wait_job "$job" COMPLETED 120
is 'the srun of a job with SLURM_GRES and SLURM_CONSTRAINT runs on the right node' \
    "$(<"$dir/home/out-$job")" "$(printf 'step on a%d' \
    "$(grep -o '[12]$' "$dir/home/out-$job" || echo 0)")"
unset SLURM_GRES SLURM_CONSTRAINT
SRUN_CPUS_PER_TASK=80 changes_of -t 1-0 --gres=gpu:v100:4 -c 80 --mem=64000
is 'SRUN_CPUS_PER_TASK keeps the CPUs' "$changes" "Features=volta $T TresPerNode=gres:gpu:4"

# --- arrays, heterogeneous jobs, dry runs, holds ---------------------------------------

changes_of -t 1-0 --array=1-4%2 --gres=gpu:a100:4 --mem=64000
is 'all tasks of an array move' "$changes" "Features=volta $T TresPerNode=gres:gpu:4"
job=$(submit -t 1-0 --array=1-2 --comment="$METADATA" -o out-%A-%a --gres=gpu:a100:4 --mem=64000)
ok 'all tasks of a moved array run' \
    cluster_until 120 test "$dir/home/out-$job-1" -ef "$dir/home/out-$job-1" -a \
    -s "$dir/home/out-$job-2" -a -s "$dir/home/out-$job-1"
is 'all tasks of a moved array run on the new nodes' \
    "$(sort -u "$dir/home/out-$job"-* | grep -vc 'step on v[12]')" 0

changes_of -t 1-0 --gres=gpu:a100:4 --mem=64000 : --gres=gpu:a100:2 -c 40 --mem=64000
is 'components of a heterogeneous job are not changed' "$changes" ''
job=$(submit -H -t 1-0 --comment="$METADATA" --gres=gpu:a100:4 --mem=64000 : --gres=gpu:a100:2 --mem=64000)
like 'the record of a component says why nothing was predicted' \
    "$(cluster_job_field "$job" AdminComment)" \
    '"verdict":"abstain".*"why":\["component"\]'
scancel -Q "$job"

before=$(squeue -h | wc -l)
said=$(cluster_as_user sbatch --test-only -t 1-0 --comment="$METADATA" --gres=gpu:a100:4 \
    --mem=64000 job.sh 2>&1) || said="failed: $said"
like '--test-only reports what would change' \
    "$said" 'dnnest: time 1-00:00:00 -> 12:00:00, gpu a100:4 -> v100:4'
like '--test-only answers for the rewritten job' "$said" 'to start at .* on nodes? v[12]'
is '--test-only creates no job' "$(squeue -h | wc -l)" "$before"

# --- scrontab --------------------------------------------------------------------------

if ! command -v scrontab >/dev/null; then
    skip 'a job of scrontab moves' 'no scrontab'
else
    printf '#SCRON -t 1-0 --gres=gpu:a100:4 --mem=64000 --comment=%s\n0 0 1 1 * true\n' "$METADATA" |
        cluster_as_user scrontab - >"$dir/said" 2>&1 || true
    job=$(squeue -h -o %A | sort -n | tail -1)
    like 'a job of scrontab moves' "$(asked "$job" | tr '\n' ' ')" "$T.*TresPerNode=gres:gpu:4"
fi

# --- a type that no job is moved to ------------------------------------------------------

write_conf MoveTo=no
cluster_reconfigure
see
changes_of -t 1-0 --gres=gpu:a100:4 --mem=64000
is 'no job is moved to a type whose Gpu line says MoveTo=no' "$changes" "$T"

live_end
