#!/bin/bash
# 0019-remedies.t - what would fit, what an assumption changes, and names and files alone
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# of EXPRESSION SPEC: the values of the candidate 'c' on an A100
of() { dn predict --json --gpu=a100_sxm4_40gb "$2" | value "(lambda c: ($1))(d['candidates'][0])"; }

two=(--gpu=t4_16gb --gpu=a100_sxm4_40gb)

# --- remedies --------------------------------------------------------------------------

# Of these families, on four GPUs each: what is printed is what the changed description gives.
remedied=$(PYTHONDONTWRITEBYTECODE=1 "$PYTHON3" "$top/tests/cli/remedies.py" "$DNNEST" \
    "${trusted[@]}" --zoo "$work/zoo" <<'END'
model=resnet50,batch=512
model=resnet50,batch=1024,gpus=4,precision=fp16,optimizer=momentum
model=vit_l_16,batch=256,precision=fp16,optimizer=adamw
model=bert_large,batch=64,seq_len=512,optimizer=adamw
model=gpt2_xl,batch=8,gpus=4,precision=bf16
model=gpt2,batch=64,grad_accum=2,precision=fp16
model=llama_2_7b,batch=4,seq_len=2048,precision=bf16,optimizer=adamw
model=meta-llama/Llama-3.1-8B,global_batch=64,gpus=8,precision=bf16,seq_len=4096
model=mistral_7b,batch=8,lora=16,precision=bf16,seq_len=2048
model=t5_large,batch=64,precision=bf16
model=unet3d,batch=16,precision=fp16
model=swin_b,batch=512
model=wav2vec2_base,batch=64,precision=fp16
model=llama_2_13b,batch=4,global_batch=64,pp=2,gpus=4,precision=bf16,seq_len=2048,framework=megatron
model=dlrm,batch=65536
model=efficientnet_b7,batch=128,image=600,precision=fp16
model=llama_3.1_8b,batch=4,gpus=8,precision=bf16,seq_len=4096
model=llama_3.1_70b,batch=1,gpus=8,precision=bf16,seq_len=2048
END
)
is 'every remedy is what a prediction of the changed description says' \
    "$(sed '$d' <<<"$remedied")" ''
ok 'there are remedies in many families' test "$(tail -n 1 <<<"$remedied")" -ge 50
json 'those that train the same come first, each by its time' \
    '(lambda r: len(r) > 1 and r[-1][0] and r == sorted(r))([("adam8bit" in (x["change"] or ""),
      x["time_ratio"]) for x in d["candidates"][0]["remedies"]])' \
    predict --gpu=v100_sxm2_16gb model=gpt2_medium,batch=16,seq_len=512,optimizer=adamw,precision=fp32
gives 'the lines below the table have them with their times' 0 \
    $'\nWhat would fit, .*:\n  t4_16gb: on a100_sxm4_40gb \([0-9.]+x\); batch=[0-9]+,grad_accum=[0-9]+ \([0-9.]+x\)' \
    predict "${two[@]}" model=resnet50,batch=256,precision=fp16
gives 'explain has them below the memory' 0 'This does not fit\..*  t4_16gb: batch=[0-9]+,grad_accum=[0-9]+ ' \
    explain --gpu=t4_16gb model=resnet50,batch=512,precision=fp16
gives 'two parts are combined where no one fits' 1 \
    'a100: (parallel=zero3,lora=16|lora=16,checkpointing=full) ' \
    advise --comment=dnnest:model=llama_3.1_8b,batch=1,precision=bf16,seq_len=4096 --gres=gpu:a100:4 --wrap=true
gives 'advise has them below its table' 1 '  a100: batch=[0-9]+,grad_accum=[0-9]+ ' \
    advise --comment=dnnest:model=resnet50,batch=2048,precision=fp16 --gres=gpu:a100:1 --wrap=true
json 'the warning of advise has the first one' \
    '"; " + d["candidates"][0]["remedies"][0]["change"] + " would fit (" in d["warnings"][0]["text"]' \
    advise --comment=dnnest:model=gpt2,batch=512,precision=fp16 --gres=gpu:a100:1 --wrap=true

# check has what predict has, and says it in words.
gives 'check says where a description fits, and what would on the others' 0 \
    $'It does not fit a100, twin\.\nWhat would fit, .*\n  a100: batch=[0-9]+,grad_accum=[0-9]+ \(' \
    check model=resnet50,batch=2048,precision=fp16
gives 'check says where all fits' 0 $'\nIt fits a100, twin\.\n' check model=resnet50,batch=64,precision=fp16
is 'candidates of check are those of predict' \
    "$(dn check --json model=gpt2,batch=64 | value 'd["candidates"]')" \
    "$(dn predict --json model=gpt2,batch=64 | value 'd["candidates"]')"
json 'a job without a network has none' 'd["candidates"] is None' check dnnest:auto

# --- the largest batch -----------------------------------------------------------------

gives 'no batch is no 0' 0 't4_16gb +no .* GiB +- ' predict --gpu=t4_16gb model=gpt2_xl,batch=1
gives 'a batch of 1 that perhaps fits is marked' 0 ' perhaps .* GiB +1\? ' \
    predict --gpu=a100_sxm4_40gb model=gpt2_xl,batch=1,seq_len=1024,precision=fp32
json 'JSON says which of the two it is' \
    '[c["may_hold_one"] for c in d["candidates"]] == [False, True]' \
    predict "${two[@]}" model=gpt2_xl,batch=1,seq_len=1024,precision=fp32

# --- a name alone, a file alone, keys in several words ---------------------------------

