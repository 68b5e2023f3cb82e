#!/bin/bash
# submissions.t - sixty submissions as people make them, in a real slurmctld
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The scripts of tests/data/scripts with their own #SBATCH and #DNNEST lines, and command
# lines for an ordinary script. The configuration is that of the demo: the shipped bundle,
# the rules at their defaults. Each is submitted twice, held: as it is, and opted out; the
# difference is what changed. For every field that is kept the log has the reason.
#
# With TABLE=FILE in the environment the outcome is also written to FILE, in Markdown:
# 'make submissions' does so.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin submissions job_submit_dnnest

readonly RESNET=model=resnet101,batch=128,precision=fp16,optimizer=momentum,epochs=3,dataset=imagenet
readonly BERT=model=bert_large,batch=8,seq_len=512,precision=fp16,optimizer=adamw,steps=20000,framework=pytorch
readonly GPT2=model=gpt2_medium,batch=4,seq_len=1024,precision=fp16,optimizer=adamw,steps=5000
readonly ONE='--gres=gpu:a100:1 -c 16 --mem=64G -t 2-0'

# What changes | the warnings, in order, as regular expressions | metadata | options
readonly COMMANDS=(
    "time gpu cpus||$RESNET|$ONE"
    "time gpu cpus||$RESNET|--gpus=a100:4 -N 1 -c 80 --mem=256G -t 1-0"
    "time gpu cpus||$RESNET|--gpus-per-node=a100:4 --ntasks-per-node=4 -c 20 --mem=256G -t 1-0"
    "time gpu cpus||$RESNET|--gpus-per-task=a100:1 -N 2 -n 8 -c 20 --mem=256G -t 1-0"
    "time cpus||$RESNET|--gres=gpu:4 -c 80 --mem=256G -t 1-0"
    "time gpu cpus||$RESNET|--gpus-per-node=a100:2 --cpus-per-gpu=16 --mem=64G -t 1-0 -N 1"
    "time gpu cpus||$RESNET|$ONE --array=1-10%2"
    "time gpu cpus||$RESNET|$ONE -p gpu,long"
    "time gpu cpus||$RESNET|$ONE -x a1"
    "time gpu cpus||$RESNET|$ONE --tmp=1G"
    "time gpu cpus||$RESNET|$ONE --hint=nomultithread"
    "cpus||$RESNET|$ONE --gpu-freq=low"
    "time||$RESNET|$ONE --exclusive"
    "time cpus||$RESNET|$ONE -w a1"
    "gpu|shorter than the likely|$BERT|--gres=gpu:v100:1 -c 4 --mem=64G -t 00:30:00"
    "time gpu|bf16|${BERT/fp16/bf16}|--gres=gpu:v100:1 -c 4 --mem=64G -t 1-0"
    "time gpu|GPU memory|$GPT2|--gres=gpu:v100:1 -c 4 --mem=64G -t 2-0"
    "|quote|'dnnest:$RESNET'|$ONE"
    "|did you mean|${RESNET/epochs/epocs}|$ONE"
    "||off|$ONE"
)

# --- the cluster ---------------------------------------------------------------------

live_hardware
readonly NODE='PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 NodeTmp=100000 ThreadsPerCore=1 Partitions=gpu,long'
cat >"$dir/etc/dnnest.conf" <<END
Mode=enforce EvidenceTime=words StartChanges=0
DataDir=$dir/etc
DecisionTime=1000
StateDir=$dir/seen
SnapshotAge=3600
Gpu Type=v100 Device=v100_sxm2_16gb Cost=1 $NODE
Gpu Type=a100 Device=a100_sxm4_40gb Cost=3 $NODE
END
live_start --plugin-dir "$plugin_dir" --no-accounting \
    --conf 'PartitionName=gpu Nodes=v[1-2],a[1-2] MaxTime=INFINITE State=UP Default=YES' \
    --conf 'PartitionName=long Nodes=v[1-2],a[1-2] MaxTime=INFINITE State=UP'
live_see for-all

# --- helpers -------------------------------------------------------------------------

# submit OPTION...: Sets 'job' and 'said'.
submit() {
    job=$(cluster_as_user sbatch --parsable -H "$@" 2>"$dir/said") || job=
    said=$(<"$dir/said")
}

# fields JOB: its time limit, GPUs and CPUs, on one line each.
fields() {
    local gpus
    gpus=$(scontrol show job -o "$1" | grep -oE 'gres[:/]gpu[:a-z0-9=]*' | sort -u |
        sed -E 's|gres/gpu|gres:gpu|; s/=/:/' | grep -v '^gres:gpu:[0-9]*$' | head -n 1) || true
    printf '%s\n%s\n%s\n' "$(cluster_job_field "$1" TimeLimit)" "${gpus#gres:gpu:}" \
        "$(cluster_job_field "$1" CPUs/Task) $(cluster_job_field "$1" CpusPerTres || true)"
}

