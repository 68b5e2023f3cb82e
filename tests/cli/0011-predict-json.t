#!/bin/bash
# 0011-predict-json.t - the contract of predict --json
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=256,precision=fp16,epochs=90,dataset=imagenet
v100="--gpu v100_sxm2_32gb"

json 'there are spec, model, bundle and candidates, and nothing else' \
    'list(d) == ["spec", "model", "model_bundle", "candidates", "unread", "assumed"]' predict $spec
json 'the model has name, parameters and FLOPs' \
    'd["model"]["name"] == "resnet50" and d["model"]["params"] == 25557032
     and abs(d["model"]["forward_flops_per_sample"] / 8.178e9 - 1) < 0.01' predict $spec
json 'spec holds the keys that were given' \
    'd["spec"]["model"] == "resnet50" and d["spec"]["batch"] == 256
     and d["spec"]["precision"] == "fp16" and d["spec"]["epochs"] == 90
     and d["spec"]["dataset"] == "imagenet"' predict $spec
json 'spec holds what follows from the given keys' \
    'd["spec"]["samples"] == 1281167 and d["spec"]["gpus"] == 1
     and d["spec"]["global_batch"] == 256 and d["spec"]["decode"] == "jpeg"' predict $spec
json 'a real key keeps its fraction' 'd["spec"]["epochs"] == 0.25' \
    predict model=resnet50,batch=256,epochs=0.25,dataset=imagenet
json 'there is a candidate for every device' \
    'len({c["gpu"] for c in d["candidates"]}) == '"$n_devices" \
    predict --all $spec
json 'every candidate has exactly the members of the contract' \
    'all(list(c) == ["gpu", "type", "fits", "step_ms", "train_s", "gpu_mem_bytes",
      "gpu_mem_allocated_bytes", "host_mem_bytes",
      "cpus", "power_w", "power_w_p95", "energy_j", "cost", "carbon_g", "samples_per_s",
      "price_performance", "largest_batch", "may_hold_one", "confidence",
      "idle_gpus", "up_gpus", "wait_s", "breakdown_ms", "remedies"]
      for c in d["candidates"])' predict $spec
json 'a candidate that can run has numbers everywhere' \
    'all(isinstance(c["gpu"], str) and c["fits"] in (True, False, None)
      and all(number(c[k][q]) and c[k][q] > 0 for k in ("step_ms", "train_s", "gpu_mem_bytes")
              for q in ("p50", "p95"))
      and all(number(c[k][q]) for k in ("step_ms", "train_s") for q in ("p80", "p90", "p99"))
      and all(number(c[k]) and c[k] > 0 for k in ("host_mem_bytes", "cpus", "power_w",
              "power_w_p95", "energy_j", "cost", "confidence"))
      and all(number(x) for x in c["breakdown_ms"].values())
      for c in d["candidates"] if c["fits"])' predict $spec
json 'the bound is above the median' \
    'all(c[k]["p95"] > c[k]["p50"] for c in d["candidates"] if c["fits"]
      for k in ("step_ms", "train_s", "gpu_mem_bytes"))' predict $spec
json 'times have five quantiles in ascending order' \
    'all(list(c[k]) == ["p50", "p80", "p90", "p95", "p99"]
      and list(c[k].values()) == sorted(set(c[k].values()))
      for c in d["candidates"] if c["fits"] for k in ("step_ms", "train_s"))' predict $spec
json 'the power has a bound, which is not above the limit of the board' \
    'all(c["power_w"] <= c["power_w_p95"] <= 150 for c in d["candidates"] if c["fits"])' \
    predict $spec,power_limit=150
json 'confidence is between 0 and 1' \
    'all(0 <= c["confidence"] <= 1 for c in d["candidates"])' predict $spec
json 'CPUs are whole' 'all(isinstance(c["cpus"], (int, type(None))) for c in d["candidates"])' \
    predict $spec
json 'without an amount of work, time, energy and cost of the run are null' \
    'all(c["train_s"] is None and c["energy_j"] is None and c["cost"] is None
      for c in d["candidates"])' predict model=resnet50,batch=256
json 'a device that cannot run the precision does not fit and has null for numbers' \
    'd["candidates"][0]["fits"] is False and d["candidates"][0]["step_ms"]["p50"] is None
     and d["candidates"][0]["cpus"] is None' \
    predict $v100 model=resnet50,batch=256,precision=bf16
json 'the breakdown names the stages' \
    '{"forward", "backward_data", "backward_weight", "optimizer", "communication", "input"}
     <= set(d["candidates"][0]["breakdown_ms"])' predict $v100 $spec
json '--gpu gives the candidates in its order' \
    '[c["gpu"] for c in d["candidates"]] == ["t4_16gb", "k80_12gb"]' \
    predict --gpu t4_16gb --gpu k80_12gb $spec
json 'cost is the price times GPUs times hours' \
    'abs(d["candidates"][0]["cost"]
      / (4 * 4 * d["candidates"][0]["train_s"]["p50"] / 3600) - 1) < 1e-6' \
    predict --gpu a100_sxm4_40gb $spec,gpus=4
json 'four GPUs have four times the CPUs of one' \
    'd["candidates"][0]["cpus"] % 4 == 0 and d["spec"]["global_batch"] == 1024' \
    predict --gpu a100_sxm4_40gb $spec,gpus=4
json 'a network given by its sizes alone has a name and FLOPs' \
    'd["model"]["params"] > 1e6 and d["model"]["forward_flops_per_sample"] > 0' \
    predict model=transformer,layers=4,hidden=256,heads=4,seq_len=128,vocab=1k,batch=8
json 'a network given by parameters and FLOPs keeps these numbers' \
    'd["model"]["params"] == 34e6 and d["model"]["forward_flops_per_sample"] == 12e9' \
    predict params=34M,flops=12G,activations=40M,batch=64

# A locale that writes 0,5 and one whose small I has no dot, where they are installed.
for locale in de_DE.UTF-8 tr_TR.UTF-8; do
    title="the output is the same under $locale"
    if ! locale -a 2>/dev/null | grep -qi "^${locale%.*}.utf-*8"; then
        skip "$title" 'not installed'
        continue
    fi
    is "$title" "$(export LC_ALL=$locale; dn predict --json $spec | cksum)" \
        "$(export LC_ALL=C; dn predict --json $spec | cksum)"
done
done_testing
