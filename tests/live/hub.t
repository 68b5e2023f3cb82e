#!/bin/bash
# hub.t - networks as Hugging Face names and describes them, and as files of the site, in a
# real Slurm, by an ordinary user, and what users get wrong in their metadata
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs are submitted held, with the shipped bundle. The V100 has a low price here, so that
# a job leaves the A100 wherever the V100 holds it: memory alone keeps it.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin hub job_submit_dnnest spank_dnnest

readonly NAME=meta-llama/Llama-2-7b-hf
readonly TRAIN=precision=fp16,optimizer=adamw,steps=20000,lora=8
readonly SMALL=$TRAIN,batch=1,seq_len=256
readonly LARGE=$TRAIN,batch=2,seq_len=1024
readonly A100=(--gres=gpu:a100:1 -N 1 -c 16 --mem=64G -t 5-0)
readonly V100=(--gres=gpu:v100:1 -N 1 -c 16 --mem=64G -t 5-0)

# --- helpers -------------------------------------------------------------------------

submit() {
    mark
    live_sbatch -H "$@" job.sh
}

# The GPUs, the time limit and the CPUs of the job.
shown() {
    local field
    for field in TresPerNode TimeLimit NumCPUs; do cluster_job_field "$job" "$field"; done |
        tr -d ' ' | tr '\n' ' '
}

record() {
    cluster_job_field "$job" AdminComment
}

# moved TITLE OPTION...: the job is open to the V100, and is recorded with its likely time.
moved() {
    local title=$1
    shift
    submit "${A100[@]}" "$@"
    like "$title may run on the GPU that holds it" "$said" \
        $'^sbatch: dnnest: time 5-00:00:00 -> [^\n]*gpu a100:1 -> a100 or v100[^\n]*$'
    like "$title names no GPU type" "$(shown)" '^gres[:/]+gpu:1 '
    like "$title has a record" "$(record)" '"train_s":[1-9][0-9]+'
}

# stays TITLE WHY OPTION...: the time of the job is decided, and its GPU is kept.
stays() {
    local title=$1 why=$2
    shift 2
    submit "${A100[@]}" "$@"
    like "$title has its time decided" "$said" \
        $'^sbatch: dnnest: time 5-00:00:00 -> [^\n]*$'
    like "$title keeps its GPU" "$(shown)" '^gres[:/]+gpu:a100:1 '
    like "$title has the reason in the log" "$(logged)" "not v100: $why"
    like "$title has a record" "$(record)" '"train_s":[1-9][0-9]+'
}

# wrong TITLE REGEX FILTER: a config.json that the filter spoils gives one line of that
# text, and the job is as one that opts out.
wrong() {
    local title=$1
    sed "$3" "$dir/home/config.json" | give "$dir/home/bad.json"
    submit "${A100[@]}" --dnnest="@bad.json,quant=nf4,$SMALL"
    is "a config.json with $title does not change the job" "$status $(shown)" "0 $plain"
    like "a config.json with $title gives one error" "$said" \
        "^sbatch: error: dnnest: --dnnest: bad.json: [^"$'\n'"]*$2[^"$'\n'"]*; job submitted as written\$"
}

