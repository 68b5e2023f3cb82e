#!/bin/bash
# 0015-bundle.t - predictions with a model bundle, and wrong bundles
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

make_bundle "$work/small" || { echo 'Bail out! no small bundle'; exit 1; }
near=model=resnet50,batch=64,precision=fp16,optimizer=sgd,steps=1000,input=synthetic
gpu=--gpu=v100_sxm2_16gb

dn predict --json $gpu $near > "$work/white.json"
dn predict --json $gpu --model "$work/small" $near > "$work/small.json"
dn predict --json $gpu --model "$work/small" "${near/batch=64/batch=4096}" > "$work/far.json"

# compare TITLE EXPRESSION: over w, the white box's candidate, b, the bundle's, f, far away
compare() {
    holds "$1" "$2" "$work/white.json" "
d = {x: json.load(open('$work/%s.json' % x)) for x in ('white', 'small', 'far')}
w, b, f = (d[x]['candidates'][0] for x in ('white', 'small', 'far'))
about = lambda a, b: abs(a - b) < 1e-4 * abs(b)"
}

compare 'without a bundle its name is null' \
    'd["white"]["model_bundle"] is None and d["small"]["model_bundle"] == "small"'
compare 'the residual moves the step and its stages' \
    'about(b["step_ms"]["p50"], 1.5 * w["step_ms"]["p50"])
     and about(b["breakdown_ms"]["forward"], 1.5 * w["breakdown_ms"]["forward"])'
compare 'the residual of memory moves the memory' \
    'about(b["gpu_mem_bytes"]["p50"], 0.8 ** 0.5 * w["gpu_mem_bytes"]["p50"])'
compare 'the bound is that of the bundle' \
    'about(b["step_ms"]["p95"], math.exp(0.3) * b["step_ms"]["p50"])'
compare 'the confidence is by the law of the bounds' 'abs(b["confidence"] - 0.9405) < 1e-3'
compare 'far away the bound is wide and the confidence low' \
    'about(f["step_ms"]["p95"], math.exp(2.7) * f["step_ms"]["p50"]) and f["confidence"] < 0.3'

json 'explain explains with the bundle' \
    'abs(d["candidate"]["confidence"] - 0.9405) < 1e-3' \
    explain $gpu --model "$work/small" $near
json 'advise predicts with the bundle' \
    'abs(d["candidates"][0]["confidence"] - 0.9405) < 1e-3' \
    advise --model "$work/small" --comment="dnnest:$near" -G a100:1 -t 1-0
printf 'spec,gpu,step_ms\n"%s",v100_sxm2_16gb,100\n' "$near" > "$work/runs.csv"
json 'evaluate distinguishes the bundle from the white box' \
    'd["step_time"]["mape"] != d["white_box"]["mape"] and d["predicted"] == 1' \
    evaluate --model "$work/small" "$work/runs.csv"
json 'without a bundle the two are the same' \
    'd["step_time"]["mape"] == d["white_box"]["mape"]' evaluate "$work/runs.csv"

# --- the bundle that ships -------------------------------------------------------------

# By runs whose code was left out. A bin of few votes, which are pairs of families, says little.
ships() {
    holds "$1" "$2" "$top/etc/bundle/manifest.json" '
m = [d["metrics"]["code_left_out"], d["metrics"]["family_left_out"]]
bins = [[b for b in x["reliability"] if b["votes"] >= 8] for x in m]
mean = lambda x, key: (sum(b["votes"] * b[key] for b in x["reliability"])
                       / sum(b["votes"] for b in x["reliability"]))'
}
# Pairs of families are what the bound is fitted to; most runs are of a few that are known well.
ships 'the 95 % bound holds for 94 to 97 % of pairs of families that were left out' \
    'all(0.94 <= x["votes_p95"] <= 0.97 for x in m)'
ships 'the 95 % bound holds for 94 to 98 % of runs left out' \
    'all(0.94 <= x["coverage_p95"] <= 0.98 for x in m)'
ships 'confidence is on average that of runs left out, within 5 points' \
    'all(abs(mean(x, "stated") - mean(x, "within")) <= 0.05 for x in m)'
ships 'a tenth of confidence with eight votes is off by at most 10 points' \
    'all(abs(b["stated"] - b["within"]) <= 0.1 for x in bins for b in x) and len(bins[0]) > 2'

# --- where it is named -----------------------------------------------------------------

printf 'Bundle=%s\n' "$work/small" > "$work/with.conf"
with() { bundle='' dn predict --json --conf "$work/with.conf" $gpu "$@" $near; }
like 'dnnest.conf names the bundle' "$(with)" '"model_bundle": *"small"'
like '--model=none overrides dnnest.conf' "$(with --model none)" '"model_bundle": *null'
cd "$work" || exit
like '--model takes a relative path' "$(with --model small)" '"model_bundle": *"small"'
cd - > /dev/null || exit
echo 'Bundle=none' > "$work/with.conf"
like 'dnnest.conf may select no bundle' "$(with)" '"model_bundle": *null'
echo "Bundle=$work/nothing" > "$work/with.conf"
like 'a bundle of dnnest.conf that is missing is named' "$(with 2>&1 > /dev/null)" \
    "^dnnest: $work/nothing: .*No such file.*; going on without a model bundle\$"
like 'where the bundle is missing the white box predicts' \
    "$(with 2> /dev/null)" '"model_bundle": *null'
bundle=
refuses 'config --check reports a bundle that is missing' 3 "$work/nothing: .*No such file" \
    config --check "$work/with.conf"
bundle=none

# --- wrong bundles; tests/unit/bundle.c has wrong manifests ----------------------------

# lies TITLE REGEX COMMAND...: the small bundle after COMMAND, which runs in its directory
lies() {
    rm -rf "$work/bad"
    cp -R "$work/small" "$work/bad"
    (cd "$work/bad" && "${@:3}")
    refuses "$1" 4 "$work/bad.*$2" predict $gpu --model "$work/bad" $near
}
lies 'a missing file is named' 'cannot be opened: No such file' rm step.trees
lies 'a missing manifest is named' 'cannot be opened: No such file' rm manifest.json
lies 'a changed file is found by its checksum' 'step.trees: its SHA-256 is not' \
    bash -c 'printf X | dd of=step.trees bs=1 seek=40 conv=notrunc status=none'
lies 'a longer file is found by its size' 'memory.trees: .* bytes, the manifest says' \
    bash -c 'echo >> memory.trees'
lies 'a file that others may write is not trusted' 'writable by group or others' \
    chmod o+w step.trees
lies 'a directory that others may write is not trusted' 'writable by group or others' \
    chmod g+w .
lies 'a symbolic link is not followed' 'step.trees: is a symbolic link' \
    bash -c 'mv step.trees x && ln -s x step.trees'
lies 'a pipe does not hang' 'step.trees: not a regular file' \
    bash -c 'rm step.trees && mkfifo step.trees'
lies 'a large manifest is not read' '2000000 bytes, expected at most 1048576' \
    bash -c 'head -c 2000000 /dev/zero > manifest.json'
rm -rf "$work/bad"
ln -s small "$work/bad"
refuses 'a directory that is a symbolic link is not followed' 4 \
    "$work/bad: cannot be opened as a directory" predict $gpu --model "$work/bad" $near
done_testing
