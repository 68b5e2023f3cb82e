#!/bin/bash
# 0051-zoo.t - the networks that model= knows, names as people write them, and files
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

gives 'a network is shown with its family, parameters, FLOPs and keys' 0 \
    'resnet50 +resnet +25\.56 M +8\.178 G .*image.*classes' zoo resnet50
gives 'a part of a name lists all networks that have it' 0 'gpt2_medium .*gpt2_xl ' zoo gpt2_
is 'a name shows its network alone' "$(dn zoo gpt2 | wc -l)" 2
gives 'a pattern lists the networks that match it' 0 'vgg11_bn .*vgg19_bn ' zoo 'vgg*bn'
is 'a pattern lists no others' "$(dn zoo 'vgg*bn' | tail -n +2 | grep -vc '^vgg.*_bn ')" 0
gives 'the name of a family lists its networks' 0 'nnunet_2d .*nnunet_3d ' zoo nnunet
gives 'a family that sizes describe is shown by the network that it begins with' 0 \
    'dlrm +dlrm .* embed_dim' zoo recsys
json 'the members of JSON are those of the network' \
    'x["params"] == 25557032 and "image" in x["keys"] and "heads" not in x["keys"]
     for x in d["networks"] if x["name"] == "resnet50"' zoo
json 'every network has parameters and a name of its own' \
    'min(x["params"] for x in d["networks"]) > 0
     and len({x["name"] for x in d["networks"]}) == len(d["networks"]) > 100' zoo
documented 'dnnest(1) names every member of the JSON' zoo resnet18
refuses 'an unknown name is refused with one of its family' 2 \
    "'resnett' is not a network or family .*near: resnet18" zoo resnett
refuses 'a second pattern is refused' 2 'argument' zoo a b

# means TITLE NAME NETWORK: the name that a hub uses is that network
means() {
    json "$1" "'$3' == d['networks'][0]['name'] and len(d['networks']) == 1" zoo "$2"
}
means 'the publisher of a name does not count' openai-community/gpt2-medium gpt2_medium
means 'endings for versions of weights do not count' google-bert/bert-base-uncased bert_base
means 'a tag of weights does not count' resnet50.a1_in1k resnet50
means 'names of timm are known' swin_tiny_patch4_window7_224.ms_in1k swin_t
json 'a size of images in a name is that of the network' \
    'd["model"]["params"] == 86859496' \
    predict model=vit_base_patch16_384,batch=1 --gpu t4_16gb
json 'a key overrides a size in a name' 'd["model"]["params"] == 86567656' \
    predict model=vit_base_patch16_384,image=224,batch=1 --gpu t4_16gb
refuses 'an unknown name of a hub has the nearest network' 2 \
    "model: 'org/opt-124m' is not in the zoo, did you mean opt_125m" \
    predict model=org/opt-124m,batch=1
refuses 'a network of another publisher is refused' 2 \
    "'Qwen/resnet50' is not in the zoo, did you mean resnet50" \
    predict model=Qwen/resnet50,batch=1
refuses 'letters alone make no network near' 2 \
    "'rexnet_100' is not in the zoo, nor one of its kind, expected model=cnn .*timm:NAME" \
    predict model=rexnet_100,batch=1
refuses 'a network of the same kind is named, and how to describe it exactly' 2 \
    "'swin_s3_base_224' is not in the zoo, swin_b is of its kind; dnnest_export.py " \
    predict swin_s3_base_224
is 'a quantised name sets quant, which is said' \
    "$(dn predict model=unsloth/Llama-3.2-1B-bnb-4bit,batch=1,lora=8 --gpu t4_16gb 2>&1 \
        | grep -c "note: quant=nf4, as 'unsloth/Llama-3.2-1B-bnb-4bit' says")" 1
is 'without lora a quantised name sets nothing, which is said' \
    "$(dn predict model=unsloth/Llama-3.2-1B-bnb-4bit,batch=1 --gpu t4_16gb 2>&1 \
        | grep -c 'learn with lora= only')" 1
gives 'data sets are listed with their samples' 0 'alpaca +text +52 k ' zoo --datasets alpaca
printf 'Dataset=%s Samples=9 SampleBytes=1000\n' ours >"$work/ours.conf"
gives 'those of a file are listed' 0 '^DATA SET [A-Z/ ]*.ours +text +9 +- +1 k *$' zoo --datasets="$work/ours.conf"
gives 'a kind lists its data sets' 0 'c4 +running text +- +156 G' zoo --datasets running
json 'the members of JSON are those of the data sets' \
    '{"name": "gsm8k", "kind": "text", "samples": 7473} in d["datasets"]' zoo --datasets
documented 'dnnest(1) names every member of the JSON of data sets' zoo --datasets imagenet
refuses 'an unknown data set is refused' 2 "'nothing' is not a data set of the table" \
    zoo --datasets nothing

# --- networks that are files: the installation's and the site's own ------------------------

own=$work/dnnest.zoo.d
mkdir "$own"

