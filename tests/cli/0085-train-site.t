#!/bin/bash
# 0085-train-site.t - a site's own constants out of its own runs

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python
plan_later

# Runs of three networks on two GPUs that take 1.5 times as long as predicted.
python3 - "$DNNEST" "$work" <<'PYTHON'
import csv
import subprocess
import sys

program, work = sys.argv[1:]
rows = [{"spec": "model=%s,batch=%d,precision=fp16,optimizer=sgd,input=synthetic" % (model, batch),
         "gpu": gpu, "step_ms": "1", "peak_mem_gb": "", "power_w": ""}
        for model in ("resnet50", "vgg16", "bert_base") for batch in (1, 4, 16, 32)
        for gpu in ("v100_sxm2_32gb", "a100_sxm4_40gb")]


def write(name):
    with open(work + "/" + name, "w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)


write("plain.csv")
subprocess.run([program, "evaluate", "--conf", work + "/site.conf", "--hardware",
                work + "/hardware", "--datasets", work + "/datasets.conf", "--predictions",
                work + "/predicted.csv", work + "/plain.csv"], check=True,
               stdout=subprocess.DEVNULL)
for row, done in zip(rows, csv.DictReader(open(work + "/predicted.csv", newline=""))):
    row["step_ms"] = "%.6g" % (1.5 * float(done["predicted_step_ms"]))
    row["peak_mem_gb"] = "%.6g" % (1.2 * float(done["predicted_mem_gb"]))
write("runs.csv")
PYTHON
runs=$work/runs.csv

# holds TITLE EXPRESSION BUNDLE: over the manifest 'm', site.json 's' and its bytes 'b'
holds() {
    is "$1" "$(python3 -c '
import hashlib, json, math, sys
b = open(sys.argv[2] + "/site.json", "rb").read()
s = json.loads(b)
m = json.load(open(sys.argv[2] + "/manifest.json"))
print(bool(eval("(" + sys.argv[1] + ")")))' "$2" "$3" 2>&1)" True
}

gives 'train --site shows what was learned' 0 'device a100_sxm4_40gb .*application vgg16 ' \
    train --site "$runs" --out "$work/one"
is 'and puts the bundle in its place' "$(ls "$work/one")" "$(printf 'manifest.json\nsite.json')"
is 'nothing is left beside it' "$(cd "$work" && echo one*)" one
holds 'the manifest has size and checksum of site.json' \
    'm["dnnest_bundle"] == 1 and m["files"]["site.json"]["bytes"] == len(b)
     and m["files"]["site.json"]["sha256"] == hashlib.sha256(b).hexdigest()' "$work/one"
holds 'site.json has the members of its contract' \
    'list(s) == ["dnnest_site", "runs", "constants", "step", "memory", "devices",
      "applications", "cells", "spread"] and s["runs"] == 24' "$work/one"
holds 'the site is found to be slower' \
    's["step"]["scale"] * s["devices"]["v100_sxm2_32gb"]["scale"]
     * s["applications"]["vgg16"]["scale"] > 1.35 and s["memory"]["scale"] > 1.1' "$work/one"
holds 'spreads grow with what is not known' \
    '0 < s["spread"]["cell"] < s["spread"]["known"] < s["spread"]["device"] < s["spread"]["none"]' "$work/one"
holds 'the links of runs on one GPU are not judged' \
    '"pcie_eff" not in s["constants"] and "node_bw" not in s["constants"]' "$work/one"

dn train --site "$runs" --out "$work/two" > "$work/out"
is 'the same runs give the same bundle' "$(diff -r "$work/one" "$work/two")" ''
head -n 4 "$runs" > "$work/three.csv"
dn train --site "$work/three.csv" --out "$work/few" > "$work/out"
holds 'three runs move less, and say that they know less' \
    "abs(math.log(s['step']['scale'])) < abs(math.log(json.load(open('$work/one/site.json'))
     ['step']['scale'])) or s['spread']['known']
     > json.load(open('$work/one/site.json'))['spread']['known']" "$work/few"
json '--json has the document and the counts' \
    'd["rows"] == 24 and d["used"] == 24 and d["site"]["dnnest_site"] == 1
     and d["bundle"].endswith("/json")' train --site "$runs" --out "$work/json"

mkdir "$work/base"
printf '{}' > "$work/base/step.json"
sum=$(sha256sum "$work/base/step.json" | cut -d ' ' -f 1)
cat > "$work/base/manifest.json" <<JSON
{"dnnest_bundle": 1, "name": "default", "more": [1, 2.5],
 "files": {"step.json": {"bytes": 2, "sha256": "$sum"},
           "site.json": {"bytes": 9, "sha256": "0"}}}
JSON
gives 'a base is taken over' 0 '' train --site "$runs" --out "$work/based" --base "$work/base"
holds 'with its files and its manifest, its site apart' \
    'm["name"] == "default" and m["more"] == [1, 2.5]
     and m["files"]["step.json"]["sha256"] == "'"$sum"'"
     and m["files"]["site.json"]["bytes"] == len(b)' "$work/based"
is 'file by file' "$(cat "$work/based/step.json")" '{}'
printf '{ }' > "$work/base/step.json"
refuses 'a base whose file was changed is refused' 4 'step.json: not the file' \
    train --site "$runs" --out "$work/no" --base "$work/base"
printf '{"dnnest_bundle": 9, "files": {}}' > "$work/base/manifest.json"
refuses 'a base of another version is refused' 4 'dnnest_bundle: 9 out of range' \
    train --site "$runs" --out "$work/no" --base "$work/base"
refuses 'a base that is not there is refused' 4 'No such file' \
    train --site "$runs" --out "$work/no" --base "$work/nowhere"
is 'no failure leaves anything behind' "$(cd "$work" && ls -d no* 2>/dev/null)" ''

refuses 'a bundle is not written over' 4 'one: exists, expected a new folder' \
    train --site "$runs" --out "$work/one"
refuses 'both options are needed' 2 'expected --site and --out' train --site "$runs"
refuses 'a table without the columns is refused' 4 'needs the columns spec and gpu' \
    train --site /dev/stdin --out "$work/no" <<< $'a,b\n1,2'
try train --site /dev/stdin --out "$work/no" <<< $'spec,gpu,step_ms\nmodel=nobody,t4_16gb,1'
like 'a row that cannot be read is named' "$err" 'line 2 is left out: '
like 'and without any run nothing is made' "$code $err" '^4 .*no row is a run that can be used'
try train --site /dev/stdin --out "$work/some" \
    < <(cat "$runs"; printf '"model=resnet50,batch=4",t4_16gb,,,\n')
is 'bad rows do not stop good ones' "$code" 0
like 'a row without a measured value is named' "$err" 'line 26 is left out: nothing was measured'

done_testing
