#!/bin/bash
# 0095-torch.t - networks exported from PyTorch match those of the zoo
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The sidecars of tests/data/torch were written by the exporter, with --merge, from
# torchvision 0.14.1 on torch 1.13.1 (Debian 12), BERT and GPT-2 from transformers 4.30.2
# with 128 tokens; lora_7b.json from three blocks of own.llama () with 256 tokens, the
# middle one counted 30 times. They stand for torch where it is not installed. Where it
# is, the exporter itself runs: on small networks, and on those of torchvision with
# DNNEST_TORCH=all, which takes minutes. DNNEST_PYTHON names another Python, such as that
# of a virtual environment.

. "$(dirname "$0")/lib.sh"

PYTHON=${DNNEST_PYTHON:-/usr/bin/python3}
data=$top/tests/data/torch

# Network, pixels, batches.
nets='resnet50 224 4 32 128
vgg16 224 4 32 128
mobilenet_v2 224 4 32 256
mobilenet_v3_large 224 4 32 256
densenet121 224 4 32 128
efficientnet_b0 224 4 32 128
convnext_tiny 224 4 32 128
vit_b_16 224 4 32 128
swin_t 224 4 32 128
googlenet 224 4 32 256
inception_v3 299 4 32 128
regnet_y_8gf 224 4 32 64'

while read -r net _ batches; do
    is "$net as exported is that of the zoo" \
        "$(BATCHES=$batches agrees "$data/$net.json" "model=$net,attention=plain" 2>&1)" ''
done <<< "$nets"
is 'an LSTM as exported is that of the zoo' "$(agrees "$data/lstm.json" model=lstm_lm 2>&1)" ''
is 'BERT of transformers as exported is that of the zoo' \
    "$(agrees "$data/bert_base.json" model=bert_base,seq_len=128,head=classifier,attention=plain 2>&1)" ''
is 'GPT-2 of transformers as exported is that of the zoo' \
    "$(BATCHES='1 16 128' agrees "$data/gpt2.json" model=gpt2,seq_len=128,attention=plain 2>&1)" ''

if ! "$PYTHON" -c 'import torch' 2>/dev/null; then
    skip 'the exporter runs' "$PYTHON has no torch"
    done_testing
    exit
fi

# export NAME ARGUMENT...: writes $work/NAME.json
export_net() {
    local name=$1
    shift
    PYTHONPATH=$data "$PYTHON" "$top/python/dnnest_export.py" -o "$work/$name.json" \
        --spec precision=fp16 --batch 64 --no-merge "$@" 2>"$work/err"
}

# has TITLE FILE EXPRESSION: Python over 'd', and 'ops' of its graph
has() {
    holds "$1" "$3" "$work/$2.json" 'ops = d["graph"]["ops"]; kinds = [op["op"] for op in ops]'
}

export_net lstm own:LSTM --input int64:35
is 'an LSTM is one operator per layer, and that of the zoo' \
    "$(agrees "$work/lstm.json" model=lstm_lm 2>&1)" ''

export_net transformer own:Transformer --input int64:128 --plain
has 'attention as separate kernels is one operator, and shared weights count once' \
    transformer \
    'kinds.count("attention") == 6 and "matmul" not in kinds and "softmax" not in kinds
     and d["spec"]["attention"] == "plain" and not any("fused" in op for op in ops)
     and d["graph"]["blocks"] == 6 and d["graph"]["boundary"] == 128 * 256
     and sum(op.get("params", 0) for op in ops)
         == 256000 + 6 * (12 * 256 * 256 + 13 * 256)
     and ops[0]["in"] == [[128]] and d["graph"]["input_bytes"] == 8 * 128'
has 'copies of attention count once before its products and once after' \
    transformer 'kinds.count("copy") == 12 and kinds.count("linear") == 6 * 4 + 1
     and [len(op["in"]) for op in ops if op["op"] == "copy"][:2] == [3, 1]'
export_net fused own:Transformer --input int64:128 --fused --merge
has 'equal blocks are written once, and fused attention says so' fused \
    'len(ops) < 16 and "attention" not in d["spec"] and "copy" not in kinds
     and [(op["repeat"], op["fused"]) for op in ops if op["op"] == "attention"]
         == [(6, True)]'
ok 'a transformer with fused attention is predicted' \
    dn predict "$work/fused.json" --gpu a100_sxm4_40gb
export_net spelled own:llama --input int64:32
has 'attention that is written out is one operator' spelled \
    'kinds.count("attention") == 3 and "softmax" not in kinds
     and [op["in"] for op in ops if op["op"] == "attention"][0] == 3 * [[4, 32, 16]]'
