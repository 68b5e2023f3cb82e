#!/bin/bash
# 0080-evaluate.t - predictions against measured runs, and every row with its prediction
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec='"model=resnet50,batch=64,precision=fp16,optimizer=momentum,input=synthetic"'
cat > "$work/runs.csv" <<CSV
spec,gpu,step_ms,peak_mem_gb,power_w,group,source
$spec,v100_sxm2_32gb,90,8,250,cnn,ours
$spec,t4_16gb,280,8,,cnn,theirs
$spec,t4_16gb,,,68,cnn,theirs
"model=bert_base,batch=16,precision=fp32",v100_sxm2_32gb,250,,,"say ""bert""",ours
@job.json,t4_16gb,100,,,cnn,ours
"model=resnet50,bacth=4",t4_16gb,100,,,cnn,ours
$spec,abacus,100,,,cnn,ours
CSV
runs=$work/runs.csv

json 'the members of the contract are there' \
    'list(d) == ["rows", "predicted", "n_skipped", "skipped", "step_time", "gpu_memory",
      "power", "white_box", "by"]' evaluate "$runs"
json 'rows are predicted or skipped' \
    'd["rows"] == 7 and d["predicted"] == 4 and d["n_skipped"] == 3' evaluate "$runs"
json 'skipped rows have their line and their reason' \
    '[(x["line"], x["reason"].split(":")[0]) for x in d["skipped"]]
     == [(6, "spec"), (7, "column 16"), (8, "gpu")]' evaluate "$runs"
json 'a metric counts the rows that have it' \
    'd["step_time"]["n"] == 3 and d["gpu_memory"]["n"] == 2 and d["power"]["n"] == 2' \
    evaluate "$runs"
json 'the step time has numbers everywhere' \
    'all(number(d["step_time"][k]) for k in ("mape", "median_ape", "bias", "coverage_p95",
      "tightness_p95", "under", "macro_median_ape"))' evaluate "$runs"
json 'shares are between 0 and 1' \
    'all(0 <= d[m][k] <= 1 for m, k in (("step_time", "coverage_p95"), ("step_time", "under"),
      ("gpu_memory", "coverage_p95"), ("gpu_memory", "false_fit")))' evaluate "$runs"
json 'the power has a bound' \
    'number(d["power"]["mape"]) and number(d["power"]["coverage_p95"])
     and d["power"]["tightness_p95"] > 0' evaluate "$runs"
json 'without a residual the white box is the prediction' \
    'd["white_box"]["mape"] == d["step_time"]["mape"]' evaluate "$runs"
json 'rows are grouped in five ways' \
    'list(d["by"]) == ["gpu", "model", "group", "source", "precision"]' evaluate "$runs"
json 'groups are named by the table' \
    'list(d["by"]["gpu"]) == ["v100_sxm2_32gb", "t4_16gb"]
     and list(d["by"]["model"]) == ["resnet50", "bert_base"]
     and list(d["by"]["group"]) == ["cnn", "say \"bert\""]
     and list(d["by"]["source"]) == ["ours", "theirs"]
     and list(d["by"]["precision"]) == ["fp16", "fp32"]' evaluate "$runs"
json 'every group has n and the fields of the step time' \
    'all(g["n"] > 0 and all(number(g[k]) for k in ("mape", "median_ape", "bias",
      "coverage_p95", "tightness_p95")) for k in d["by"].values() for g in k.values())' \
    evaluate "$runs"
json 'groups add up to the whole' \
    'all(sum(g["n"] for g in k.values()) == d["step_time"]["n"]
      and abs(sum(g["n"] * g["mape"] for g in k.values()) / d["step_time"]["n"]
      - d["step_time"]["mape"]) < 1e-6 for k in d["by"].values())' evaluate "$runs"
json '--by restricts the groups' 'list(d["by"]) == ["gpu", "source"]' \
    evaluate --by source --by=GPU "$runs"

