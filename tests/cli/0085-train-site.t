#!/bin/bash
# 0085-train-site.t - the constants of a site from its runs
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"
make_bundle "$work/small" || { echo 'Bail out! no small bundle'; exit 1; }
bundle=$work/small

# Runs of three networks on two GPUs that take 1.5 times as long as predicted with a bundle, all
# by the caller.
python3 - "$DNNEST-dev" "$work" <<'PYTHON'
import csv
import os
import subprocess
import sys

program, work = sys.argv[1:]
rows = [{"spec": "model=%s,batch=%d,precision=fp16,optimizer=sgd,input=synthetic" % (model, batch),
         "gpu": gpu, "step_ms": "1", "peak_mem_gb": "", "power_w": "", "user": os.getuid()}
        for model in ("resnet50", "resnet34", "bert_base") for batch in (1, 4, 16, 24, 32, 64)
        for gpu in ("v100_sxm2_32gb", "a100_sxm4_40gb")]


def write(name, rows):
    with open(work + "/" + name, "w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


write("plain.csv", rows)
subprocess.run([program, "evaluate", "--conf", work + "/site.conf", "--hardware",
                work + "/hardware", "--datasets", work + "/datasets.conf", "--model", work + "/small",
                "--predictions",
                work + "/predicted.csv", work + "/plain.csv"], check=True,
               stdout=subprocess.DEVNULL)
for row, done in zip(rows, csv.DictReader(open(work + "/predicted.csv", newline=""))):
    row["step_ms"] = "%.6g" % (1.5 * float(done["predicted_step_ms"]))
    row["peak_mem_gb"] = "%.6g" % (1.2 * float(done["predicted_mem_gb"]))
kept = [row for row in rows if ",batch=24," not in row["spec"]]
write("runs.csv", kept)
write("held.csv", [row for row in rows if row not in kept])
PYTHON
runs=$work/runs.csv

# learned TITLE EXPRESSION BUNDLE: over the manifest 'm', site.json 's' and its bytes 'b'
learned() {
    holds "$1" "$2" "$3/manifest.json" "
import hashlib
m, b = d, open('$3/site.json', 'rb').read()
s = json.loads(b)"
}

gives 'train --site shows what was learned' 0 'device a100_sxm4_40gb .*application resnet34 of user [0-9]* ' \
    train --site "$runs" --out "$work/one"
is 'train --site puts the bundle in its place' "$(ls "$work/one")" \
    "$(printf '%s\n' domain.points manifest.json memory.trees site.json step.trees)"
is 'no file remains besides the bundle' "$(cd "$work" && echo one*)" one
learned 'the manifest has size and checksum of site.json' \
    'm["dnnest_bundle"] == 2 and m["files"]["site.json"]["bytes"] == len(b)
     and m["files"]["site.json"]["sha256"] == hashlib.sha256(b).hexdigest()' "$work/one"
learned 'site.json has the members of its contract' \
    'list(s) == ["dnnest_site", "runs", "constants", "step", "memory", "devices", "history"]
     and s["runs"] == 30' "$work/one"
learned 'the scales of a slower site are above 1' \
    's["step"]["scale"] * s["devices"]["v100_sxm2_32gb"]["scale"] > 1.05
     and s["memory"]["scale"] > 1.1' "$work/one"
learned 'the links of runs on one GPU are not judged' \
    '"pcie_eff" not in s["constants"] and "node_bw" not in s["constants"]' "$work/one"

dn train --site "$runs" --out "$work/two" > "$work/out"
is 'the same runs give the same bundle' "$(diff -r "$work/one" "$work/two")" ''
sed -n '1p;/resnet34,batch=1,.*v100/p;/bert_base,batch=1,/p' "$runs" > "$work/three.csv"
dn train --site "$work/three.csv" --out "$work/few" > "$work/out"
learned 'three runs of two applications move the site less than thirty' \
    "s['runs'] == 3 and 0 < math.log(s['step']['scale'])
     < math.log(json.load(open('$work/one/site.json'))['step']['scale'])" "$work/few"
sed -n '1p;/resnet34/p' "$runs" > "$work/alone.csv"
dn train --site "$work/alone.csv" --out "$work/alone" > "$work/out"
learned 'runs of one application move no constant and no scale' \
    's["runs"] == 10 and s["constants"] == {} and s["devices"] == {}
     and s["step"]["scale"] == 1 and len(s["history"]["users"]["'$UID'"]["resnet34"]["runs"]) == 10' \
    "$work/alone"
json '--json has the document and the counts' \
    'd["rows"] == 30 and d["used"] == 30 and d["site"]["dnnest_site"] == 4
     and d["bundle"].endswith("/json")' train --site "$runs" --out "$work/json"

cat "$work/hardware/v100_sxm2_32gb.conf" > "$work/hardware/lab.conf"
sed -i 's,^Device=.*,Device=lab/v100,' "$work/hardware/lab.conf"
sed 's,v100_sxm2_32gb,lab/v100,' "$runs" > "$work/lab.csv"
gives 'the name of a device may have a slash' 0 'device lab/v100 ' \
    train --site "$work/lab.csv" --out "$work/lab"
learned 'the name of a device with a slash is written as it is' \
    "'lab/v100' in s['devices'] and b'lab/v100' in b" "$work/lab"
rm "$work/hardware/lab.conf"

# --- predicting with it ----------------------------------------------------------------

# error BUNDLE: the mean error of the step time of the runs that were held back
error() {
    bundle=$1 dn evaluate --json "$work/held.csv" | value '"%.4f %.4f %.4f" % tuple(
        d[k]["mape"] for k in ("step_time", "gpu_memory", "white_box"))'
}
read -r before memory_before white <<< "$(error "$work/small")"
read -r after memory_after still_white <<< "$(error "$work/one")"
less 'runs that were held back are predicted better with the site' "$after" "0.3 * $before"
less 'the memory of runs that were held back is predicted better with the site' \
    "$memory_after" "0.7 * $memory_before"
