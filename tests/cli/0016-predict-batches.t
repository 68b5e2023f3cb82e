#!/bin/bash
# 0016-predict-batches.t - batch sizes compared: what fits, the knee, a picture
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,precision=fp16,optimizer=sgd,epochs=2,dataset=imagenet
two=(--gpu v100_sxm2_16gb --gpu t4_16gb)

gives 'every device has a line with its knee' 0 \
    'v100_sxm2_16gb +[0-9]+ +[0-9]+ .*t4_16gb +[0-9]+ +[0-9]+ ' \
    predict --batch-sizes "${two[@]}" $spec
is 'the sizes are those of the list, in order, each once' \
    "$(dn predict --batch-sizes=64,8,1k,8 "${two[@]}" $spec | grep -m 1 '^BATCH' | xargs)" \
    'BATCH PER GPU 8 64 1000'
is 'there is a table for throughput, memory, time and cost' \
    "$(dn predict --batch-sizes=8 "${two[@]}" $spec | grep -c '^BATCH')" 4
is 'without an amount of work there are tables for throughput and memory alone' \
    "$(dn predict --batch-sizes=8 "${two[@]}" model=resnet50 | grep -c '^BATCH')" 2
json 'the knee is the smallest that fits with nine tenths of the best throughput' \
    'all((lambda fit: row["knee"] == min(p["batch"] for p in fit if p["samples_per_s"]
         >= 0.9 * max(q["samples_per_s"] for q in fit)))(
         [p for p in row["points"] if p["fits"]]) for row in d["batch_sizes"])' \
    predict --batch-sizes=1,3,9,27,64,128,200,500 "${two[@]}" $spec
json 'what fits is what the largest batch says, and the table has both' \
    'all(p["fits"] == (p["batch"] <= row["largest_batch"]) for row in d["batch_sizes"]
         for p in row["points"]) and {p["fits"] for row in d["batch_sizes"]
         for p in row["points"]} == {True, False}' predict --batch-sizes=8,4096 "${two[@]}" $spec
json 'the usual sizes are the powers of two up to the largest' \
    '[p["batch"] for p in d["batch_sizes"][0]["points"]]
     == [2**i for i in range(17) if 2**i <= d["batch_sizes"][0]["largest_batch"]]' \
    predict --batch-sizes --gpu t4_16gb $spec
json 'with --batch-sizes the candidates are those of the batch that was given' \
    'len(d["candidates"]) == 2' \
    predict --batch-sizes=8 "${two[@]}" $spec,batch=4

one='(lambda c: (c["samples_per_s"], c["train_s"], c["cost"], c["gpu_mem_bytes"]))'
for batch in 8 64; do
    is "a point equals the prediction for batch $batch" \
        "$(dn predict --json --batch-sizes=8,64 --gpu t4_16gb $spec \
            | value "$one(d['batch_sizes'][0]['points'][$((batch == 64))])")" \
        "$(dn predict --json --gpu t4_16gb $spec,batch=$batch | value "$one(d['candidates'][0])")"
done
json 'a number of steps is converted to samples' \
    'abs(d["batch_sizes"][0]["points"][0]["train_s"]["p50"]
         - d["candidates"][0]["train_s"]["p50"]) < 1e-6
     and d["batch_sizes"][0]["points"][1]["train_s"]["p50"]
         < d["batch_sizes"][0]["points"][0]["train_s"]["p50"]' \
    predict --batch-sizes=16,32 --gpu t4_16gb model=resnet50,precision=fp16,batch=16,steps=100000
json 'gradient accumulation stays as given with --batch-sizes' \
    'd["spec"]["grad_accum"] == 4 and d["batch_sizes"][0]["points"][0]["batch"] == 16' \
    predict --batch-sizes=16 --gpu t4_16gb model=resnet50,batch=8,grad_accum=4
json 'a device that cannot run the precision has no knee' \
    'd["batch_sizes"][0]["knee"] is None and d["batch_sizes"][0]["largest_batch"] is None
     and d["batch_sizes"][0]["points"][0]["samples_per_s"] is None' \
    predict --batch-sizes=16 --gpu t4_16gb model=resnet50,precision=bf16
json 'a device on which nothing fits has no knee' \
    'd["batch_sizes"][0]["knee"] is None and d["batch_sizes"][0]["largest_batch"] == 0' \
    predict --batch-sizes --gpu t4_16gb model=llama_13b,precision=fp16
gives 'the table shows - for a knee that is absent' 0 't4_16gb +- +- +- ' \
    predict --batch-sizes --gpu t4_16gb model=llama_13b,precision=fp16
dn check --json $spec,batch=2 >/dev/null
printf '{"dnnest": 1, "spec": {"batch": 4}, "graph": {"name": "net", "ops": [
  {"op": "linear", "in": [[64]], "out": [[8]], "params": 520}]}}' > "$work/net.json"
gives '--batch-sizes takes a sidecar' 0 \
    'net: .*t4_16gb ' predict --batch-sizes=2,4 --gpu t4_16gb \
    "$work/net.json"

for list in '' 0 -1 8,,16 eight 8x 1.5 200000M; do
    refuses "'$list' is no list of sizes" 2 '^dnnest: --batch-sizes: ' \
        predict "--batch-sizes=$list" $spec
done
refuses 'more than 32 sizes are too many' 2 '--batch-sizes: more than 32' \
    predict "--batch-sizes=$(seq -s , 1 33)" $spec
refuses '--cpu-curve cannot be combined with --batch-sizes' 2 'cpu-curve cannot be combined' \
    predict --batch-sizes --cpu-curve $spec
gives 'without a batch one is taken' 0 'No batch: batch=1 is taken' predict $spec
refuses 'a global batch that is no multiple is refused' 2 'global_batch' \
    predict --batch-sizes=7 $spec,global_batch=10,gpus=3

done_testing