predicted() {
    dn predict --json --gpu "$1" "${spec//\"/}" | value '"%r %r %r %r" % (lambda c: (c["step_ms"]["p50"],
        c["step_ms"]["p95"], c["gpu_mem_bytes"]["p50"] / 2**30, c["power_w"]))(d["candidates"][0])'
}
read -r step step95 mem power < <(predicted t4_16gb)
printf 'spec,gpu,step_ms,peak_mem_gb,power_w\n%s,t4_16gb,%s,%s,%s\n' "$spec" 200 5 50 \
    > "$work/one.csv"
json 'the prediction is that of predict' \
    "all(abs(a - b) < 1e-6 for a, b in (
      (d['step_time']['mape'], abs($step / 200 - 1)),
      (d['step_time']['tightness_p95'], $step95 / 200),
      (d['gpu_memory']['mape'], abs($mem / 5 - 1)),
      (d['power']['mape'], abs($power / 50 - 1))))" evaluate "$work/one.csv"

printf 'spec,gpu,peak_mem_gb\n%s,t4_16gb,8\n' "$spec" > "$work/memory.csv"
json 'a metric that the table does not have is null' \
    'd["step_time"] is None and d["power"] is None and d["white_box"]["mape"] is None' \
    evaluate "$work/memory.csv"
json 'without step times the groups have figures of memory' \
    'd["by"]["gpu"]["t4_16gb"]["n"] == 1 and number(d["by"]["gpu"]["t4_16gb"]["mape"])' \
    evaluate "$work/memory.csv"
printf 'spec,gpu,peak_mem_gb,oom\n%s,t4_16gb,,1\n%s,t4_16gb,6,0\n' "$spec" "$spec" \
    > "$work/oom.csv"
json 'a run out of memory that was predicted to fit is a false fit' \
    'd["gpu_memory"]["false_fit"] == 0.5 and d["gpu_memory"]["n_oom"] == 1
     and d["gpu_memory"]["n_judged"] == 2 and d["gpu_memory"]["n"] == 1' \
    evaluate "$work/oom.csv"
json 'the bound with its head room moves fewer runs than the median' \
    'd["gpu_memory"]["false_move"] <= d["gpu_memory"]["false_fit"]
     and d["gpu_memory"]["false_stay"] >= d["gpu_memory"]["false_no_fit"]' evaluate "$runs"
json 'the errors of too low and too high predictions add up to the mean error' \
    'abs(d["step_time"]["under"] * (d["step_time"]["under_mape"] or 0)
         + (1 - d["step_time"]["under"]) * (d["step_time"]["over_mape"] or 0)
         - d["step_time"]["mape"]) < 1e-3
     and d["step_time"]["coverage_p99"] >= d["step_time"]["coverage_p95"]
     and d["step_time"]["tightness_p99"] > d["step_time"]["tightness_p95"]' evaluate "$runs"

is 'the table may come from stdin' "$(dn evaluate - < "$runs")" \
    "$(dn evaluate "$runs" | sed "s|$work/job.json|job.json|")"
gives 'the text states how many rows were predicted, and why the others were not' 0 \
    '^7 rows, 4 predicted, 3 skipped.*line 7: column 16: unknown key .bacth.' evaluate "$runs"
gives 'the text has a line per metric' 0 'step_time +3 .*gpu_memory +2 .*power +2 ' \
    evaluate "$runs"
gives 'the text lists the models, the worst first' 0 \
    'step_time by model, the worst first:.*(resnet50 +2 |bert_base +1 )' evaluate "$runs"
gives '--by chooses another grouping' 0 'by source, the worst first:.*(ours|theirs) ' \
    evaluate --by source "$runs"
is '--by leaves the models out' "$(dn evaluate --by source "$runs" | grep -c 'by model')" 0
printf 'spec,gpu,step_ms,group\n%s,t4_16gb,1,\x1b[31m\n' "$spec" > "$work/escape.csv"
is 'control characters of the table do not reach the terminal' \
    "$(dn evaluate --by group "$work/escape.csv" | grep -c $'\x1b')" 0