is 'the white box is the same with and without the site' "$still_white" "$white"
spec=model=resnet34,batch=24,precision=fp16,optimizer=sgd,input=synthetic
step() {
    bundle=$1 dn predict --json --gpu v100_sxm2_32gb "$spec" "${@:2}" \
        | value '"%r %r" % (lambda c: (c["step_ms"]["p95"] / c["step_ms"]["p50"], c["confidence"]))(
            d["candidates"][0])'
}
read -r wide unsure <<< "$(step "$work/small")"
read -r narrow sure <<< "$(step "$work/one")"
less 'the bound is tighter where the site is known' "$narrow" "$wide"
less 'the confidence is higher where the site is known' "$unsure" "$sure"

learned 'the history keeps the runs of each application' \
    '{a: len(r["runs"]) for a, r in s["history"]["users"]["'$UID'"].items()}
     == {"resnet50": 10, "resnet34": 10, "bert_base": 10}
     and list(s["history"]["users"]) == ["'$UID'"]
     and set(s["history"]["users"]["'$UID'"]["resnet34"]["runs"][0])
     == {"device", "precision", "ratio", "own", "noise", "at"}' "$work/one"
bundle=$work/one
gives 'explain says that the runs of the site moved it' 0 \
    "By the site's own runs a step takes 1.[45][0-9]* times" \
    explain --gpu v100_sxm2_32gb "$spec"
gives 'model show counts the runs of the site' 0 \
    'site +30 runs' model show "$work/one"
json 'JSON has what was learned of the site' 'len(d["site"]["devices"]) == 2' model show "$work/one"
bundle=$work/small
gives 'explain has no factor of the site without runs' 0 '"site_factor": *1[.0]*,' \
    explain --json --gpu v100_sxm2_32gb "$spec"

# --- whose runs they are ---------------------------------------------------------------

other=$((UID + 1))
wide_of() { step "$work/one" --user "$1" | cut -d ' ' -f 1; }
less 'the history is that of the user who ran it' "$(wide_of "$UID")" "$(wide_of $other)"
refuses 'a user that does not exist has no history' 2 "--user: .*nobody-of-that-name" \
    predict --user nobody-of-that-name --gpu v100_sxm2_32gb "$spec"
users() { # TABLE: the users of the history that is learned from it
    rm -rf "$work/whose"
    dn train --site "$1" --out "$work/whose" > "$work/out" 2>"$work/whose.err"
    value '" ".join(d["history"]["users"])' "$work/whose/site.json"
}
cp "$runs" "$work/open.csv"
chmod 666 "$work/open.csv"
is 'a table that others can write has the runs of an unknown user' \
    "$(users "$work/open.csv")" unknown
like 'a table that others can write is reported' "$(cat "$work/whose.err")" \
    'writable by group or others .mode 0666., so its runs are those of an unknown user'
sed '1!s/,[0-9]*\r*$/,root/' "$runs" > "$work/names.csv"
is 'a user may be given by name' "$(users "$work/names.csv")" 0
sed '1!s/,[0-9]*\r*$/,3f2a9c0d-no-user/' "$runs" > "$work/hashes.csv"
is 'runs of no user of this system are no history' "$(users "$work/hashes.csv")" ''
if ((UID == 0)); then
    cp "$runs" "$work/theirs.csv"
    chmod 644 "$work/theirs.csv"
    chown 65534 "$work/theirs.csv"
    is 'a table of another user has the runs of its owner, whatever it says' \
        "$(users "$work/theirs.csv")" 65534