export_net real own:Transformer --input int64:128 --plain --real
is 'meta tensors give what real ones give' \
    "$(cmp "$work/transformer.json" "$work/real.json" 2>&1)" ''
export_net wide own:Huge --input 65536
has 'a network that does not fit into the memory is described' wide \
    'sum(op["params"] for op in ops[:-1]) == 64 * 65536 ** 2'
export_net value own:Value --input 8
has 'a network that reads values is computed' value 'kinds[0] == "linear"'
like 'a warning says why a network is computed' "$(cat "$work/err")" \
    'does not run on meta tensors .*; computed instead'

is 'attention gives what PyTorch gives' "$(PYTHONPATH=$data:$top/python "$PYTHON" - 2>&1 <<'PYTHON'
import dnnest_export
import torch
from torch.nn import functional

torch.manual_seed(1)
layer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
run = dnnest_export.Run(layer, False)
x, y, z = torch.rand(3, 2, 5, 16)
mask = torch.rand(8, 5, 5) < 0.2
cases = [(x, x, x, None), (x, y, y, None), (x, y, z, None), (x, x, y, None),
         (x, x, x, torch.rand(5, 5)), (x, x, x, mask), (x, x, x, mask[0])]
for q, k, v, m in cases:
    want = layer(q, k, v, attn_mask=m, need_weights=False)[0]
    calls = []
    with run.replaced():
        ours = functional.multi_head_attention_forward
        functional.multi_head_attention_forward = \
            lambda *a, **b: calls.append(1) or ours(*a, **b)
        got = layer(q, k, v, attn_mask=m, need_weights=False)[0]
        functional.multi_head_attention_forward = ours
    if not calls or not torch.allclose(want, got, atol=1e-6):
        print("differs", len(calls), (want - got).abs().max())
PYTHON
)" ''

export_net odd own:Odd --input 8
has 'unused parameters count, shared ones once, frozen ones as frozen' odd \
    'sum(op.get("params", 0) for op in ops) == 8 * 8 + 8 + 16 + 27
     and sum(op.get("frozen", 0) for op in ops) == 8 * 8 + 8'
like 'unknown and unused operators are named' "$(cat "$work/err")" 'linalg_qr'
like 'parameters that are not used are counted in a line' \
    "$(cat "$work/err")" '2 parameter tensors are not used'
has 'an unknown operator counts its elements' odd \
    '[op["bytes"] for op in ops if op["op"] == "other"] == [4 * 17]'
ok 'a network with an unknown operator is predicted' \
    dn predict "$work/odd.json" --gpu a100_sxm4_40gb

not_ok 'a path that depends on the batch is refused' \
    export_net fickle own:Fickle --input 8
like 'a path that depends on the batch is refused in one line' \
    "$(cat "$work/err")" '^dnnest_export: the network runs other operators'
not_ok 'a path that depends on values is refused' export_net chooser own:Chooser --input 8
like 'a path that depends on values is refused in one line' \
    "$(tail -n 1 "$work/err")" '^dnnest_export: the network runs other operators'
if "$PYTHON" -c 'import torch; torch.cond' 2>/dev/null; then
    not_ok 'a network with torch.cond is refused' \
        export_net chooser own:Chooser --input 8 --arg cond=true
    like 'a network with torch.cond is refused in one line' "$(tail -n 1 "$work/err")" \
        '^dnnest_export: the network chooses operators by values of tensors'
fi
if "$PYTHON" -c 'import timm' 2>/dev/null; then
    for net in swin_tiny_patch4_window7_224 beit_base_patch16_224 levit_128; do
        export_net timm "timm:$net"
        is "tables of relative positions give no warning: $net" "$(<"$work/err")" ''
    done
fi
not_ok 'a wrong shape is refused' export_net odd own:Odd --input 9
is 'a wrong shape is refused in one line' "$(wc -l <"$work/err")" 1
not_ok 'a missing module is refused' export_net odd own:None --input 8

is 'the exporter leaves the module as it was' \
    "$(PYTHONPATH=$data:$top/python "$PYTHON" - 2>&1 <<'PYTHON'
import warnings

import dnnest_export
import own
import torch

warnings.simplefilter("ignore")
model = own.Odd().eval()
before = {key: value.clone() for key, value in model.state_dict().items()}
torch.manual_seed(7)
draw = torch.rand(1)
torch.manual_seed(7)
d = dnnest_export.describe(model, torch.zeros(5, 8), batch=16, name="odd")
if torch.rand(1) != draw:
    print("random numbers differ")
if model.training or any((before[k] != v).any() for k, v in model.state_dict().items()):
    print("the module changed")
