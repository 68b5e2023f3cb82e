#!/bin/bash
# 0093-import-onnx.t - ONNX models become sidecars, and errors in them are named
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The files of tests/data/onnx were exported by torch 1.13.1, torchvision 0.14.1 and transformers
# 4.30.2, as they train and without folding, and have no weights; written.tar.xz has small
# models, right and wrong.

. "$(dirname "$0")/lib.sh"
need_onnx

data=$top/tests/data/onnx
tar -xJf "$data/written.tar.xz" -C "$work"
cp "$data/small.onnx" "$work"

# imported NAME ZOO: as tests/import/check-agrees has it
imported() {
    local file=$data/$1.onnx
    if [[ ! -e $file ]]; then
        file=$work/$1.onnx
        python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' \
            "$data/$1.onnx.xz" > "$file" || return
    fi
    dn import --onnx "$file" --out "$work/$1.json" >/dev/null && agrees "$work/$1.json" "$2"
}

is 'resnet18 of opset 9 is that of the zoo' "$(imported resnet18 model=resnet18 2>&1)" ''
is 'an LSTM from ONNX is that of the zoo' "$(imported lstm model=lstm_lm 2>&1)" ''
nets=(vgg16 resnet50 densenet121 mobilenet_v2 mobilenet_v3_large efficientnet_b0 convnext_tiny
    vit_b_16 swin_t)
if [[ ${DNNEST_SANITIZERS-} = yes ]]; then nets=(resnet50 swin_t); fi
for net in "${nets[@]}"; do
    near=3
    if [[ $net = vit_b_16 ]]; then near=7; fi # 197 tokens do not fill a V100's matrix units
    is "$net from ONNX is that of the zoo" "$(TOLERANCE=$near imported $net model=$net 2>&1)" ''
done
is 'BERT of transformers from ONNX is that of the zoo' \
    "$(imported bert_base model=bert_base,seq_len=128,head=classifier 2>&1)" ''
is 'GPT-2 of transformers from ONNX is that of the zoo' \
    "$(BATCHES='1 16 128' imported gpt2 model=gpt2,seq_len=128 2>&1)" ''

# has TITLE EXPRESSION NAME ARGUMENT...: Python over the graph 'g' and its 'ops'
has() {
    try import --onnx "$work/$3.onnx" "${@:4}"
    holds "$1" "$2" "$work/out" 'g = d["graph"]; ops = g["ops"]'
}

has 'a transformer has fused norms and biases, and shared weights once' \
    '[op["op"] for op in ops].count("layernorm") == 2
     and [op["op"] for op in ops].count("attention") == 1
     and [op["op"] for op in ops].count("matmul") == 0
     and [op["op"] for op in ops].count("linear") == 5
     and [op["op"] for op in ops].count("dropout") == 3
     and sum(op.get("params", 0) for op in ops) == 100 * 64 + 12 * 64 * 64 + 13 * 64
     and ops[0]["op"] == "embedding" and ops[0]["in"] == [[32]]
     and ops[-1]["op"] == "loss" and g["input_bytes"] == 8 * 32' small
has 'a layer reads the sample' \
    'ops[0]["first"] and ops[0]["in"] == [[8]] and ops[0]["params"] == 32' linear
has 'a first dimension without a name is the batch' 'ops[0]["in"] == [[8]]' unnamed
has 'a fixed batch is divided out of the shapes' 'ops[0]["in"] == [[8]]' fixed
has 'a file may hold one sample of several rows' \
    'ops[0]["in"] == [[4, 8]]' fixed --batch 1
has 'a shape that is computed is followed' 'ops[0]["in"] == [[2, 8]]' reshape
has 'groups, padding and strides count' \
    'ops[0]["out"] == [[8, 5, 5]] and ops[0]["groups"] == 4 and ops[0]["params"] == 72' \
    grouped
has '--dim gives the sizes of other symbols' 'ops[0]["in"] == [[7, 8]]' symbol --dim time=7
has 'weights in nodes count, factors and masks in nodes do not' \
    'sum(op.get("params", 0) for op in ops) == 8 * 4 + 4 + 4 * 4' inside
has '--dim gives a size that has no name' 'ops[0]["in"] == [[7, 8]]' nameless --dim x.1=7
has 'a long chain of views is followed' 'ops[0]["params"] == 32' chain
has 'attention of ONNX Runtime is a layer and an attention' \
    '[op["op"] for op in ops] == ["linear", "attention", "loss"]
     and ops[0]["params"] == 33 * 96 and ops[0]["out"] == [[16, 96]]
     and ops[1]["in"] == [[4, 16, 8]] * 3 and ops[1]["causal"]' runtime