else
    skip 'a table of another user has the runs of its owner, whatever it says' 'not root'
fi
bundle=$work/small

# --- the base --------------------------------------------------------------------------

gives '--base names the bundle to start from' 0 \
    '' train --site "$runs" --out "$work/based" --base "$work/small"
is 'the files of the base are copied' \
    "$(cmp "$work/based/step.trees" "$work/small/step.trees" 2>&1)" ''
is '--base and Bundle= make the same bundle' "$(diff -r "$work/one" "$work/based")" ''
gives 'a tuned base loses its tuning' 0 '' \
    train --site "$runs" --out "$work/again" --base "$work/one"
is 'a tuned base makes the same bundle as the untuned one' \
    "$(diff -r "$work/one" "$work/again")" ''
bundle=none
refuses 'without a base no bundle is made' 4 'no bundle to start from, expected --base' \
    train --site "$runs" --out "$work/no"
cd "$work" || exit
gives '--base takes a relative path' 0 '' train --site "$runs" --out "$work/relative" --base small
cd - > /dev/null || exit
refuses 'a missing base is refused' 4 'nowhere: .*No such file' \
    train --site "$runs" --out "$work/no" --base "$work/nowhere"
cp -R "$work/small" "$work/base"
printf X | dd of="$work/base/step.trees" bs=1 seek=40 conv=notrunc status=none
refuses 'a base whose file was changed is refused' 4 'step.trees: its SHA-256 is not' \
    train --site "$runs" --out "$work/no" --base "$work/base"
is 'no failure leaves anything behind' "$(cd "$work" && ls -d no* 2>/dev/null)" ''

# --- a site.json that lies; tests/unit/tuning.c has more -------------------------------

# tamper FROM TO: the bundle 'one' with that in its site.json, and a manifest that agrees
tamper() {
    rm -rf "$work/bad"
    cp -R "$work/one" "$work/bad"
    python3 - "$work/bad" "$1" "$2" <<'PYTHON'
import hashlib
import json
import sys

folder, old, new = sys.argv[1:]
text = open(folder + "/site.json").read()
assert old in text
data = text.replace(old, new, 1).encode()
open(folder + "/site.json", "wb").write(data)
manifest = json.load(open(folder + "/manifest.json"))
manifest["files"]["site.json"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
json.dump(manifest, open(folder + "/manifest.json", "w"))
PYTHON
}
tamper '"dnnest_site": 4' '"dnnest_site": 5'
refuses 'a site.json of a later version is refused' 4 \
    "$work/bad: site.json: dnnest_site: version 5, expected 4" \
    predict --model "$work/bad" --gpu v100_sxm2_32gb "$spec"
tamper '"runs": 30' '"runs": 40'
gives 'a site.json whose manifest agrees is read' 0 '"model_bundle": *"small"' \
    predict --json --model "$work/bad" --gpu v100_sxm2_32gb "$spec"
sed -i 's/"runs": 40/"runs": 50/' "$work/bad/site.json"
refuses 'a site.json whose manifest does not agree is refused' 4 \
    'site.json: its SHA-256 is not' \
    predict --model "$work/bad" --gpu v100_sxm2_32gb "$spec"
bundle=$work/small

# --- what is refused -------------------------------------------------------------------

refuses 'a bundle with a site.json is not overwritten' 4 \
    'one: has a site.json, which would be lost' \
    train --site "$runs" --out "$work/one"
refuses 'train --site needs --out' 2 '--out=DIR or --install is missing' train --site "$runs"
refuses 'train --site takes no other table' 2 \
    'unexpected argument' train --site "$runs" --out "$work/no" "$runs"
refuses 'train --site refuses the options of training' 2 '--seed cannot be combined with --site' \
    train --site "$runs" --out "$work/no" --seed 2
refuses '--base needs --site' 2 '--base needs --site' \
    train --out "$work/no" --base "$work/small" "$runs"
refuses 'a table without the columns is refused' 4 'needs the columns spec and gpu' \
    train --site /dev/stdin --out "$work/no" <<< $'a,b\n1,2'
try train --site /dev/stdin --out "$work/no" <<< $'spec,gpu,step_ms\nmodel=nosuchnet,t4_16gb,1'
like 'a row that cannot be read is named' "$err" 'line 2 is left out: '
like 'without any usable run no bundle is made' \
    "$code $err" '^4 .*no row is a usable run'
try train --site /dev/stdin --out "$work/some" \
    < <(cat "$runs"; printf '"model=resnet50,batch=4",t4_16gb,,,,\n')
is 'bad rows do not stop good ones' "$code" 0
like 'a row without a measured value is named' "$err" 'line 32 is left out: nothing was measured'

done_testing