# A file of the user's.
give() {
    install -o "$CLUSTER_USER" -m 644 /dev/stdin "$1"
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
echo 'optional spank_dnnest.so' >"$dir/etc/plugstack.conf"
live_conf Mode=enforce
sed -i 's/^Gpu Type=\(....\)/& ByFeature=\1/' "$dir/etc/dnnest.conf"
live_start --plugin-dir "$plugin_dir" --no-nodes

printf '#!/bin/sh\nsrun python train.py\n' | give "$dir/home/job.sh"
# As published with the weights.
give "$dir/home/config.json" <<'JSON'
{
  "architectures": ["LlamaForCausalLM"],
  "bos_token_id": 1,
  "eos_token_id": 2,
  "hidden_act": "silu",
  "hidden_size": 4096,
  "initializer_range": 0.02,
  "intermediate_size": 11008,
  "max_position_embeddings": 4096,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 32,
  "num_key_value_heads": 32,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_scaling": null,
  "tie_word_embeddings": false,
  "torch_dtype": "float16",
  "transformers_version": "4.31.0.dev0",
  "use_cache": true,
  "vocab_size": 32000
}
JSON

submit "${A100[@]}" --comment=dnnest:off
plain=$(shown)
is 'a job that opts out is submitted in silence' "$status $said" '0 '

# --- a name of the hub ---------------------------------------------------------------

moved 'a small job of a quantized network' --comment="dnnest:model=$NAME,quant=nf4,$SMALL"
comment=$(shown)
like 'the record has the name as it was written' "$(record)" "model=$NAME,"
moved 'a small job that the option describes' --dnnest="model=$NAME,quant=nf4,$SMALL"
is 'the option has the same result as the comment' "$(shown)" "$comment"
stays 'the same job without quant=' 'may need [0-9]+ GiB of GPU memory, it has 16' \
    --comment="dnnest:model=$NAME,$SMALL"
stays 'a larger job of a quantized network' 'may need [0-9]+ GiB of GPU memory, it has 16' \
    --comment="dnnest:model=$NAME,quant=nf4,$LARGE"
stays 'a quantized network in bf16' 'cannot run this precision' \
    --dnnest="model=$NAME,quant=nf4,${SMALL/fp16/bf16}"

submit "${V100[@]}" --comment="dnnest:model=$NAME,quant=nf4,$LARGE"
like 'a job that the V100 does not hold is moved away from it' "$said" \
    'warning: needs about [12][0-9] GiB of GPU memory, v100 has 16; moved to a100'
like 'a job that is moved away has the other GPU' "$(shown)" '^gres[:/]+gpu:a100:1 '

submit "${A100[@]}" --comment="dnnest:model=meta-llama/Llama-2-77b-hf,$SMALL"
like 'an unknown name of the hub has one error' "$said" \
    $'^sbatch: dnnest: [^\n]*model: [^\n]*Llama-2-77b-hf[^\n]*$'
is 'a job of an unknown name is not changed' "$status $(shown)" "0 $plain"

# --- a config.json -------------------------------------------------------------------

moved 'a small job of a quantized config.json' --dnnest="@config.json,quant=nf4,$SMALL"
is 'a config.json has the same result as the name of its network' "$(shown)" "$comment"
moved 'a config.json with keys and without @' --dnnest="config.json,quant=nf4,$SMALL"
is 'a config.json with keys needs no @' "$(shown)" "$comment"
stays 'a larger job of a quantized config.json' \
    'may need [0-9]+ GiB of GPU memory, it has 16' \
    --dnnest="@config.json,quant=nf4,$LARGE"
stays 'a config.json without quant=' 'may need [0-9]+ GiB of GPU memory, it has 16' \
    --dnnest="@config.json,$SMALL"

submit "${A100[@]}" --dnnest=config.json --comment="dnnest:quant=nf4,$SMALL"
is 'a config.json in the option and keys in the comment are one description' \
    "$(shown)" "$comment"

wrong 'an unknown model_type' 'model_type: .lama. is not known' 's/"llama"/"lama"/'

# --- a file of the site --------------------------------------------------------------

readonly DETECT='batch=4,precision=fp16,optimizer=momentum,epochs=3,samples=20000'
submit "${A100[@]}" --comment="dnnest:model=fasterrcnn_resnet50_fpn,$DETECT"
shipped=$(shown)
not_ok 'a network that is a shipped file is decided on' test "$shipped" = "$plain"
own() {
    submit "${A100[@]}" --comment="dnnest:model=ours,$DETECT"
}
own
like 'an unknown name is named' "$said" "model: 'ours' is not in the zoo"
is 'a job of an unknown network is not changed' "$(shown)" "$plain"
mkdir "$dir/etc/dnnest.zoo.d"
install -m 644 "$dir/etc/zoo/fasterrcnn_resnet50_fpn.json" "$dir/etc/dnnest.zoo.d/ours.json"
live_looked
own
is 'a file of the site is decided on like the shipped one, without a restart' "$(shown)" "$shipped"
like 'the zoo lists it' "$(cluster_as_user "$dnnest" zoo --conf "$dir/etc/dnnest.conf" ours)" 'ours'
chown "$CLUSTER_USER" "$dir/etc/dnnest.zoo.d/ours.json"
mark
live_looked
like 'the log says whose file is not believed' "$(logged)" 'ours\.json: owned by uid'
own
is 'a file that a user owns is not believed' "$(shown)" "$plain"
rm -r "$dir/etc/dnnest.zoo.d"

# --- what users get wrong ------------------------------------------------------------

submit "${A100[@]}" --comment="dnnest:model=transformer,layers=12,batch=4,$TRAIN,experts=64,top_k=2"
like 'the user is told which keys the network does not read' "$said" \
    'dnnest: .*keys experts=, top_k= are not read by transformer'
is 'a job of keys that the network does not read is not changed' "$(shown)" "$plain"
quoted="'dnnest:model=$NAME,quant=nf4,$SMALL'"
submit "${A100[@]}" --comment="$quoted"
is 'the user is told of inner quotes, in one line' "$said" "sbatch: dnnest: warning: metadata \
ignored: the comment has a quote before 'dnnest:'; write --comment=dnnest:... without inner quotes"
is 'a job whose metadata are in inner quotes is not changed' "$(shown)" "$plain"
submit "${A100[@]}" --comment='ticket:4711 see dnnest page'
is 'a comment that only mentions dnnest has no line' "$said" ''
echo Message=never >>"$dir/etc/dnnest.conf"
cluster_restart_ctld
submit "${A100[@]}" --comment="$quoted"
is 'Message=never is silent about ignored metadata, too' "$said" ''
like 'the log has them' "$(logged)" 'metadata ignored: the comment has a quote'

live_end