# network NAME GRAPH: a file of the site; GRAPH has what follows the name
network() {
    printf '{"dnnest": 1, "graph": {"name": "net", "family": "ours", %s}}\n' "$2" >"$own/$1.json"
}
linear='"ops": [{"op": "linear", "in": [[8,64]], "out": [[8,32]], "params": 2080}, {"op": "loss", "in": [[8,32]], "out": [[8,32]]}]'
sizes='"sized": {"seq_len": [{"at": 16, "ops": [{"in": [[16,64]], "out": [[16,32]]}, {"in": [[16,32]], "out": [[16,32]]}]},
 {"at": 32, "ops": [{"in": [[32,64]], "out": [[32,32]]}, {"in": [[32,32]], "out": [[32,32]]}]}]}'
network ours "\"at\": {\"seq_len\": 8, \"hidden\": 64}, $linear, $sizes"

flops() { dn predict --json --gpu a100 "$1" | value 'd["model"]["forward_flops_per_sample"]'; }

gives 'a network of the site is predicted' 0 'ours: 2\.08 k parameters' predict --gpu a100 model=ours,batch=4
gives 'in any spelling' 0 'ours' predict --gpu a100 model=team/Ours,batch=4
gives 'the zoo lists it' 0 'ours +ours +2\.08 k .* seq_len' zoo ours
is 'a size between those of the file is on the parabola' "$(flops model=ours,batch=4,seq_len=24)" \
    "$((3 * $(flops model=ours,batch=4)))"
grown() { printf '{"in": [[%d,64]], "out": [[%d,32]]}' "$1" "$1"; }
copy='{"op": "copy", "in": [[8,64]], "out": [[8,64]]}'
for form in '{}' 1; do
    network "form${#form}" "\"at\": {\"seq_len\": 8}, ${linear/[/[$copy, }, \"sized\": {\"seq_len\":
 [{\"at\": 16, \"ops\": [$form, $(grown 16), $form]}, {\"at\": 32, \"ops\": [$form, $(grown 32)]}]}"
done
is 'a number stands for operators that do not change' \
    "$(flops model=form1,batch=4,seq_len=24)" "$(flops model=form2,batch=4,seq_len=24)"
refuses 'a key that the file has at one value is refused by name' 2 \
    'hidden: ours has one size, 64' predict model=ours,batch=4,hidden=32
refuses 'another name of that network is answered with it' 2 'did you mean ours\?' \
    predict model=ours_large,batch=4
gives 'a network of the installation has its counts' 0 '41\.81 M parameters' \
    predict --gpu a100 model=fasterrcnn_resnet50_fpn,batch=4
refuses 'a size far beyond the file is refused' 2 'image: 64 for .*, which is known from' \
    predict model=fasterrcnn_resnet50_fpn,batch=4,image=64
gives 'a stem that has a file of its own is followed' 0 '1\.264 M parameters' \
    predict --gpu a100 model=shufflenet_v2_x1_0,batch=4,stem=cifar
gives 'the stem of the file itself is no other network' 0 '2\.279 M parameters' \
    predict --gpu a100 model=shufflenet_v2_x1_0,batch=4,stem=imagenet
refuses 'a stem that no file has is refused' 2 'stem: fcn_resnet50 has one size' \
    predict model=fcn_resnet50,batch=4,stem=cifar

# spoilt TITLE REGEX: the one file bad.json is named with what is wrong, ours is still there
spoilt() {
    gives "$1: the others load" 0 'ours' predict --gpu a100 model=ours,batch=4
    like "$1: named" "$err" "$2"
    try config --check
    like "$1: config --check tells" "$err$out" "$2"
    rm -f "$own/bad.json" "$own/resnet50.json" "$own/Bad.json"
}
echo '{' >"$own/bad.json"
spoilt 'no JSON' 'bad\.json'
network bad '"ops": []'
spoilt 'no operators' 'bad\.json: .*ops'
network bad '"ops": [{"op": "linear", "in": [[8]], "out": [[8]], "params": 1e400}]'
spoilt 'an infinite number' 'bad\.json'
network bad '"ops": [{"op": "linear", "in": [[8]], "out": [[8]], "params": NaN}]'
spoilt 'no number' 'bad\.json'
network bad "\"colour\": 1, $linear"
spoilt 'an unknown member' "bad\.json: unknown key 'colour'"
network bad "\"at\": {\"seq_len\": 8}, $linear, \"sized\": {\"seq_len\": [{\"at\": 8}, {\"at\": 9}]}"
spoilt 'two equal sizes' 'bad\.json: sized'
network bad "$linear, $sizes"
spoilt 'sizes of an unknown key' "bad\.json: at: 'seq_len'"
network resnet50 "$linear"
spoilt 'the name of another network' 'resnet50 is a network of the zoo already'
network Bad "$linear"
spoilt 'a name in capitals' 'Bad\.json: not a name'
ln -s "$own/ours.json" "$own/bad.json"
spoilt 'a link' 'bad\.json'
network bad "$linear"
chmod 666 "$own/bad.json"
spoilt 'a file that all may write' 'bad\.json: writable'
head -c 300000 /dev/zero | tr '\0' ' ' >"$own/bad.json"
spoilt 'too large' 'bad\.json'
done_testing
