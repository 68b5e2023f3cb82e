#!/bin/bash
# 0010-predict.t - the table of predictions
#
# SPDX-License-Identifier: GPL-2.0-or-later

without_python=yes
. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=64,precision=fp16,epochs=90,dataset=imagenet

gives 'a network that has no name is shown as such' 0 \
    '^a network without a name: 34 M parameters, 12 GFLOP' \
    predict params=34M,flops=12G,activations=40M,batch=64

# The rows of the table of predict, without what is above and below it.
rows() { dn predict "$@" | sed '1,2d; /^[A-Z]/,$d'; }

gives 'the network is named with its parameters' 0 '^resnet50: 25\.56 M parameters, ' \
    predict $spec
is 'with --all every device of the catalogue but the CPU has a row' \
    "$(rows --all $spec | wc -l)" "$n_devices"
is '--all overrides --gpu' "$(dn predict --gpu t4_16gb --all $spec)" "$(dn predict --all $spec)"
is '--gpu restricts the table to one device' "$(rows --gpu t4_16gb $spec | wc -l)" 1
gives 'a CPU has a row when --gpu names it' 0 '
cpu +yes ' predict --gpu cpu $spec
is '--gpu may be repeated' \
    "$(rows --gpu t4_16gb --gpu k80_12gb $spec | wc -l)" 2
is '--gpu ignores case and takes - for _' \
    "$(dn predict --gpu T4-16GB $spec)" "$(dn predict --gpu t4_16gb $spec)"

fits() { rows --all "$1" | awk '{ print $2 }' | uniq | xargs; }
is 'devices that fit come first, those that cannot run the job last' \
    "$(fits model=resnet50,batch=220,precision=bf16)" 'yes perhaps no unsupported'

gives 'a run is timed in days and hours' 0 ' ([0-9]+-)?[0-9]{2}:[0-9]{2}:[0-9]{2} ' \
    predict --gpu t4_16gb $spec
gives 'a run of unknown length has no time' 0 't4_16gb +yes +[0-9.]+ +- +- +[0-9.]+ GiB' \
    predict --gpu t4_16gb model=resnet50,batch=8,precision=fp16
is 'GPUs may be joined by commas' "$(dn predict --gpu=t4_16gb,a100_sxm4_40gb $spec)" \
    "$(dn predict --gpu t4_16gb --gpu a100_sxm4_40gb $spec)"
is 'SPEC may come from stdin, a pair a line' \
    "$(tr ',' '\n' <<<"$spec" | dn predict -)" "$(dn predict $spec)"
is 'SPEC may come from stdin' "$(dn predict - <<<"$spec")" "$(dn predict $spec)"
is 'options may follow SPEC' "$(dn predict $spec --gpu t4_16gb)" \
    "$(dn predict --gpu t4_16gb $spec)"
is 'the order of keys does not matter' \
    "$(dn predict precision=fp16,dataset=imagenet,epochs=90,batch=64,model=resnet50)" \
    "$(dn predict $spec)"

refuses 'an unknown device is named, with similar ones' 2 \
    "gpu: 'a100_smx4_40gb' is unknown, expected .*near: .*a100_sxm4_40gb" predict --gpu a100_smx4_40gb $spec
refuses 'a device that resembles none is named' 2 "gpu: 'abacus' is unknown, expected" \
    predict --gpu abacus $spec
refuses 'the second of two devices is checked as well' 2 "gpu: 'x' is unknown" \
    predict --gpu t4_16gb --gpu x $spec
done_testing
