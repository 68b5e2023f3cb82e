#!/bin/bash
# 0017-predict-counts.t - types x numbers of GPUs x batch sizes, and the best of them
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,precision=fp16,optimizer=sgd,epochs=90,dataset=imagenet,input=gpu
two=(--gpu v100_sxm2_16gb --gpu t4_16gb)

gives 'the best combinations are listed, the fastest first' 0 \
    'v100_sxm2_16gb +8 +1 .*t4_16gb +1 +1 ' predict --gpus=1,8 --batch-sizes=32,64 "${two[@]}" $spec
json 'there is a combination for each type, number of GPUs and batch' \
    'sorted((c["gpu"], c["gpus"], c["batch"]) for c in d["combinations"])
     == sorted((g, n, b) for g in ("t4_16gb", "v100_sxm2_16gb") for n in (1, 2) for b in (8, 16))' \
    predict --gpus=2,1,2 --batch-sizes=8,16 "${two[@]}" $spec
json 'nothing is both faster and cheaper than one of the best' \
    'all(c["best"] == (c["within"] and not any(o["within"] and o["cost"] <= c["cost"]
         and o["train_s"]["p50"] < c["train_s"]["p50"] for o in d["combinations"]))
         for c in d["combinations"]) and any(c["best"] for c in d["combinations"])' \
    predict --gpus=1,2,4,8 --batch-sizes=16,64,256 "${two[@]}" $spec
json 'without batch sizes the batch of the specification is used' \
    '{c["batch"] for c in d["combinations"]} == {48}' predict --gpus=1,2 "${two[@]}" $spec,batch=48
json 'more than eight GPUs take several nodes' \
    '[c["nodes"] for c in d["combinations"] if c["gpus"] == 24] == [3]' \
    predict --gpus=1,24 --gpu t4_16gb $spec,batch=8
json 'a deadline holds with the 95 % bound of the time' \
    'all(c["within"] == (c["fits"] and c["train_s"]["p95"] <= 86400) for c in d["combinations"])
     and {c["within"] for c in d["combinations"]} == {True, False}' \
    predict --gpus=1,2,4,8 --deadline=1-0 "${two[@]}" $spec,batch=64
json 'the keys deadline and budget are limits too' \
    'all(c["within"] == (c["fits"] and c["train_s"]["p95"] <= 172800
         and c["cost"] * c["train_s"]["p95"] / c["train_s"]["p50"] <= 450)
         for c in d["combinations"]) and {c["within"] for c in d["combinations"]} == {True, False}' \
    predict --gpus=1,2,4,8 "${two[@]}" $spec,batch=64,deadline=2-0,budget=450
json 'what does not fit is not within the limits' \
    'all(not c["within"] for c in d["combinations"] if not c["fits"])
     and any(not c["fits"] for c in d["combinations"])' \
    predict --gpus=1 --batch-sizes=8,4096 "${two[@]}" $spec
documented 'dnnest-predict(1) names every member of the JSON' predict --gpus=1 "${two[@]}" $spec,batch=8
gives 'limits that nothing meets have an answer of their own' 1 '' \
    predict --gpus=1 --budget=0.01 "${two[@]}" $spec,batch=8
gives 'without limits the combinations that fit are counted' 0 \
    'best of 2 combinations, 2 of which fit:' predict --gpus=1 "${two[@]}" $spec,batch=8
gives 'with limits those within them are counted' 0 \
    'best of 2 combinations, [12] of which are within the limits:' \
    predict --gpus=1 --deadline=30-0 "${two[@]}" $spec,batch=8
is 'equal numbers of GPUs count once' "$(dn predict --gpus=2,2,2 "${two[@]}" $spec,batch=8)" \
    "$(dn predict --gpus=2 "${two[@]}" $spec,batch=8)"
gives 'without --gpus the GPUs beyond the deadline are listed' 0 \
    'Beyond deadline=01:00:00 at the p95 of the time: v100_sxm2_16gb, t4_16gb.*Beyond budget=1000000 at the p95 of the time: none' \
    predict "${two[@]}" $spec,batch=8,deadline=1:00:00,budget=1M
refuses 'a wrong deadline lists the forms of a time' 2 \
    'expected minutes, m:s, h:m:s or d-h:m:s' predict --gpus=1 --deadline=x $spec,batch=8
refuses 'an unknown amount of work is an error' 2 'amount of work is unknown.*epochs=' \
    predict --gpus=1,2 "${two[@]}" model=resnet50,batch=8
refuses 'a number of GPUs that is none is an error' 2 "'x' is not a whole number" \
    predict --gpus=1,x "${two[@]}" $spec,batch=8
refuses 'a number of GPUs that the model cannot be split into is an error' 2 \
    'gpus: 3 is not a multiple of tp' predict --gpus=2,3 "${two[@]}" $spec,batch=8,tp=2,gpus=2
refuses 'a budget without numbers of GPUs is an error' 2 'need --gpus' \
    predict --budget=3 "${two[@]}" $spec,batch=8
refuses 'too many numbers of GPUs are an error' 2 'more than 16' \
    predict --gpus=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 "${two[@]}" $spec,batch=8
done_testing