gives 'a name alone has batch 1 and the largest of each type' 0 \
    'ITS STEP ms .*a100 +yes .*No batch: batch=1 is taken' predict gpt2
: >"$work/empty.conf"
gives 'without GPU types those are shown that people have' 0 'h100_sxm5_80gb .*t4_16gb' \
    predict --conf "$work/empty.conf" gpt2
json 'the devices that people have are few' '5 < len(d["candidates"]) < 20' predict --conf "$work/empty.conf" gpt2
read -r batch ms < <(of '"%r %r" % (c["largest_batch"], c["largest_batch_step_ms"])' gpt2)
is 'the step of the largest batch is that of its prediction' \
    "$(of 'c["step_ms"]["p50"]' "gpt2,batch=$batch")" "$ms"
json 'a name of the hub is one, too' 'd["spec"]["model"] == "meta-llama/Llama-3.1-8B"' \
    predict --gpu=a100_sxm4_40gb meta-llama/Llama-3.1-8B
same_as() {
    is "$1" "$(dn predict --json --gpu=a100_sxm4_40gb "${@:2}")" \
        "$(dn predict --json --gpu=a100_sxm4_40gb model=gpt2,batch=4,precision=fp16)"
}
same_as 'a name before keys is that of the network' gpt2,batch=4,precision=fp16
same_as 'keys in several words are one description' gpt2 batch=4 precision=fp16
same_as 'blanks around = join' gpt2 batch = 4, precision =fp16
for command in check 'explain --gpu=a100_sxm4_40gb'; do
    # shellcheck disable=SC2086
    json "${command%% *} takes the same" 'd["spec"]["batch"] == 4 and d["spec"]["model"] == "gpt2"' \
        $command gpt2 batch=4
done
gives 'check of a name says that a job needs a batch' 0 'batch +1 +derived .*a job needs batch=' \
    check gpt2
refuses 'check of a script takes one argument' 2 "unexpected argument 'x' after a script" \
    check "$work/site.conf" x
printf '{"dnnest": 1, "spec": {"model": "gpt2", "precision": "fp16"}}' >"$work/gpt2.json"
for file in "$work/gpt2.json" "@$work/gpt2.json"; do
    for command in predict check 'explain --gpu=a100_sxm4_40gb'; do
        # shellcheck disable=SC2086
        json "${command%% *} takes ${file//[!@]/}FILE and keys" \
            'd["spec"]["batch"] == 4 and d["spec"]["precision"] == "fp16"' $command "$file" batch=4
        # shellcheck disable=SC2086
        json "${command%% *} takes ${file//[!@]/}FILE alone" 'd["spec"]["batch"] == 1' \
            $command "$file"
    done
done
json 'the option of sbatch takes FILE and keys' 'd["spec"]["batch"] == 4' \
    advise --dnnest="$work/gpt2.json,batch=4" --gres=gpu:a100:1 --wrap=true

# --- what an assumption changes --------------------------------------------------------

says() { json "$1" "(lambda a: $2)({x['key']: x for x in d['assumed']})" "${@:3}"; }
llama=model=meta-llama/Llama-3.1-8B,batch=1
for command in "predict --gpu=a100_sxm4_80gb" check "explain --gpu=a100_sxm4_80gb"; do
    # shellcheck disable=SC2086
    says "${command%% *} says that the length is the longest, and what another one changes" \
        'a["seq_len"]["value"] == "8192" and a["seq_len"]["other"] == "seq_len=2048"
         and a["seq_len"]["matters"] and a["seq_len"]["time_ratio"] < .3' $command $llama
done
amp=$(of 'c["step_ms"]["p50"]' model=gpt2,batch=8,precision=bf16)
says 'the effect is that of a prediction' \
    "abs(a['precision']['time_ratio'] * d['candidates'][0]['step_ms']['p50'] / $amp - 1) < 1e-9" \
    predict --gpu=a100_sxm4_40gb model=gpt2,batch=8
says 'a number of CPUs that changes matters' \
    'a["workers"]["matters"] and a["workers"]["cpus"] > a["workers"]["other_cpus"]' \
    predict --gpu=a100_sxm4_40gb model=resnet50,batch=256,precision=fp16
says 'what changes little does not' 'not a["optimizer"]["matters"]' \
    predict --gpu=a100_sxm4_40gb model=resnet50,batch=256,precision=fp16
printf '%s' '{"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 768, "n_head": 12,
 "n_layer": 12, "n_positions": 4096, "vocab_size": 50257}' >"$work/small.json"
says 'the length of a config.json is an assumption' 'a["seq_len"]["value"] == "2048"' \
    check "$work/small.json"
gives 'the table asks about AMP' 0 'precision=fp32 +precision=bf16 .*If it trains with AMP, say precision=bf16' \
    check $llama
gives 'a precision that is given is not' 0 '^(.*[^P])?$' check $llama,precision=fp32
json 'the user of an assumed limit is told' \
    '"; assumed: precision=fp32 (if it trains with AMP, say precision=bf16), seq_len=1024" in
     d["message"]' \
    advise --set=EvidenceTime=words --comment=dnnest:model=gpt2,batch=8,steps=1000 \
    --gres=gpu:a100:1 -t 1-0 --wrap=true
json 'nothing is assumed of a full description' '"assumed" not in d["message"]' \
    advise --set=EvidenceTime=words -t 1-0 --wrap=true --gres=gpu:a100:1 \
    --comment=dnnest:model=gpt2,batch=8,steps=1000,precision=bf16,seq_len=512,optimizer=adamw,attention=flash,workers=2
done_testing
