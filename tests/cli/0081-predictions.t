#!/bin/bash
# 0081-predictions.t - every row with its prediction
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

spec='"model=resnet50,batch=64,precision=fp16,optimizer=momentum,input=synthetic"'
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