# kept FIELD: why the log says that it is kept; of a GPU type, of the first other type.
kept() {
    grep -oE "(because=|; )$1: (kept|not [a-z0-9]+:|[a-z0-9]+ is the right)[^;]*" <<<"$log" |
        head -n 1 | sed -E "s/^(because=|; )$1: //" || true
}

# compare SCRIPT OPTION...: the job beside itself, opted out. Sets 'changed', a word per field; 'asked' and
# 'became', the fields as texts; 'why', the reasons of the others; 'warned', a line each.
compare() {
    local script=$1 names=(time gpu cpus) i before after
    shift
    mark
    submit "$@" "$script"
    log=$(logged | grep -a "uid=" | tail -n 1) || true
    warned=$(grep -a 'dnnest: warning: \|dnnest: .*submitted as written\|dnnest: job unchanged' \
        <<<"$said") || true
    changed='' asked='' became='' why=''
    [[ -n $job ]] || return 0
    mapfile -t after < <(fields "$job")
    submit "$@" --comment=dnnest:off "$script"
    mapfile -t before < <(fields "$job")
    asked="${before[0]}, ${before[1]:--}, ${before[2]}"
    for i in 0 1 2; do
        if [[ ${before[i]} = "${after[i]}" ]]; then
            why+="${names[i]}: $(kept "${names[i]}"); "
        else
            changed+="${names[i]} "
            became+="${names[i]} ${before[i]} -> ${after[i]}; "
        fi
    done
    changed=${changed% }
    # Without a decision about the job all fields have the same reason.
    if [[ $log =~ verdict=abstain.*because=([^;]*) ]]; then why="all: ${BASH_REMATCH[1]}"; fi
}

# One row of the table. A '|' would end a column.
row() {
    local text
    printf -v text ' %s |' "${@//|//}"
    table+="|${text//$'\n'/<br>}"$'\n'
}

# judge NAME: every field has changed or has a reason why not.
judge() {
    local missing
    missing=$(grep -oE '[a-z]+: ;' <<<"$why") || true
    if [[ -n $warned && $why =~ ^(time: ; )?(gpu: ; )?(cpus: ; )?$ ]]; then missing=; fi
    is "every field of $1 has changed, or has the reason why not" "${job:+accepted}$missing" accepted
    row "${1//dnnest:/<br>}" "$asked" "${became%; }" "${why%; }" "$(sed 's/^sbatch: dnnest: //' <<<"$warned")"
}

# --- scripts -------------------------------------------------------------------------

table='| submission | asked (time, GPUs, CPUs) | changed | kept, and why | warned |'$'\n|---|---|---|---|---|\n'
n=0
for script in "$top"/tests/data/scripts/*.sh; do
    name=${script##*/}
    install -m 644 "$script" "$dir/home/$name"
    compare "$name"
    judge "$name"
    n=$((n + 1))
done
ok 'there are at least forty scripts' test "$n" -ge 40

# --- command lines -------------------------------------------------------------------

printf '#!/bin/bash\nsrun python train.py\n' >"$dir/home/plain.sh"
for command in "${COMMANDS[@]}"; do
    IFS='|' read -r expected regex metadata options <<<"$command"
    if [[ $metadata != *dnnest:* ]]; then metadata=dnnest:$metadata; fi
    # shellcheck disable=SC2086  # one word per option
    compare plain.sh $options --comment="$metadata"
    is "$options changes '$expected' with $metadata" "$changed" "$expected"
    if [[ -n $regex ]]; then
        like "the user of $options is warned of '$regex'" "$warned" "$regex"
    else
        is "the user of $options with $metadata is not warned" "$warned" ''
    fi
    if [[ $metadata != dnnest:off ]]; then judge "$options $metadata"; fi
done

if [[ -n ${TABLE-} ]]; then
    cat >"$TABLE" <<'END'
# Submissions

What becomes of sixty submissions and more, with the configuration of the demo: the shipped
bundle, the rules at their defaults, two GPU types, a V100 for a third of the price of an
A100. The scripts are those of tests/data/scripts, which were written in the manner of those
that people submit; the others are options of sbatch for a script that runs one training.
`make submissions` writes this file, on a private Slurm; `tests/live/submissions.t` checks
that every field changes or has a reason.

END
    printf '%s' "$table" >>"$TABLE"
fi
live_end
