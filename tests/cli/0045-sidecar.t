#!/bin/bash
# 0045-sidecar.t - descriptions in JSON, with keys and with a network of one's own
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=64,precision=fp16,epochs=90,dataset=imagenet
cat > "$work/keys.json" <<'END'
{"dnnest": 1, "spec": {"model": "resnet50", "batch": 64, "precision": "fp16",
 "epochs": 90, "dataset": "imagenet"}}
END
is 'keys in a sidecar are as good as on the command line' \
    "$(dn predict --json "@$work/keys.json" --gpu v100_sxm2_16gb)" \
    "$(dn predict --json $spec --gpu v100_sxm2_16gb)"
is 'the @ may be left out where the name ends in .json' \
    "$(dn check "$work/keys.json")" "$(dn check $spec)"

cat > "$work/net.json" <<'END'
{"dnnest": 1, "spec": {"batch": 64, "precision": "fp16"},
 "graph": {"name": "my_net", "ops": [
  {"op": "conv2d", "in": [[3,32,32]], "out": [[64,32,32]], "kernel": [3,3], "params": 1728, "first": true},
  {"op": "activation", "in": [[64,32,32]], "out": [[64,32,32]], "repeat": 2},
  {"op": "linear", "in": [[65536]], "out": [[10]], "params": 655370}]}}
END
json 'a network of layers is predicted' \
    'd["model"]["name"] == "my_net" and d["model"]["params"] == 657098
     and d["candidates"][0]["step_ms"]["p50"] > 0' predict --gpu v100_sxm2_16gb "$work/net.json"
gives 'a network of layers is explained' 0 \
    'linear' explain --gpu v100_sxm2_16gb "$work/net.json"
json 'a network of layers is checked' \
    'd["given"]["batch"] == 64 and d["model"]["name"] == "my_net"' \
    check "$work/net.json"

json 'frozen parameters are counted, and fill the memory of a GPU' \
    'd["model"]["params"] == 6742609920 and d["model"]["frozen_params"] == 6738415616
     and [c["gpu"] for c in d["candidates"] if c["fits"] is False] == ["v100_sxm2_16gb"]
     and min(c["gpu_mem_bytes"]["p50"] for c in d["candidates"]) > 2 * 6738415616' \
    predict --gpu v100_sxm2_16gb --gpu a100_sxm4_40gb "$top/tests/data/torch/lora_7b.json"
gives 'frozen parameters are named' 0 '^lora_7b: 6.743 G parameters [(]6.738 G frozen[)], ' \
    predict --gpu a100_sxm4_40gb "$top/tests/data/torch/lora_7b.json"

printf 'spec,gpu,step_ms\n@net.json,v100_sxm2_16gb,10\n@none.json,v100_sxm2_16gb,10\n' > "$work/runs.csv"
json 'a table names sidecars relative to its directory' \
    'd["predicted"] == 1 and d["skipped"][0]["line"] == 3
     and "none.json" in d["skipped"][0]["reason"]' evaluate "$work/runs.csv"

printf '{"dnnest": 1, "spec": {"bacth": 4}}' > "$work/bad.json"
refuses 'an unknown key is named with its place' 2 "bad.json: sidecar: spec: .*'bacth'" \
    check "$work/bad.json"
printf '{"dnnest": 1, "spec": {"batch": 4}, "graph": {"ops": [{"op": "linear", "in": [[8]]}]}}' > "$work/bad.json"
refuses 'a layer that lacks something is named' 2 'bad.json: .*ops.0. .linear.: out: 0 dimensions' \
    predict "$work/bad.json"
printf '{"dnnest": 1, "spec": {"batch": 4}, "graph": {"ops": [{"op": "conv2d", "in": [[3, 8, 8]], "out": [[4, 8, 8]]}]}}' \
    > "$work/bad.json"
for command in check predict; do
    refuses "$command names the file of a convolution without its kernel" 2 \
        "^dnnest: $work/bad.json: .*kernel: missing" $command "@$work/bad.json,batch=2"
done
printf '{"dnnest": 1' > "$work/bad.json"
refuses 'half a sidecar is refused' 2 'ends in the middle' check "$work/bad.json"
refuses 'a missing sidecar is named' 4 'nothing.json: No such file' check "@$work/nothing.json"
head -c 9000000 /dev/zero | tr '\0' ' ' > "$work/big.json"
refuses 'a sidecar that is too large is refused' 2 'larger than' check "$work/big.json"

# --- what travels with a job: small, and within 1 % of the whole

compact=${abs_top_builddir:-.}/tests/unit/compact_sidecar
whole() {
    local data=$top/tests/data/torch/$1
    if [[ -e $data.json ]]; then
        cat "$data.json"
    else
        python3 -c 'import lzma, sys; print(lzma.open(sys.argv[1], "rt").read())' "$data.json.xz"
    fi
}
for net in densenet121 densenet201 efficientnet_b7 inception_v3 swin_t lora_7b; do
    whole $net > "$work/$net.json"
    "$compact" < "$work/$net.json" > "$work/compact.json"
    bytes=$(tr -d '\n' < "$work/compact.json" | wc -c)
    ok "$net travels in $bytes bytes" test "$bytes" -gt 1000 -a "$bytes" -le 16384
    is '$net as it travels is predicted as the whole' \
        "$(TOLERANCE=1 agrees "$work/compact.json" "$work/$net.json")" ''
done
not_ok 'a file that is no sidecar is not sent with a job' "$compact" < "$work/bad.json" 2>/dev/null

done_testing
