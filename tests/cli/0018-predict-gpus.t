#!/bin/bash
# 0018-predict-gpus.t - the GPU types of the site, by both names, and what is idle of them
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=64,precision=fp16,epochs=90,dataset=imagenet

# --- by dnnest.conf --------------------------------------------------------------------

json 'with Gpu lines the candidates are their types' \
    '[(c["type"], c["gpu"]) for c in d["candidates"]]
     == [("a100", "a100_sxm4_40gb"), ("twin", "a100_sxm4_40gb")]' predict $spec
gives 'the table says which devices they are' 0 \
    'GPU types of dnnest.conf: a100 is a100_sxm4_40gb, twin is a100_sxm4_40gb. --all ' \
    predict $spec
json 'a type has its own price' \
    '(lambda c: abs(c["a100"] / c["twin"] - 4) < 1e-6)(
     {c["type"]: c["cost"] for c in d["candidates"]})' predict $spec
json '--gpu takes the name of a type' \
    '[(c["type"], c["gpu"]) for c in d["candidates"]] == [("twin", "a100_sxm4_40gb")]' \
    predict --gpu=twin $spec
json '--gpu takes the name of the device' \
    '[(c["type"], c["gpu"]) for c in d["candidates"]] == [("a100", "a100_sxm4_40gb")]' \
    predict --gpu=a100_sxm4_40gb $spec
json 'a device that is not of the site has no type' \
    '[c["type"] for c in d["candidates"]] == [None]' predict --gpu=t4_16gb $spec
refuses 'a mistyped type is named, with similar ones' 2 \
    "gpu: 'twim' is unknown, expected a GPU type of dnnest.conf.*near: .*twin" \
    predict --gpu=twim $spec
json '--gpu takes what people call a device, in any case' '[c["gpu"] for c in d["candidates"]] == ["rtx_3090_24gb"]' \
    predict --gpu=RTX3090 $spec
json 'a number is the name of a chip' '[c["gpu"] for c in d["candidates"]] == ["rtx_2080_ti_11gb"]' \
    predict --gpu=2080Ti $spec
json '--gpu takes a slice (MIG) by the name of its driver' \
    '[c["gpu"] for c in d["candidates"]] == ["a100_sxm4_40gb_3g.20gb"]' \
    predict --gpu='NVIDIA A100-SXM4-40GB MIG 3g.20gb' $spec
json 'a chip of several boards stands for all of them' \
    'sorted(c["gpu"] for c in d["candidates"]) == ["v100_pcie_16gb", "v100_pcie_32gb", "v100_sxm2_16gb",
         "v100_sxm2_32gb", "v100_sxm3_32gb"]' predict --gpu=V100 $spec
json 'a profile of several devices stands for all of them' \
    'sorted(c["gpu"] for c in d["candidates"]) == ["a100_pcie_40gb_1g.5gb", "a100_sxm4_40gb_1g.5gb"]' \
    predict --gpu=1g.5gb $spec
is 'explain takes one of them, and says so' "$(dn explain --gpu=V100 $spec 2>&1 >/dev/null)" \
    'dnnest: note: v100_pcie_16gb or v100_pcie_32gb or v100_sxm2_16gb or v100_sxm2_32gb or v100_sxm3_32gb? assumed v100_sxm2_16gb'
json 'explain takes the name of a type' \
    'd["candidate"]["type"] == "twin" and d["candidate"]["gpu"] == "a100_sxm4_40gb"' \
    explain --gpu=twin $spec
json 'hardware takes the name of a type' 'd["devices"][0]["name"] == "a100_sxm4_40gb"' \
    hardware twin
json 'batch sizes are compared on the types of the site' \
    'sorted(r["type"] for r in d["batch_sizes"]) == ["a100", "twin"]' \
    predict --batch-sizes=8,16 $spec
json 'numbers of GPUs are compared on the types of the site' \
    '{c["type"] for c in d["combinations"]} == {"a100", "twin"}' predict --gpus=1,2 $spec
echo 'Mode=enforce' >"$work/new.conf"
json 'without Gpu lines the candidates are the catalogue' 'len(d["candidates"]) > 50' \
    predict --conf "$work/new.conf" $spec

# --- by a snapshot ---------------------------------------------------------------------