has 'attention of separate query, key and value has their sizes' \
    'ops[0]["op"] == "attention" and ops[0]["out"] == [[4, 16, 8]]
     and ops[0]["in"] == [[4, 16, 8], [4, 24, 8], [4, 24, 8]]
     and "causal" not in ops[0]' heads
has 'attention of groups has fewer heads of keys, and a window' \
    'ops[0]["in"] == [[4, 16, 8], [2, 24, 8], [2, 24, 8]] and ops[0]["window"] == 8
     and ops[0]["causal"]' groups
has 'attention of ONNX itself may have values of another size' \
    'ops[0]["in"] == [[4, 16, 8], [2, 24, 8], [2, 24, 4]]
     and ops[0]["out"] == [[4, 16, 4]] and ops[0]["causal"]' standard
has 'attention in nodes is one operator, with its mask and dropout' \
    'ops[-2]["op"] == "attention" and ops[-2]["in"] == [[4, 16, 8]] * 3
     and ops[-2]["causal"] and ops[-2]["masks"] == 4 * 16 * 16
     and not {"matmul", "softmax", "dropout"} & {op["op"] for op in ops}' spelled
has 'attention with learned positions in its scores stays in nodes' \
    '[op["op"] for op in ops].count("matmul") == 2
     and [op["op"] for op in ops].count("softmax") == 1' relative
has 'an unknown operator counts its bytes' \
    'ops[0]["op"] == "other" and ops[0]["bytes"] == 48' unknown
like 'an unknown operator is named' "$err" 'such as Whatever'

# wrong NAME REGEX: in one message, within ten seconds
wrong() {
    SECONDS=0
    refuses "the wrong model $1 is named: $2" 4 "$2" import --onnx "$work/$1.onnx"
    ok "the wrong model $1 is refused within ten seconds" test $SECONDS -le 10
}

wrong symbol "size of 'time' is not known, expected --dim time=N"
wrong nameless 'the size of axis 1, which has no name, is not known, expected --dim x.1=N'
wrong five 'its heads do not divide its features'
wrong keyless 'expected query, key and value of three dimensions'
wrong shapeless "operator is not known, and 'z' has no shape"
wrong cycle 'not computed before it'
wrong nowhere "'q' is not computed by any node"
wrong twice 'computed twice'
wrong negative 'dimension 0: -8 out of range'
wrong huge 'dimension 1: 2e.09 out of range'
wrong product 'elements, expected at most'
wrong rank '9 dimensions, expected at most 8'
wrong misfit 'Incompatible dimensions'
wrong window 'dimension 2: -89 out of range'
wrong axis 'axis must be in'
wrong index 'an index out of range'
wrong range 'out of range'
wrong constant 'no operator that depends on a sample'
wrong empty 'without nodes'
wrong nothing 'without nodes'
wrong text 'not a complete ONNX model'
wrong claim 'not a complete ONNX model'
wrong truncated 'not a complete ONNX model'
wrong many '300000 nodes, expected at most 200000'
wrong nested 'not a complete ONNX model'

is 'cut and changed models are refused in words' \
    "$("$PYTHON3" -W ignore "$top/tests/import/hostile" 300 \
        "$work"/{small,grouped,groups,reshape,spelled}.onnx "$data/lstm.onnx" 2>&1)" ''

refuses 'a file is needed' 2 'CONFIG.json .SPEC. is missing' import
refuses 'a missing file is named' 4 'none.onnx: No such file' import --onnx "$work/none.onnx"
refuses '--dim without a size is refused' 2 "expected NAME=N" \
    import --onnx "$work/linear.onnx" --dim time
refuses '--dim with a size that is no number is refused' 2 \
    'dim' import --onnx "$work/linear.onnx" --dim time=long
truncate -s 1100M "$work/large.onnx"
refuses 'a file that is too large is not read' 4 'larger than' \
    import --onnx "$work/large.onnx"

gives 'with --out a summary is printed' 0 'net: a forward pass of 2 operators' \
    import --onnx "$work/linear.onnx" --out "$work/linear.json" batch=8
gives 'the sidecar of an ONNX model is predicted' 0 \
    'net' predict "$work/linear.json" --gpu t4_16gb
json 'with --json the summary is JSON' \
    'd["params"] == 32 and d["operators"] == 2 and d["spec"]["batch"] == 8' \
    import --onnx "$work/linear.onnx" --out "$work/linear.json" batch=8
refuses 'a missing folder is named' 4 'No such file' \
    import --onnx "$work/linear.onnx" --out "$work/none/x.json"
done_testing
