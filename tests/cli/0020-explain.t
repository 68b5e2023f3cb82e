#!/bin/bash
# 0020-explain.t - where the time and the memory go
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=64,precision=fp16,optimizer=momentum
gpu=--gpu=v100_sxm2_32gb

gives 'the network and the device are named' 0 '^resnet50: .*'$'\n''on v100_sxm2_32gb' \
    explain $gpu $spec
gives 'the stages of a step are listed' 0 'forward +[0-9.]+ .*backward_weight .*optimizer ' \
    explain $gpu $spec
gives 'the classes of memory are listed' 0 'weights .*gradients .*activations .*context ' \
    explain $gpu $spec
gives 'the step states what it is bound by' 0 \
    'takes [0-9.]+ ms, bound by (compute|bandwidth|launch|host|input|network);' explain $gpu $spec
gives 'the kinds of operators are listed' 0 \
    'conv +53( +[0-9.]+){5} +(compute|bandwidth|launch)'$'\n' explain $gpu $spec
is 'the shares of operators and optimizer add up to 100 %' \
    "$(dn explain $gpu $spec | sed '1,/^OPERATORS/d;/^$/,$d' \
        | awk '{ sum += $(NF - 1) } END { print (sum > 99.5 && sum < 100.5) }')" 1
lines() { dn explain $gpu "$@" $spec | sed '1,/^OPERATOR /d' | wc -l; }
is 'ten operators are listed unless --top names a number' "$(lines)" 10
is '--top=3 lists three operators' "$(lines --top 3)" 3
is '--top=1000 lists no more operators than there are' "$(lines --top 1000)" \
    "$(dn explain $gpu $spec | sed -n 's/^The longest.*(10 of \([0-9]*\)):$/\1/p')"
is '--top=0 lists no operator' "$(dn explain $gpu --top 0 $spec | grep -c '^The longest')" 0

json 'the members of the contract are there' \
    'list(d) == ["spec", "model", "candidate", "unread", "remedies", "assumed", "bound_by", "site_factor", "stages", "memory",
      "operators", "top"]' \
    explain $gpu $spec
json 'the candidate is that of predict' \
    'd["candidate"]["gpu"] == "v100_sxm2_32gb" and d["candidate"]["step_ms"]["p50"] > 0' \
    explain $gpu $spec
json 'the classes of memory add up to the memory' \
    'abs(sum(r["bytes"] for r in d["memory"])
      / d["candidate"]["gpu_mem_bytes"]["p50"] - 1) < 1e-6' explain $gpu $spec
json 'the shares of the memory add up to one' \
    'abs(sum(r["share"] for r in d["memory"]) - 1) < 1e-6' explain $gpu $spec
json 'the shares of the operators add up to one' \
    'abs(sum(r["flops_share"] for r in d["operators"]) - 1) < 1e-6' explain $gpu $spec
json 'the parameters of the operators add up to those of the network' \
    'sum(r["params"] for r in d["operators"]) == d["model"]["params"]' explain $gpu $spec
json 'the FLOPs of products add up to those of the network' \
    'abs(sum(r["forward_flops_per_sample"] for r in d["operators"]
      if r["kind"] in ("conv", "linear", "matmul", "rnn"))
      / d["model"]["forward_flops_per_sample"] - 1) < 0.01' explain $gpu $spec
json 'the stages are those of the breakdown' \
    '{r["stage"]: r["ms"] for r in d["stages"]} == d["candidate"]["breakdown_ms"]' \
    explain $gpu $spec

both='list(x)[-6:] == ["forward_ms", "backward_ms", "flops", "bytes", "share", "bound_by"]'
json 'kinds of operators have times, work and what bounds them' \
    'all('"$both"' and list(x)[:5] == ["kind", "count", "forward_flops_per_sample",
      "flops_share", "params"] for x in d["operators"])' explain $gpu $spec
json 'single operators have times, work and what bounds them' \
    'len(d["top"]) == 10 and all('"$both"' and list(x)[:3] == ["kind", "size", "count"]
      for x in d["top"])' explain $gpu $spec
json 'the forward times of the kinds add up to the stage' \
    'abs(sum(x["forward_ms"] for x in d["operators"])
      / d["candidate"]["breakdown_ms"]["forward"] - 1) < 1e-6' explain $gpu $spec
json 'backward times include what checkpointing repeats' \
    '(lambda b: abs(sum(x["backward_ms"] for x in d["operators"])
      / (b["backward_data"] + b["backward_weight"] + b["recompute"]) - 1) < 1e-6
      and b["recompute"] > 0)(d["candidate"]["breakdown_ms"])' \
    explain $gpu model=bert_base,batch=8,checkpointing=full
json 'all single operators are those of the kinds' \
    'all(abs(sum(x[k] for x in d["top"]) / sum(x[k] for x in d["operators"]) - 1) < 1e-6
      for k in ("forward_ms", "backward_ms", "flops", "bytes", "share", "count"))' \
    explain $gpu --top 20000 $spec
json 'the longest operators come first' \
    '(lambda s: s == sorted(s, reverse=True))([x["share"] for x in d["top"]])' explain $gpu $spec
json 'no size of a kind is listed twice if nothing else differs' \
    'len({(x["kind"], x["size"]) for x in d["top"]}) >= len(d["top"]) - 3' \
    explain $gpu --top 20000 $spec
json '--top=0 leaves no operator in JSON' 'd["top"] == []' explain $gpu --top=0 $spec
bound() {
    json "$1" "d['bound_by'] == '$2'" explain $gpu "$3"
}
bound 'a large network is bound by compute' compute model=gpt2_large,batch=8,seq_len=1024
bound 'a small batch is bound by the host' host model=resnet18,batch=1,input=synthetic
bound 'few and slow loaders bind by input' input model=alexnet,batch=512,precision=fp16,workers=1
bound 'gradients over PCIe bind by the network' network \
    model=vgg16,batch=1,gpus=8,link=pcie,optimizer=none,input=synthetic

refuses 'a negative --top is out of range' 2 'top: -1 out of range 0..20000' \
    explain $gpu --top=-1 $spec
refuses 'a --top larger than any network is out of range' 2 '20001 out of range 0..20000' \
    explain $gpu --top=20001 $spec
refuses '--top that is no number is named' 2 "top: 'few' is not a" explain $gpu --top=few $spec
gives 'without a device a usual one is taken' 0 'on [a-z0-9_]+' explain $spec
refuses 'an unknown device is named' 2 "gpu: 'v1000' is unknown" explain --gpu v1000 $spec
refuses 'wrong metadata are named' 2 'batch: -4 out of range' \
    explain $gpu model=resnet50,batch=-4
try explain $gpu model=resnet50,batch=8,precision=bf16
is 'a device that cannot run the precision has nothing to explain' "$code" 1
like 'one message says that the device cannot run the precision' \
    "$err" 'v100_sxm2_32gb cannot run this precision'
done_testing