shape='Gpus=4 Cpus=64 Memory=1000000 Partitions=gpu'
write_snapshot "$work/snapshot" 1800000000 "Group Type=a100 $shape Nodes=3 Up=2 Idle=0,1,0,0,1" \
    "Group Type=v100 $shape Nodes=1 Up=1 Idle=1" "Group Type=weird $shape Nodes=1 Up=1 Idle=1" \
    'Wait Type=v100 Gpu=7200' 'Partition Name=gpu Default=yes Up=yes MaxTime=604800'
cluster=(--snapshot="$work/snapshot")
json 'a snapshot says how many GPUs of a type are up and idle' \
    '[(c["up_gpus"], c["idle_gpus"], c["wait_s"]) for c in d["candidates"]]
     == [(8, 5, None)]' predict "${cluster[@]}" --gpu=a100 $spec
gives 'the table has idle GPUs' 0 $'IDLE GPUS .*\na100 +yes +5 of 8 ' \
    predict "${cluster[@]}" --gpu=a100 $spec
json 'a type that the snapshot does not have is not known to be up' \
    '[(c["up_gpus"], c["idle_gpus"]) for c in d["candidates"]] == [(None, None)]' \
    predict "${cluster[@]}" --gpu=twin $spec
json 'without Gpu lines the candidates are the types of the snapshot that names identify' \
    '[(c["type"], c["gpu"], c["idle_gpus"], c["wait_s"]) for c in d["candidates"]]
     == [("a100", "a100_sxm4_40gb", 5, None), ("v100", "v100_sxm2_16gb", 0, 7200)]' \
    predict "${cluster[@]}" --conf "$work/new.conf" $spec
gives 'the table says that they are guessed' 0 \
    'guessed by their names: a100 is a100_sxm4_40gb, v100 is v100_sxm2_16gb. --all ' \
    predict "${cluster[@]}" --conf "$work/new.conf" $spec
json 'advise has what is idle of each candidate' \
    '[(c["type"], c["idle_gpus"]) for c in d["candidates"]] == [("a100", 5), ("twin", None)]' \
    advise "${cluster[@]}" --comment="dnnest:$short" -t 1-0 -G a100:1 -N 1
refuses 'a snapshot that is none is an error' 4 'bad: ' predict --snapshot="$work/bad" $spec

# --- what is assumed -------------------------------------------------------------------

json 'the name of a GPU type ignores case' '[c["type"] for c in d["candidates"]] == ["twin"]' \
    predict --gpu=TWIN $spec
json 'the type with the same letters is preferred' 'd["candidate"]["gpu"] == "a100_sxm4_40gb"' \
    explain --gpu=A100-SXM4-40GB $spec

assumed() { json "$1" "{a['key']: a['value'] for a in d['assumed']} == $2" predict --gpu=a100 "$3"; }
assumed 'precision, optimizer, framework and loader are named where they are assumed' \
    '{"precision": "fp32", "optimizer": "with a state as large as that of adam",
      "framework": "pytorch", "since": "2022 (on Hopper and later 2023)", "decode": "jpeg", "sample_bytes": "as in ImageNet",
      "workers": "one per CPU of the job, else of the device\u0027s usual node"}' model=resnet50,batch=8
assumed 'what is stated is not assumed' '{}' \
    model=resnet50,batch=8,precision=fp16,optimizer=sgd,framework=pytorch,since=2022,input=synthetic
assumed 'jobs of several nodes assume how they share the work' \
    '{"parallel": "dp", "net": "the usual one of the device"}' \
    "$short,framework=pytorch,torch=2.4,gpus=16,nodes=2"
gives 'the table names them with their keys' 0 \
    $'\nAssumed: precision=fp32, optimizer= with .*, workers= one per CPU of the job, else of the device\'s usual node\n' \
    predict --gpu=a100 model=resnet50,batch=8
gives 'keys without which there is no time are named' 0 'No time: the amount of work is unknown .epochs= with dataset=' \
    predict --gpu=a100 model=resnet50,batch=8
same() {
    local title=$1
    is "$title" "$(dn predict --json --gpu=a100 "$2" | grep -A9 '"step_ms"')" \
        "$(dn predict --json --gpu=a100 "$2,$3" | grep -A9 '"step_ms"')"
}
same 'stating the assumed decode changes nothing' "$short,input=real" decode=jpeg
same 'stating the assumed age of the software changes nothing' "$short" since=2022
same 'stating the assumed parallel changes nothing' "$short,gpus=4" parallel=dp
done_testing
