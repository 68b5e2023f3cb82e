#!/bin/bash
# 0013-predict-site.t - largest batch, price-performance and carbon
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=64,precision=fp16,epochs=90,dataset=imagenet
gpu=--gpu=a100_sxm4_40gb

gives 'the largest batch and the price-performance have columns' 0 \
    ' GPU MEMORY +MAX BATCH +CPUS +COST +SAMPLES/s/COST .* CONFIDENCE'$'\n' predict $gpu $spec
batch=$(dn predict --json $gpu $spec | sed -n 's/.*"largest_batch":\([0-9]*\).*/\1/p')
gives 'the column has what JSON has' 0 " GiB +$batch +[0-9]+ " predict $gpu $spec
bound() {
    json "$1" "$2" predict $gpu "model=resnet50,batch=$3,precision=fp16"
}
bound 'the 95 % bound of the largest batch fits with its head room' \
    'd["candidates"][0]["gpu_mem_bytes"]["p95"] * 1.05 <= 40 * 2**30' "$batch"
bound 'one sample more than the largest batch does not fit' \
    'd["candidates"][0]["gpu_mem_bytes"]["p95"] * 1.05 > 40 * 2**30' $((batch + 1))
json 'the largest batch does not depend on the batch that was given' \
    'd["candidates"][0]["largest_batch"] == '"$batch" predict $gpu ${spec/64/100000}
printf 'MemoryHeadroom=1\n' > "$work/new.conf"
json 'the largest batch follows MemoryHeadroom' \
    'd["candidates"][0]["largest_batch"] < '"$batch" \
    predict --conf "$work/new.conf" $gpu $spec
json 'the largest batch is 0 where not even one sample fits' \
    'd["candidates"][0]["largest_batch"] == 0 and not d["candidates"][0]["fits"]' \
    predict --gpu t4_16gb model=gpt2_xl,batch=1,optimizer=adam
json 'every device that can run has a largest batch, larger with more memory' \
    'len(d["candidates"]) > 20 and (lambda b: b["a100_sxm4_80gb"] > b["a100_sxm4_40gb"]
     > b["v100_sxm2_16gb"] > b["k80_12gb"] > 0)(
     {c["gpu"]: c["largest_batch"] for c in d["candidates"]})' predict --all $spec

json 'price-performance is throughput by the price of all GPUs' \
    'abs(d["candidates"][0]["samples_per_s"]
      / (256 / d["candidates"][0]["step_ms"]["p50"] * 1000) - 1) < 1e-6
     and abs(d["candidates"][0]["price_performance"]
      / (d["candidates"][0]["samples_per_s"] / (4 * 4)) - 1) < 1e-6' predict $gpu $spec,gpus=4
printf 'Gpu Type=a Device=a100_sxm4_40gb Cost=0\n' > "$work/new.conf"
json 'what costs nothing has no price-performance' \
    'd["candidates"][0]["price_performance"] is None and d["candidates"][0]["cost"] == 0' \
    predict --conf "$work/new.conf" $gpu $spec

json 'without Carbon= the carbon is null' 'd["candidates"][0]["carbon_g"] is None' \
    predict $gpu $spec
is 'without Carbon= the table has no column of carbon' \
    "$(dn predict $gpu $spec | grep -c CO2)" 0
printf 'Carbon=400\n' > "$work/new.conf"
json 'carbon is energy times intensity' \
    'abs(d["candidates"][0]["carbon_g"] / (d["candidates"][0]["energy_j"] / 3.6e6 * 400) - 1)
     < 1e-6' predict --conf "$work/new.conf" $gpu $spec
gives 'with Carbon= the table has a column of carbon' 0 ' CO2 kg +CONFIDENCE'$'\n' \
    predict --conf "$work/new.conf" $gpu $spec
is 'without an amount of work the table has no column of carbon' \
    "$(dn predict --conf "$work/new.conf" $gpu model=resnet50,batch=8 | grep -c CO2)" 0
json 'without an amount of work the carbon is null' 'd["candidates"][0]["carbon_g"] is None' \
    predict --conf "$work/new.conf" $gpu model=resnet50,batch=8
printf 'Carbon=0\n' > "$work/new.conf"
json 'a grid without carbon emits none' 'd["candidates"][0]["carbon_g"] == 0' \
    predict --conf "$work/new.conf" $gpu $spec
{ cat "$work/site.conf"; echo Carbon=0; } > "$work/new.conf"
json 'advise has largest batch, price-performance and carbon as predict has' \
    'all(c["largest_batch"] > 0 and c["price_performance"] > 0 and c["carbon_g"] == 0
      for c in d["candidates"]) and len(d["candidates"]) == 2
     and d["candidates"][0]["price_performance"] < d["candidates"][1]["price_performance"]' \
    advise --conf "$work/new.conf" --comment "dnnest:$spec" -G a100:4 \
    -t 1-0
done_testing