if d["spec"]["batch"] != 16 or d["graph"]["ops"][0]["in"] != [[8]]:
    print("not described", d)
PYTHON
)" ''

export_net backbone own:backbone --input 3,32,32
has 'a frozen backbone has no backward pass, and keeps what its head reads' backbone \
    '[op.get("first", False) for op in ops] == 6 * [True] + [False]
     and [op["saved"] for op in ops] == [0, 0, 0, 0, 8 * 28 * 28, 0, 10]
     and "params" not in ops[3] and ops[3]["frozen"] == 8 * 8 * 9 + 8'
export_net above own:Chain --input 16 --arg size=16 --arg layers=4 --arg learn_last=0 \
    --arg learn_first=1
has 'a gradient flows through frozen layers, which keep no input' above \
    '[op.get("first", False) for op in ops[:4]] == [True, False, False, False]
     and [op["saved"] for op in ops[:4]] == [16, 0, 0, 0]
     and [op.get("frozen", 0) for op in ops[:4]] == [0, 256, 256, 256]'
export_net lora own:lora --input int64:16
has 'adapters learn beside frozen layers, and a tied table counts once' lora \
    'sum(op.get("params", 0) for op in ops) == 4 * 2 * 2 * 8 * 64
     and sum(op.get("frozen", 0) for op in ops) == 500 * 64
         + 4 * (2 * 64 + 2 * (64 * 64 + 64) + 8 * 64 * 64 + 5 * 64)
     and not any("frozen_bytes" in op for op in ops)
     and [op["saved"] for op in ops if op.get("frozen", 0) == 64 * 64 + 64] == 8 * [0]'
export_net half own:lora --input int64:16 --arg half=true
has 'frozen weights in 16 bits have two bytes each' half \
    'all(op["frozen_bytes"] == 2 * op["frozen"] for op in ops if "frozen" in op)'
for buffer in false true; do
    export_net quantised own:Quantised --input 2048 --arg buffer=$buffer
    has "weights in 8 bits have one byte each, buffer=$buffer" quantised \
        'ops[0]["frozen"] == 2048 * 2049 and ops[0]["frozen_bytes"] == 2048 * (2048 + 4)
         and "frozen" not in ops[1] and ops[1]["params"] == 4096'
done
is 'weights, gradients and optimizer state are those that PyTorch holds' \
    "$(PYTHONPATH=$data:$top/python DNNEST=$DNNEST "$PYTHON" "$data/held.py" "$work" 2>&1)" ''

not_ok 'an unknown name of the hub is refused' export_net hub hf:nosuch/nothing
like 'a message says what to pass for a name of the hub' "$(cat "$work/err")" \
    '^dnnest_export: hf:nosuch/nothing: .* expected a config.json'
echo '{"hidden_size": NaN, "x": [' > "$work/config.json"
not_ok 'a damaged config.json is refused' export_net hub "hf:$work/config.json"
is 'a damaged config.json is refused in one line' "$(wc -l <"$work/err")" 1
if ! "$PYTHON" -c 'import transformers' 2>/dev/null; then
    skip 'a network is described by its config.json' "$PYTHON has no transformers"
else
    cat > "$work/config.json" <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
 "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
 "vocab_size": 32000, "torch_dtype": "float32"}
JSON
    (ulimit -d 3000000
     HF_HUB_OFFLINE=1 export_net llama "hf:$work/config.json" --seq 1024 --merge)
    has 'a LLaMA of 7 G parameters is described in 3 GB by its config.json' llama \
        'sum(op.get("params", 0) * op.get("repeat", 1) for op in ops) == 6738415616
         and [op["repeat"] for op in ops if op["op"] == "attention"] == [32]
         and d["spec"]["seq_len"] == 1024 and len(ops) < 40'
fi

if [[ ${DNNEST_TORCH-} != all ]]; then
    skip 'the networks of torchvision are those of the zoo' \
        'they take minutes; DNNEST_TORCH=all runs them'
elif ! "$PYTHON" -c 'import torchvision' 2>/dev/null; then
    skip 'the networks of torchvision are those of the zoo' "$PYTHON has no torchvision"
else
    while read -r net size batches; do
        more=()
        [[ $net != *inception* && $net != googlenet ]] || more=(--arg init_weights=false)
        export_net "$net" "torchvision.models:$net" --input "3,$size,$size" "${more[@]}" \
            || diag "$(cat "$work/err")"
        is "$net is that of the zoo" \
            "$(BATCHES=$batches agrees "$work/$net.json" "model=$net" 2>&1)" ''
    done <<< "$nets"
fi
done_testing