refuses 'a missing argument is named' 2 'FILE is missing' evaluate
refuses 'an unknown key to group by is named' 2 "--by: 'colour', expected gpu, model" \
    evaluate --by colour "$runs"
refuses '--by=all is refused' 2 "--by: 'all'" evaluate --by all "$runs"
refuses 'a model bundle that is missing is named' 4 '/x: cannot be opened' \
    evaluate --model x "$runs"
refuses 'a missing file is named' 4 'nowhere.csv: No such file' evaluate "$work/nowhere.csv"
refuses 'a folder is no table' 4 'Is a directory' evaluate "$work"
# tests/unit/learn.c has more of what is no table.
printf 'spec,gpu\n"x,y\n' > "$work/bad.csv"
refuses 'a quote that is not closed is named with its line' 4 'bad.csv: line 2: a quote is not closed' \
    evaluate "$work/bad.csv"

# --- a sidecar in the table

python3 - "$work/sidecars.csv" <<'PYTHON'
import csv, json, sys
sidecar = json.dumps({"dnnest": 1, "spec": {"batch": 4}, "graph": {"ops": [
    {"op": "linear", "in": [[4096]], "out": [[4096]], "params": 4096 * 4097}]}})
rows = csv.writer(open(sys.argv[1], "w"))
rows.writerow(["spec", "gpu", "step_ms", "sidecar"])
rows.writerows([[spec, "t4_16gb", step, sidecar] for spec, step in
                (("", 1), ("batch=8192", 1), ("batch=8192", "fast"), ("batch=8192", 0))])
PYTHON
json 'a sidecar in a cell describes the run, and wrong cells are named' \
    'd["predicted"] == 2 and [x["reason"].split(",")[0] for x in d["skipped"]]
     == ["step_ms: \x27fast\x27 is not a number", "step_ms: 0 out of range 1e-09..1e+15"]' \
    evaluate "$work/sidecars.csv" --predictions "$work/sidecars-predicted.csv"
ok 'keys of spec override those of the sidecar' python3 -c '
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
sys.exit(not float(rows[1]["predicted_step_ms"]) > 2 * float(rows[0]["predicted_step_ms"]))' \
    "$work/sidecars-predicted.csv"

printf 'spec,gpu\n%s,abacus\n' "$spec" > "$work/none.csv"
try evaluate --json "$work/none.csv"
is 'when no row is predicted the exit code is 1' "$code" 1
like 'when no row is predicted the skipped rows are reported' "$out" '"predicted": *0.*abacus'
printf 'spec,gpu\n' > "$work/head.csv"
try evaluate --json "$work/head.csv"
is 'for a table without rows the exit code is 1' "$code" 1
like 'for a table without rows the number of rows is 0' "$out" '"rows": *0,'

# --- every row with its prediction -------------------------------------------------------

cat > "$work/runs.csv" <<CSV
spec,gpu,step_ms,notes
$spec,t4_16gb,280,"say ""hello"", or
not"
$spec,abacus,280," blank "
$spec,t4_16gb
CSV
runs=$work/runs.csv
mkdir "$work/place"
judged=$work/place/judged.csv

# table EXPRESSION: over the rows 'd' of the file
table() {
    python3 - "$judged" "$1" <<'PYTHON'
import csv
import sys

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    d = list(csv.DictReader(file, strict=True))
if not eval("(" + sys.argv[2] + ")"):
    print("not true:", sys.argv[2], d)
    sys.exit(1)
PYTHON
}

plain=$(dn evaluate "$runs")
is 'the report is the same with predictions' "$(dn evaluate --predictions "$judged" "$runs")" "$plain"
ok 'the file has every row' table 'len(d) == 3'
ok 'columns of the table come before the predicted ones' table \
    'list(d[0]) == ["spec", "gpu", "step_ms", "notes", "predicted_step_ms",
     "predicted_step_ms_p95", "predicted_mem_gb", "predicted_power_w", "confidence",
     "skipped_reason"]'
