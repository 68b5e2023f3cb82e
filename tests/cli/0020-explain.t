#!/bin/bash
# 0020-explain.t - where the time and the memory go

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python
plan_later

spec=model=resnet50,batch=64,precision=fp16,optimizer=momentum
gpu=--gpu=v100_sxm2_32gb

gives 'the network and the device are named' 0 '^resnet50: .*'$'\n''on v100_sxm2_32gb' \
    explain $gpu $spec
gives 'the stages of a step are listed' 0 'forward +[0-9.]+ .*backward_weight .*optimizer ' \
    explain $gpu $spec
gives 'the classes of memory are listed' 0 'weights .*gradients .*activations .*context ' \
    explain $gpu $spec
gives 'the kinds of operators are listed' 0 'conv +53 +8\.1[0-9]+ +99\.[0-9] ' \
    explain $gpu $spec

json 'the members of the contract are there' \
    'list(d) == ["spec", "model", "candidate", "stages", "memory", "operators"]' \
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

refuses 'a missing device is a usage error' 2 '--gpu=NAME is missing' explain $spec
refuses 'an unknown device is named' 2 "gpu: 'v1000' is unknown" explain --gpu v1000 $spec
refuses 'wrong metadata are named' 2 'batch: -4 out of range' \
    explain $gpu model=resnet50,batch=-4
try explain $gpu model=resnet50,batch=8,precision=bf16
is 'a device that cannot run the precision has nothing to explain' "$code" 1
like 'which is said' "$err" 'v100_sxm2_32gb cannot run this precision'
done_testing
