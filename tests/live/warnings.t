#!/bin/bash
# warnings.t - what dooms a job is said at sbatch, and a job is saved where it can be, in a
# real slurmctld, for an ordinary user, with the bundle that dnnest comes with
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin warnings job_submit_dnnest

# Far from any limit, so that the tests do not depend on the calibration of the predictor.
readonly RESNET=dnnest:model=resnet50,optimizer=momentum,dataset=imagenet
readonly LARGE=$RESNET,batch=256,precision=fp32,epochs=1
readonly SMALL=$RESNET,batch=64,precision=fp16
readonly V100=(--gres=gpu:v100:1 -N 1 -c 16 --mem=64G -t 1-0)
readonly A100=(--gres=gpu:a100:1 -N 1 -c 16 --mem=64G -t 1-0)

# --- helpers -------------------------------------------------------------------------

write_conf() {
    live_conf Bundle="$dir/etc/bundle" "$@"
}

use() {
    write_conf "$@"
    if ! live_restart; then
        fail 'slurmctld starts again'
        exit 1
    fi
}


# warns TITLE 'REGEX%REGEX...' OPTION...: the job is accepted, stdout is its number alone,
# and the lines of warnings match in this order, with no other.
warns() {
    local title=$1 want=() got=() line n=0
    IFS=% read -ra want <<<"$2"
    shift 2
    live_sbatch -H "$@" job.sh
    while read -r line; do
        if [[ $line = *'dnnest: warning: '* ]]; then got+=("$line"); fi
    done <<<"$said"
    like "$title: the job is accepted, and stdout has its number alone" "$status:$job" \
        '^0:[0-9]+$'
    for ((n = 0; n < ${#want[@]}; n++)); do
        like "$title: line $((n + 1)) of the warnings" "${got[n]-}" \
            "^sbatch: dnnest: warning: ${want[n]}"
    done
    is "$title: there is no other warning" "${#got[@]}" "${#want[@]}"
}

# The GPUs of the last job.
gpus() {
    cluster_job_field "$job" TresPerNode | sed 's/ *$//; s/^gres[:/]//'
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
[[ -d $dir/etc/bundle ]] || cp -R "$top/etc/bundle" "$dir/etc/bundle"
write_conf Mode=enforce

live_start --plugin-dir "$plugin_dir" --no-accounting
printf '#!/bin/sh\nsrun sh -c '\''echo "step on $SLURMD_NODENAME"'\''\n' >"$dir/home/job.sh"
like 'predictions use the bundle that dnnest comes with' \
    "$(grep -a 'job_submit/dnnest' "$dir/log/slurmctld.log")" 'model bundle [^n]'

# --- enforce: a job that cannot run is moved -----------------------------------------

warns 'a job that another type holds' 'needs about [0-9]+ GiB of GPU memory, v100 has 16; moved to a100$' \
    "${V100[@]}" --comment="$LARGE"
is 'a job that does not fit is moved' "$(gpus)" 'gpu:a100:1'
like 'a rescued job has the change in its line' "$said" 'dnnest: .*gpu v100:1 -> a100:1'
like 'the record has the kind of the warning' "$(cluster_job_field "$job" AdminComment)" \
    '"warn":"memory"'
warns 'bf16 on a V100' 'v100 cannot run precision=bf16; moved to a100$' \
    "${V100[@]}" --comment="$RESNET,batch=64,precision=bf16,epochs=1"
is 'a job of another precision is moved' "$(gpus)" 'gpu:a100:1'
live_sbatch -o out-%j "${V100[@]}" --comment="$LARGE" job.sh
ok 'a rescued job runs' cluster_wait_job "$job" COMPLETED 180
like 'a rescued job runs on the other type' "$(<"$dir/home/out-$job")" '^step on a[12]$'

warns 'a job that no type holds' \
    'needs about [0-9]{3,5} GiB of GPU memory, v100 has 16; no other type can run it; not even batch=1 would fit; assumed: seq_len=4096, attention=$' \
    "${V100[@]}" --comment=dnnest:model=llama_2_70b,batch=64,precision=fp16
warns 'a job that only another training would fit' \
    'needs about .* v100 has 16; no other type can run it; lora=16,[a-z0-9_=,]+ would fit \([0-9]+\.[0-9]x the time\); assumed: precision=fp32 \(if it trains with AMP, say precision=fp16\), attention=$' \
    "${V100[@]}" --comment=dnnest:model=gpt2_xl,batch=64,seq_len=1024
is 'a job that no type holds keeps its type' "$(gpus)" 'gpu:v100:1'
warns 'a job whose nodes are named' \
    'needs about .* v100 has 16; a100 can run it \(not moved: nodes were named.*\); batch=[0-9]+,grad_accum=[0-9]+ would fit \(1\.[0-9]x the time\)$' \
    "${V100[@]}" -w v1 --comment="$LARGE"
is 'a job whose nodes are named keeps its type' "$(gpus)" 'gpu:v100:1'

# --- time ----------------------------------------------------------------------------

warns 'a limit below the likely time' '-t 01:00:00 is shorter than the likely [0-9]+h[0-9][0-9]m; assumed: workers=$' \
    "${V100[@]}" -t 60 --comment="$SMALL,epochs=90"
is 'a limit that is too low is kept' "$(cluster_job_field "$job" TimeLimit)" '01:00:00'
# The deadline is between the likely times of the two types.
seconds() {
    grep -oE '"train_s":[0-9]+' <<<"$1" | grep -oE '[0-9]+'
}
use Mode=enforce GpuType=keep TimeLimit=keep
live_sbatch -H "${V100[@]}" -c 64 --comment="$SMALL,epochs=10" job.sh
slow=$(seconds "$(cluster_job_field "$job" AdminComment)")
live_sbatch -H "${A100[@]}" -c 64 --comment="$SMALL,epochs=10" job.sh
fast=$(seconds "$(cluster_job_field "$job" AdminComment)")
ok 'the two types differ by minutes' test $((slow - fast)) -gt 300
middle=$(((slow + fast) / 120))
warns 'a deadline of the description that another type meets' \
    'v100 would miss deadline=[0-9:]+ \(likely .*\); a100 would meet it \(likely [0-9]+h' \
    "${V100[@]}" -c 64 --comment="$SMALL,epochs=10,deadline=$middle"
is 'a deadline buys no more expensive type' "$(gpus)" 'gpu:v100:1'
warns 'a limit and a --deadline that another type meets' \
    '-t 00:10:00 is shorter than .*%v100 would miss --deadline in [0-9:]+ \(likely .*\); a100 would meet it' \
    "${V100[@]}" -c 64 -t 10 --deadline="now+${middle}minutes" --comment="$SMALL,epochs=10"
warns 'a limit that --signal shortens' '-t [0-9:]+ leaves [0-9:]+ before --signal, less than the likely' \
    "${V100[@]}" -c 64 -t $((slow / 60 + 20)) --signal=B:USR1@3600 --comment="$SMALL,epochs=10"
use Mode=enforce

# --- what was meant otherwise --------------------------------------------------------

warns 'metadata of fewer GPUs' 'metadata says 2 GPUs, 4 were requested(; 2 would suffice)?$' \
    --gres=gpu:v100:4 -N 1 -c 64 --mem=64G -t 1-0 --comment="$SMALL,epochs=1,gpus=2"
warns 'three warnings, the most serious first' \
    '-t 00:10:00 is .*%v100 would miss --deadline in .*%metadata says 2 GPUs, 4 were requested(; 2 would suffice)?$' \
    --gres=gpu:v100:4 -N 1 -c 64 --mem=64G -t 10 --deadline=now+20minutes \
    --comment="$SMALL,epochs=10,gpus=2"

# --- rules ---------------------------------------------------------------------------

use Mode=enforce Upgrade=no
warns 'Upgrade=no' 'needs about .*\(not moved: its Cost is higher \(Upgrade=no\)\)' \
    "${V100[@]}" --comment="$LARGE"
is 'with Upgrade=no a job that does not fit keeps its type' "$(gpus)" 'gpu:v100:1'
use Mode=observe
warns 'with Mode=observe' '' "${V100[@]}" --comment="$LARGE"

live_end
