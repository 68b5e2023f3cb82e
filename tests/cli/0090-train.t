#!/bin/bash
# 0090-train.t - a model bundle from measured runs
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"
# Trees are trained here, but not used for predictions.
export OMP_NUM_THREADS=1

# Every 20th row of the shipped table, and variants of it.
python3 - "$top/learn/data/training_runs.csv" "$work" <<'PYTHON'
import csv
import sys

source, work = sys.argv[1:]
rows = list(csv.DictReader(open(source, newline="")))[::20]


def write(name, rows):
    with open("%s/%s.csv" % (work, name), "w", newline="") as file:
        writer = csv.DictWriter(file, ["spec", "gpu", "step_ms", "group", "source", "censored"],
                                extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def slow(row, limit):
    """One in six takes three times as long, and is killed at 'limit' times its usual time."""
    ms = float(row["step_ms"])
    return dict(row, step_ms="%g" % (ms * limit), censored="1" if limit < 3 else "")


late = set(range(0, len(rows), 6))
write("runs", rows)
write("more", rows * 3)
write("dropped", [r for i, r in enumerate(rows) if i not in late])
write("killed", [slow(r, 2) if i in late else r for i, r in enumerate(rows)])
write("known", [slow(r, 3) if i in late else r for i, r in enumerate(rows)])
write("no-bert", [r for r in rows if "bert" not in r["group"]])
write("few", rows[:12])
PYTHON
train() { dn train --folds 3 "$@" > "$work/out" 2> "$work/err"; }
predict() { # BUNDLE EXPRESSION SPEC, of the first candidate as c
    bundle=$work/$1 dn predict --json --gpu v100_sxm2_32gb "$3" | value "(lambda c: $2)(d['candidates'][0])"
}

train --out "$work/one" "$work/runs.csv"
is 'a bundle is made' "$(cd "$work/one" && echo *)" 'domain.points manifest.json step.trees'
like 'a table lists what was left out' "$(cat "$work/out")" 'source +[0-9]+ '
train --out "$work/two" "$work/runs.csv"
is 'the same runs make the same bytes' "$(diff -r "$work/one" "$work/two" 2>&1)" ''
train --seed 2 --out "$work/two" "$work/runs.csv"
isnt_same() { if cmp -s "$1" "$2"; then echo same; fi; }
is 'another seed gives other bytes, which replace the old ones' \
    "$(isnt_same "$work/one/step.trees" "$work/two/step.trees")" ''
is 'no file remains besides the bundle' \
    "$(find "$work" -maxdepth 1 -name 'two*' | wc -l)" 1
is 'predict reads the bundle' "$(predict one 'c["fits"]' "$short")" True
train --json --out "$work/two" --margin 1.5 - < "$work/runs.csv"
is 'stdin is a table; --json has the metrics' \
    "$(value 'd["name"], d["data"]["files"][0]["name"], sorted(d["metrics"])' "$work/out")" \
    "('default', 'stdin', ['code_left_out', 'family_left_out', 'gpu_left_out', 'model_left_out', 'run_left_out', 'source_left_out'])"
all='d["bounds"]["step"]["all"][3]'
less 'a margin widens the bounds' "$(value "$all" "$work/one/manifest.json")" \
    "$(value "$all" "$work/two/manifest.json")"
is 'the manifest names the table and its checksum' \
    "$(value 'd["data"]["files"][0]["name"], d["data"]["files"][0]["sha256"]' "$work/one/manifest.json")" \
    "('runs.csv', '$(sha256sum "$work/runs.csv" | cut -d' ' -f1)')"
is 'the manifest states that libxgboost has confirmed the trees that were written' \
    "$(value '(lambda c: (c["sha256"], c["rows"] > 2100, 0 <= c["difference"] < 1e-5, c["xgboost"] == d["training"]["xgboost"]))(d["residuals"]["step"]["confirmed"])' "$work/one/manifest.json")" \
    "('$(sha256sum "$work/one/step.trees" | cut -d' ' -f1)', True, True, True)"
train --bounds-only --out "$work/three" "$work/runs.csv"
is 'a bundle of bounds has no trees' \
    "$(cd "$work/three" && echo *) $(value 'd["residuals"], [v["corrected"] for v in d["validated"] if v["corrected"]]' "$work/three/manifest.json")" \
    "domain.points manifest.json ({}, [])"
is 'predict reads a bundle of bounds' "$(predict three 'c["fits"]' "$short")" True
is 'the manifest has no date and no path' \
    "$(grep -c -e 20[0-9][0-9]- -e "$work" "$work/one/manifest.json")" 0

# --- what is refused -------------------------------------------------------------------

new=$work/new
refuses 'train needs --out' 2 '--out=DIR or --install is missing' train "$work/runs.csv"
refuses 'train needs a table' 2 'missing' train --out "$new"
refuses 'one fold is refused' 2 \
    '--folds: 1 out of range' train --folds 1 --out "$new" "$work/runs.csv"
refuses 'a missing table of families is refused' 4 'nothing.csv: .*No such' \
    train --families "$work/nothing.csv" --out "$new" "$work/runs.csv"
refuses 'a seed that is no number is refused' 2 \
    "--seed: 'x'" train --seed x --out "$new" "$work/runs.csv"
refuses 'too few runs are refused' 4 \
    '12 runs with a step time, at least 20' train --out "$new" "$work/few.csv"
refuses 'a missing table is refused' 4 \
    'nothing.csv: .*No such' train --out "$new" "$work/nothing.csv"
printf 'gpu,step_ms\na,1\n' > "$work/bad.csv"
refuses 'a table without a column spec is refused' 4 \
    'bad.csv: .*columns spec and gpu' train --out "$new" "$work/bad.csv"
head -c 100000 /dev/urandom > "$work/bad.csv"
refuses 'a table of noise is refused' 4 'bad.csv: ' train --out "$new" "$work/bad.csv"
printf 'spec,gpu,step_ms,censored\n"model=resnet50,batch=8",t4_16gb,5,maybe\n' > "$work/bad.csv"
refuses 'for a table without usable rows the message has the error of the first one' 4 \
    "line 2: censored: 'maybe', expected 0 or 1" \
    train --out "$new" "$work/bad.csv"
printf 'spec,gpu,step_ms\n"model=resnet50,batch=8",t4_16gb,%s\n' nan -1 1e99 inf > "$work/bad.csv"
refuses 'invalid times are refused' 4 \
    '0 runs with a step time' train --out "$new" "$work/bad.csv"
is 'refused tables leave no bundle' "$(find "$work" -maxdepth 1 -name 'new*')" ''
mkdir "$work/mine" && echo dear > "$work/mine/thesis.tex"
refuses 'a directory that is no bundle is not replaced' 4 'mine: exists and is not a bundle' \
    train --out "$work/mine" "$work/runs.csv"
is 'a directory that is no bundle keeps its file' "$(cat "$work/mine/thesis.tex")" dear
touch "$work/two/site.json"
refuses 'a bundle that a site has tuned is not replaced' 4 'two: has a site.json' \
    train --out "$work/two" "$work/runs.csv"
mkdir "$work/place" && cp -R "$work/one" "$work/place/model"
cp "$work/place/model/manifest.json" "$work/before.json"
gives 'a bundle is installed' 0 'Written to' train --install="$work/place/model" --seed 3 "$work/runs.csv"
ok 'the bundle that was replaced is kept' \
    cmp "$work/before.json" "$work/place/model.1/manifest.json"
gives 'the previous bundle is installed again' 0 'installed again' train --rollback="$work/place/model"
ok 'a rollback exchanges the two' cmp "$work/before.json" "$work/place/model/manifest.json"
is 'nothing else is left' "$(ls "$work/place" | xargs)" 'model model.1'
rm -rf "$work/place/model.1"
refuses 'without a previous bundle there is no rollback' 4 'model.1: No such file' \
    train --rollback="$work/place/model"
refuses 'a directory that cannot be made is named' 4 'runs.csv/x: Not a directory' \
    train --out "$work/runs.csv/x" "$work/few.csv"
gives 'the features are explained' 0 '^step_time +ln s +wall time' train --features

# --- what is learned -------------------------------------------------------------------

if [[ ${DNNEST_SANITIZERS-} = yes ]]; then
    skip 'predictions of the bundles' 'they are the same in the build without sanitizers'
    done_testing
    exit
fi
metric() { value "d['metrics']['run_left_out']['$1']['median']" "$work/one/manifest.json"; }
less 'runs like those trained on are predicted better' "$(metric learned)" "$(metric white_box)"
train --out "$work/known" "$work/known.csv"
train --out "$work/killed" "$work/killed.csv"
train --out "$work/dropped" "$work/dropped.csv"
bound() { predict "$1" 'c["step_ms"]["p95"]' \
    model=resnet50,batch=64,precision=fp16,optimizer=sgd,input=synthetic,framework=pytorch; }
less 'runs that were killed move the bounds up' "$(bound dropped)" "$(bound killed)"
median() { predict "$1" 'c["step_ms"]["p50"]' \
    model=resnet50,batch=64,precision=fp16,optimizer=sgd,input=synthetic,framework=pytorch; }
less 'runs that were killed raise no prediction above the time of the full run' \
    "$(median killed)" \
    "1.2 * $(median known)"
is 'runs that were killed are counted' \
    "$(value 'd["data"]["censored"] > 40' "$work/killed/manifest.json")" True

train --out "$work/without" "$work/no-bert.csv"
bert=model=bert_base,seq_len=384,batch=16,precision=fp16,optimizer=adamw
less 'a family that was not trained on is less sure' "$(predict without 'c["confidence"]' $bert)" \
    "$(predict one 'c["confidence"]' $bert)"
wide='c["step_ms"]["p95"] / c["step_ms"]["p50"]'
less 'a family that was not trained on has a wider bound' \
    "$(predict without "$wide" model=resnet50,batch=64,precision=fp16,optimizer=momentum)" \
    "$(predict without "$wide" $bert)"

printf 'column,pattern,family\nsource,*,all\n' > "$work/families.csv"
train --families "$work/families.csv" --out "$work/three" "$work/runs.csv"
is 'where all sources are one family, no family of sources is left out' \
    "$(value '"code_left_out" in d["metrics"], "source_left_out" in d["metrics"]' "$work/three/manifest.json")" \
    '(False, True)'
is 'the manifest lists the stacks of every kind of network' \
    "$(value 'any((v["kind"], v["stack"]) == ("conv", "pytorch") for v in d["validated"])' "$work/one/manifest.json")" \
    True
train --max-rows 200 --out "$work/three" "$work/more.csv"
is 'a sample of a long table is used' \
    "$(value 'd["data"]["rows"] > 800, d["data"]["used"]' "$work/three/manifest.json")" '(True, 200)'
done_testing
