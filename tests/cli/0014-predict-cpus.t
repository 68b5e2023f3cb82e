#!/bin/bash
# 0014-predict-cpus.t - throughput by the number of CPUs
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=alexnet,batch=256,precision=fp16,decode=jpeg
gpu=--gpu=v100_sxm2_16gb
head='[^'$'\n'']*more than enough:'$'\n''CPUS PER GPU'

gives 'a curve ends at sixteen CPUs unless --cpu-curve names a number' 0 \
    "$head +1 +2 +3 +4 +6 +8 +12 +16"$'\n''v100_sxm2_16gb( +[0-9.]+){8}$' \
    predict --cpu-curve $gpu $spec
gives 'the table always shows the last count of the curve' 0 "$head +1 +2 +3 +4 +6 +7"$'\n' \
    predict --cpu-curve=7 $gpu $spec
gives 'a curve may end at one CPU' 0 \
    "$head +1"$'\n''v100_sxm2_16gb +0\.[0-9]+$' predict --cpu-curve=1 $gpu $spec
is 'the longest curve has as many columns as fit' \
    "$(dn predict --cpu-curve=1k $gpu $spec | grep ^CPUS | wc -w)" 23
is 'without --cpu-curve there is no curve' "$(dn predict $gpu $spec | grep -c 'CPUS PER GPU')" 0
is 'each device has a row in the table of curves' \
    "$(dn predict --all --cpu-curve $spec | sed '1,/^CPUS PER/d' | wc -l)" \
    "$n_devices"

json 'JSON has every count' \
    '[p["cpus_per_gpu"] for p in d["candidates"][0]["cpu_curve"]] == list(range(1, 33))
     and all(list(p) == ["cpus_per_gpu", "samples_per_s", "relative"]
             for p in d["candidates"][0]["cpu_curve"])' predict --cpu-curve=32 $gpu $spec
json 'more CPUs are never slower, and the curve levels off at one' \
    '(lambda r: all(a <= b for a, b in zip(r, r[1:])) and 0 < r[0] < 0.5
      and 0.999 < r[-1] <= 1)([p["relative"] for p in d["candidates"][0]["cpu_curve"]])' \
    predict --cpu-curve=64 $gpu $spec
json 'the curve is relative throughput' \
    '(lambda c: all(abs(p["samples_per_s"] / c[-1]["samples_per_s"]
       - p["relative"] / c[-1]["relative"]) < 1e-6 for p in c))(
      d["candidates"][0]["cpu_curve"])' predict --cpu-curve $gpu $spec
json 'the curve follows the key workers' \
    '(lambda c: c[3]["relative"] == c[15]["relative"])(d["candidates"][0]["cpu_curve"])' \
    predict --cpu-curve $gpu $spec,workers=4
json 'synthetic input needs no CPU' \
    'all(p["relative"] == 1 for p in d["candidates"][0]["cpu_curve"])' \
    predict --cpu-curve $gpu model=alexnet,batch=256,input=synthetic
json 'without a known input there is no curve' \
    'd["candidates"][0]["cpu_curve"] is None and d["candidates"][0]["cpus"] is None' \
    predict --cpu-curve $gpu model=ncf,batch=256,stack=ngc
gives 'the table shows a missing curve as -' 0 'v100_sxm2_16gb( +-){8}$' \
    predict --cpu-curve $gpu model=ncf,batch=256,stack=ngc
json 'for a precision that the device cannot run there is no curve' \
    'd["candidates"][0]["cpu_curve"] is None' \
    predict --cpu-curve $gpu model=alexnet,batch=8,precision=bf16
json 'without the option JSON has no such member' '"cpu_curve" not in d["candidates"][0]' \
    predict $gpu $spec

for bad in 0 -1 1025 99999999999999999999; do
    refuses "--cpu-curve=$bad is out of range" 2 'cpu-curve: .*(out of range|not a)' \
        predict --cpu-curve=$bad $gpu $spec
done
refuses '--cpu-curve=many is no number' 2 "cpu-curve: 'many' is not a" \
    predict --cpu-curve=many $gpu $spec
refuses '--cpu-curve= without a number is refused' 2 \
    "cpu-curve: '' is not a" predict --cpu-curve= $gpu $spec
done_testing
