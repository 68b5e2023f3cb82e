#!/bin/bash
# 0052-zoo-site.t - networks that are files: the installation's and the site's own
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

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

flops() {
    dn predict --json --gpu a100 "$1" | python3 -c '
import json, sys
print(json.load(sys.stdin)["model"]["forward_flops_per_sample"])'
}

gives 'a network of the site is predicted' 0 'ours: 2\.08 k parameters' predict --gpu a100 model=ours,batch=4
gives 'in any spelling' 0 'ours' predict --gpu a100 model=team/Ours,batch=4
gives 'the zoo lists it' 0 'ours +ours +2\.08 k .* seq_len' zoo ours
is 'a size between those of the file is on the parabola' "$(flops model=ours,batch=4,seq_len=24)" \
    "$((3 * $(flops model=ours,batch=4)))"
refuses 'a key that the file has at one value is refused by name' 2 \
    'hidden: ours has one size, 64' predict model=ours,batch=4,hidden=32
refuses 'another name of that network is answered with it' 2 'did you mean ours\?' \
    predict model=ours_large,batch=4
gives 'a network of the installation has its counts' 0 '41\.81 M parameters' \
    predict --gpu a100 model=fasterrcnn_resnet50_fpn,batch=4
refuses 'a size far beyond the file is refused' 2 'image: 64 for .*, which is known from' \
    predict model=fasterrcnn_resnet50_fpn,batch=4,image=64
refuses 'a stem that the file has not is refused' 2 'stem: shufflenet_v2_x1_0 has one size' \
    predict model=shufflenet_v2_x1_0,batch=4,stem=cifar

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