ok 'cells of the table are unchanged' table \
    'd[0]["notes"] == "say \"hello\", or\nnot" and d[1]["notes"] == " blank "
     and d[0]["spec"].startswith("model=resnet50,batch=64,") and d[0]["step_ms"] == "280"
     and d[2]["step_ms"] == ""'
ok 'a predicted row has numbers and no reason' table \
    'all(float(d[i][k]) > 0 for i in (0, 2) for k in ("predicted_step_ms",
     "predicted_step_ms_p95", "predicted_mem_gb", "predicted_power_w", "confidence"))
     and d[0]["skipped_reason"] == ""'
ok 'the bound is above the median' table \
    'float(d[0]["predicted_step_ms_p95"]) > float(d[0]["predicted_step_ms"])'
ok 'a skipped row has its reason and no numbers' table \
    '"abacus" in d[1]["skipped_reason"] and d[1]["predicted_step_ms"] == ""
     and d[1]["confidence"] == ""'
cp "$judged" "$work/first.csv"
dn evaluate --predictions "$judged" "$judged" > "$work/again"
is 'a table may be evaluated again and replaced' "$(cat "$work/again")" \
    "$(dn evaluate "$runs")"
ok 'evaluating a table again replaces the predicted columns' cmp "$judged" "$work/first.csv"
is 'no file remains besides the predictions' "$(ls "$work/place")" judged.csv
is 'the umask sets the mode of the predictions' "$(stat -c %a "$judged")" 644

before=$(cksum < "$judged")
printf 'spec,gpu\n"x\n' > "$work/bad.csv"
refuses 'a file that is no table writes none' 4 'a quote is not closed' \
    evaluate --predictions "$judged" "$work/bad.csv"
is 'a file that is no table leaves the old predictions' "$(cksum < "$judged")" "$before"
is 'a file that is no table leaves no other file' "$(ls "$work/place")" judged.csv

ln -s judged.csv "$work/place/link.csv"
dn evaluate --predictions "$work/place/link.csv" "$runs" > /dev/null
ok 'a symbolic link stays one' test -L "$work/place/link.csv"
ok 'the file that a symbolic link names is written' table 'len(d) == 3'

refuses 'a missing folder is named' 4 'nowhere/x.csv: No such file' \
    evaluate --predictions "$work/nowhere/x.csv" "$runs"
refuses 'a folder is not replaced' 4 'place: not a regular file' \
    evaluate --predictions "$work/place" "$runs"
refuses 'a device is not replaced' 4 '/dev/null: not a regular file' \
    evaluate --predictions /dev/null "$runs"
if [[ $(id -u) != 0 ]]; then
    chmod a-w "$work/place"
    refuses 'a folder that cannot be written is named' 4 'judged.csv: Permission denied' \
        evaluate --predictions "$judged" "$runs"
    chmod u+w "$work/place"
else
    skip 'a folder that cannot be written is named' 'root may write everywhere'
fi

# A limit on the size of files is a full disk that needs no mount.
for ((i = 0; i < 200; i++)); do printf '%s,t4_16gb,280,\n' "$spec"; done >> "$runs"
before=$(cksum < "$judged")
code=0
(
    ulimit -f 8
    trap '' XFSZ
    dn evaluate --predictions "$judged" "$runs" > /dev/null 2> "$work/err"
) || code=$?
is 'a full disk gives exit code 5' "$code" 5
like 'a full disk gives a message' \
    "$(cat "$work/err")" '^dnnest-dev: .*judged.csv: File too large'
is 'a full disk leaves the old predictions' "$(cksum < "$judged")" "$before"
is 'a full disk leaves no other file' "$(cd "$work/place" && echo *)" 'judged.csv link.csv'
done_testing
