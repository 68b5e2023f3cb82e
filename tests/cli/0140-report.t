#!/bin/bash
# 0140-report.t - 'dnnest report' on stores of made-up jobs, an empty one and hostile names
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

jobs=$work/jobs.db
python3 "$top/tests/report/make_jobs.py" 2000 >"$work/jobs.csv"
fill "$jobs" <"$work/jobs.csv" || diag 'the store is not made'
head -n 1 "$work/jobs.csv" | fill "$work/empty.db"
printf '%s\n' cluster,raw_id,submit_s,start_s,end_s,job,user,state \
    c,1,1767571200,1767571300,1767574900,1,5,COMPLETED | fill "$work/empty-handed.db"

# --- the sums -----------------------------------------------------------------------------

# The same definitions, from the table: the amounts of all jobs.
cat >"$work/check.py" <<'PYTHON'
import csv
import json
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
rows = list(csv.DictReader(open(sys.argv[2], encoding="utf-8")))
sums = {}


def add(name, value):
    sums[name] = sums.get(name, 0) + value


for row in rows:
    ran = int(row["end_s"]) - int(row["start_s"])
    limit = int(row["limit_s"])
    asked = int(row["asked_limit_s"] or limit)
    gpus = int(row["gpus"])
    changed = row["mode"] == "enforce" and row["verdict"] == "change"
    add("jobs", 1)
    add("changed", changed)
    add("extensions", int(row["extensions"]))
    for name, width in (("hours", 1), ("gpu_hours", gpus), ("cpu_hours", int(row["cpus"]))):
        add(name + "_requested", asked * width / 3600)
        add(name + "_granted", limit * width / 3600)
        add(name + "_used", ran * width / 3600)
        add(name + "_saved", changed * (asked - limit) * width / 3600)
for name, value in sums.items():
    if abs(report["all"][name] - value) > 1e-6 * (1 + abs(value)):
        print(name, report["all"][name], "is not", value)
        sys.exit(1)
if abs(sum(g["gpu_hours_saved"] for g in report["rows"]) - sums["gpu_hours_saved"]) > 1e-3:
    print("the groups have another sum")
    sys.exit(1)
PYTHON
try report --json --db="$jobs" --by=user
cp "$work/out" "$work/report.json"
problem=$(python3 "$work/check.py" "$work/report.json" "$work/jobs.csv" 2>&1) || problem=${problem:-failed}
verdict 'the sums are those of another program, and the groups add up to them'

json 'JSON has predictions, waits, effects, weeks, reasons and waste' \
    'd["predictions"]["with_history"]["within_p95"] > 0.8 and len(d["effects"]) == 5
     and d["effects"][0]["low"] < d["effects"][0]["effect"] < d["effects"][0]["high"]
     and 26 <= len(d["weeks"]) <= 27 and sum(w["jobs"] for w in d["weeks"]) == 2000
     and sum(k["jobs"] for k in d["kept"]) + d["all"]["changed"] == 2000
     and d["predictions"]["all"]["jobs"] > d["predictions"]["all"]["known"] > 1000
     and d["waste"]["time"] and d["waste"]["time"][0]["user"].startswith("user ")
     and d["clusters"] == "alpha" and d["modes"] == "enforce" and "Mode=enforce" in d["rules"]
     and d["rows"] == []' report --db="$jobs"
documented 'dnnest(1) names every member of the JSON' report --db="$jobs" --by=app
for by in user account partition model app type; do
    json "sums by $by are of all jobs" \
        "d['grouped_by'] == '$by' and sum(g['jobs'] for g in d['rows']) == 2000" \
        report --db="$jobs" "--by=$by"
done
json 'a period takes its jobs only' 'd["all"]["jobs"] < 1500 and d["first_end"] >= 1769904000
    and d["last_end"] < 1777593600' report --db="$jobs" --since=@1769904000 --until=@1777593600

# --- forms --------------------------------------------------------------------------------

gives 'text begins with who was harmed' 0 \
    $'^alpha, mode enforce, .*\nkilled at a limit of dnnest +0 of 1,264 +0 *\n.*AGAINST CONTROL.*GPU hours ' \
    report --db="$jobs" --by=app
problem=$(awk 'length > 100' "$work/out")
verdict 'text fits 100 columns'
gives 'CSV has a row per group' 0 $'^type,jobs,ran.*\nh100,|^type,jobs,ran.*\na100,' \
    report --db="$jobs" --csv --by=type
problem=$(awk -F, 'NR == 1 {n = NF} NF != n {print}' "$work/out")
verdict 'of as many columns as its head'
try report --db="$jobs" "--html=$work/page.html"
problem=$(python3 - "$work/page.html" 2>&1 <<'PYTHON'
import re
import sys
from html.parser import HTMLParser

page = open(sys.argv[1], encoding="utf-8").read()
open_tags = []


class Checker(HTMLParser):
    def handle_starttag(self, tag, attrs):
        if tag in ("script", "img", "link", "iframe"):
            print("has", tag)
        if tag != "meta":
            open_tags.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not open_tags or open_tags.pop() != tag:
            print("not closed:", tag, self.getpos())


Checker().feed(page)
if open_tags or "prefers-color-scheme:dark" not in page or page.count("<svg") != 4:
    print("incomplete", open_tags, page.count("<svg"))
if re.search(r"https?://|url\(|@import|nan|inf\b", page):
    print("refers to", re.search(r"https?://|url\(|@import|nan|inf\b", page))
PYTHON
) || problem=${problem:-failed}
verdict 'the page is whole, of one file, without scripts'
"$DNNEST" report "${trusted[@]}" --db "$jobs" 2>"$work/err" | head -n 1 >/dev/null
is 'a reader that leaves early gets no more than a line on stderr' \
    "$(grep -cv 'write error\|Broken pipe' "$work/err")" 0

# --- who was harmed -----------------------------------------------------------------------

python3 "$top/tests/report/make_jobs.py" 2000 1 harm | fill "$work/harm.db"
python3 "$top/tests/report/make_jobs.py" 12 | fill "$work/few.db"
# seen NAME ROW...: NAME.conf names a StateDir with a snapshot of now
seen() {
    mkdir "$work/$1"
    write_snapshot "$work/$1/cluster.snapshot" "$(date +%s)" "${@:2}"
    cat "$work/site.conf" - <<<"StateDir=$work/$1" >"$work/$1.conf"
}
seen harm 'Group Type=a100 Gpus=8 Cpus=128 Memory=1024000 Partitions=gpu Nodes=9 Up=9 Idle=0' \
    'Partition Name=gpu Default=yes Up=yes'
hurt=(--conf="$work/harm.conf" --db="$work/harm.db")
json 'harmed jobs are named, each with what happened' '[(j["job"], j["kinds"]) for j in d["harm"]["jobs"]] == [
        ("9001", ["limit"]), ("9002", ["memory"]), ("9003", ["slower"]), ("9005", ["waited"]),
        ("9006", ["slower", "waited"]), ("9007", ["failed"]), ("9008", ["failed"])]
    and d["harm"]["harmed"] == 7 and d["harm"]["kinds"]["slower"]["looked"] == 4
    and "user" not in d["harm"]["jobs"][0]
    and len(d["harm"]["perhaps"]) == 19 and d["harm"]["kinds"]["failed"]["unknown"] == 22' \
    report "${hurt[@]}"
json 'GPU hours that others got are those of jobs that would not have fitted' \
    'd["freed"]["gpu_hours"] == 16 and d["freed"]["made_by_jobs"] == 1
     and [m["job"] for m in d["freed"]["most"]] == ["8301", "8302"]' report "${hurt[@]}"
gives 'text names the jobs' 0 \
    $'killed at a limit of dnnest +1 of 1,273 .*\n9002 +hurt +out of memory with 20 GiB.*others got .*: 16\n' \
    report "${hurt[@]}"
gives 'what was not looked for is not 0' 0 \
    $'of dnnest +not known +- +no job has a record.*others got .*: not known: it takes a snapshot' \
    report --db="$work/empty-handed.db"
json 'JSON does not say 0 of it, either' 'd["harm"]["kinds"]["limit"]["harmed"] is None
    and d["harm"]["kinds"]["limit"]["because"] and d["freed"]["gpu_hours"] is None' \
    report --db="$work/empty-handed.db"
documented 'dnnest(1) names what is said of harmed jobs' report --names "${hurt[@]}"

try report "${hurt[@]}" "--html=$work/harm.html"
try report --db="$jobs" "--html=$work/unharmed.html"
try report --db="$work/few.db" "--html=$work/few.html"
like 'the first answer of the page is who was harmed' "$(tr '\n' ' ' <"$work/harm.html")" \
    'class="cards"> <div class="card bad"><h2>Did anybody get hurt\?</h2><b><a href="#harmed">7 jobs<'
like 'the title of the page has cluster, mode and period' "$(<"$work/harm.html")" \
    '<title>dnnest on alpha, mode enforce, 2026-01-05 to 2026-07-0[56]</title>'
like 'a bar leads to the changed jobs of its week, those with most GPU hours first' \
    "$(tr '\n' ' ' <"$work/harm.html")" \
    'href="#changed-2026-03-02"><rect.*<h3 id="changed-2026-03-02">Changed, week from 2026-03-02: 20 of [0-9]*, .*<li>[0-9]*: limit [0-9]'
for page in harm unharmed few; do whole_page "$work/$page.html"; done
if command -v chromium >/dev/null; then
    sed 's/>-100</>-100 of a hundred</; s/#harmed"/#absent"/' "$work/harm.html" >"$work/bad.html"
    like 'a label that is cut and a link without aim are seen' \
        "$(python3 "$top/tests/report/look.py" "$work/bad.html" "$work/pictures")" \
        'no aim: #absent.*phone: a label is outside of its chart: -100 of a hundred'
fi

# --- GPUs that are idle -------------------------------------------------------------------

{
    echo 'cluster,raw_id,submit_s,start_s,end_s,job,user,user_name,state,app,gpus,gpus_used'
    for i in 1 2 3; do
        echo "c,$i,1767571200,1767571300,$((1767574900 + i)),$i,5,ann,COMPLETED,<b>,4,1"
    done
    echo 'c,9,1767571200,1767571300,1767574900,9,5,ann,COMPLETED,once,4,1'
} | fill "$work/idle.db"
gives 'applications that leave GPUs idle are listed' 0 \
    $'fewer GPUs than their jobs had: 1\n.*<b> +3 +3 +4 +1 +9.0[0-9] +ann' \
    report --names --db="$work/idle.db"
json 'JSON lists applications that leave GPUs idle' 'len(d["idle_gpus"]) == 1 and d["idle_gpus"][0]["app"] == "<b>"
    and d["idle_gpus"][0]["user"] == "ann" and d["idle_gpus"][0]["last_job"] == "3"
    and d["idle_gpus"][0]["gpus_used"] == 1 and 9 < d["idle_gpus"][0]["gpu_hours"] < 9.1' \
    report --names --db="$work/idle.db"
documented 'dnnest(1) names the members of such an application' report --names --db="$work/idle.db"
try report --db="$work/idle.db" "--html=$work/idle.html"
like 'the page lists applications that leave GPUs idle' "$(cat "$work/idle.html")" 'their jobs had: 1.*&lt;b&gt;'

# --- GPUs that have no CPUs or memory ----------------------------------------------------

seen state 'Group Type=a100 Gpus=4 Cpus=80 Memory=512000 Partitions=gpu Nodes=1 Up=1 Idle=1 NoCpus=2' \
    'Partition Name=gpu Default=yes Up=yes MaxTime=604800'
{
    echo 'cluster,raw_id,submit_s,start_s,end_s,job,user,state,gpu,gpus,cpus,mem_gb,asked_cpus,asked_mem_gb,mode,verdict,limit_s'
    echo 'c,1,1767571200,1767571300,1767574900,1,5,COMPLETED,a100,2,20,125,80,500,enforce,change,7200'
    echo 'c,2,1767571200,1767571300,1767574900,2,5,COMPLETED,a100,1,80,500,,,,,7200'
} | fill "$work/stranded.db"
seen=(--conf="$work/state.conf" --db="$work/stranded.db")
gives 'text has the GPU hours that were stranded, as requested and as granted' 0 \
    $'GPU hours stranded by CPUs +5 +3 +3 +2 +40.0 %\nGPU hours stranded by memory +5 +3 +3 +2 +40.0 %\n' \
    report "${seen[@]}"
like 'text has the GPUs that are stranded now' "$out" 'without enough idle CPUs: 2; .* memory: 0'
json 'JSON has the GPU hours that were stranded' 'd["stranded_by_cpus"] == 2
    and d["all"]["stranded_by_cpus_requested"] == 5 and d["all"]["stranded_by_cpus_saved"] == 2
    and d["all"]["stranded_by_memory_requested"] == 5 and d["all"]["stranded_by_memory_granted"] == 3' \
    report "${seen[@]}"

# --- reasons ------------------------------------------------------------------------------

{
    echo 'cluster,raw_id,submit_s,start_s,end_s,job,user,state,limit_s,why,mode,verdict,gpus'
    for i in 0 1 2; do
        echo "c,$i,1767571200,1767571300,1767575000,$i,5,COMPLETED,36000,no history of this application yet ($i of 3 runs on v100),enforce,abstain,1"
    done
} | fill "$work/reasons.db"
gives 'jobs without enough runs are in one row, without the counts of each' 0 \
    $'BECAUSE\n +3 +no history of this application yet\n' report --db="$work/reasons.db"

{
    echo 'cluster,raw_id,submit_s,start_s,end_s,job,user,account,state,limit_s,gpus'
    for name in '=cmd()' '+1' '-2.5' '-x' '@SUM(A1)' $'a\e[31mb' ' x' 'a""b'; do
        n=$((${n:-9} + 1))
        echo "c,$n,1767571200,1767571300,1767575000,$n,5,\"$name\",COMPLETED,36000,1"
    done
} | fill "$work/hostile.db"
try report --db="$work/hostile.db" --csv --by=account
is 'no cell of a table is computed or drawn, and numbers stay numbers' \
    "$(python3 -c '
import csv, sys
print(" ".join(sorted(row[0] for row in list(csv.reader(sys.stdin))[1:])))' <"$work/out")" \
    " x '-x '=cmd() '@SUM(A1) +1 -2.5 a\"b a?[31mb"

# --- the user's own jobs ------------------------------------------------------------------

{
    echo 'cluster,raw_id,submit_s,start_s,end_s,job,user,user_name,name,state,app,cpus,gpus,limit_s,asked_limit_s,cpu_s'
    for i in 1 2 3; do
        start=$((1767571200 + i * 90000))
        echo "c,$i,$start,$start,$((start + 3600 + i * 60)),$i,$EUID,me,run,COMPLETED,mynet,16,2,36000,36000,7200"
    done
    echo 'c,9,1767571200,1767571300,1767575000,9,12345,other,run,COMPLETED,theirs,16,2,36000,36000,7200'
} | fill "$work/mine.db"
gives '--me says what to write next time' 0 \
    '#SBATCH --time=01:20:00  # your last 3 runs took 01:01:00 to 01:03:00' \
    report --me --db="$work/mine.db"
like '--me says how many CPUs' "$(<"$work/out")" '#SBATCH --cpus-per-gpu=2  # at most 1.97 of 16'
json '--me has no other jobs' 'd["all"]["jobs"] == 3 and d["applications"][0]["time_s"] == 4800' \
    report --me --db="$work/mine.db"
documented 'dnnest(1) names the members of --me' report --me --db="$work/mine.db"

# --- empty, hostile, wrong ----------------------------------------------------------------

gives 'an empty store is no error' 0 'No finished job' report --db="$work/empty.db" --by=user
json 'an empty store is no error as JSON' 'd["all"]["jobs"] == 0 and d["weeks"] == []' report --db="$work/empty.db" --me
gives 'an empty store is no error as a page' 0 '' report --db="$work/empty.db" "--html=$work/empty.html"

evil='<script>alert(1)</script>"&'
{
    echo 'cluster,raw_id,submit_s,start_s,end_s,job,user,user_name,account,name,state,app,limit_s,why,mode,verdict,gpus'
    printf 'c,1,1767571200,1767571300,1767575000,1,5,"%s","%s","%s",COMPLETED,"%s",36000,"%s",enforce,abstain,1\n' \
        "${evil//\"/\"\"}"{,,,,}
    printf 'c,2,1767571200,1767571300,1767575000,2,6,"\033[31mred\r","x","y",COMPLETED,z,36000,,,,1\n'
} | fill "$work/evil.db"
try report --db="$work/evil.db" --by=user --names "--html=$work/evil.html"
is 'names are text in the page' "$(grep -c '<script' "$work/evil.html")" 0
like 'the page shows hostile names' "$(<"$work/evil.html")" '&lt;script&gt;alert'
try report --db="$work/evil.db" --by=user --names
is 'a terminal gets no control characters' "$(tr -d '\n -~' <"$work/out" | wc -c)" 0
json 'JSON has them as they are' "any('<script>' in g['name'] for g in d['rows'])" \
    report --db="$work/evil.db" --by=user --names
declare -A forms=([json]=--json [csv]=--csv [html]="--html=$work/hidden.html")
for form in json csv html; do
    try report --db="$work/evil.db" --by=user "${forms[$form]}"
    is "without --names no user is named: $form" \
        "$(cat "$work/out" "$work/hidden.html" 2>/dev/null | grep -c '31mred\|?\[31m')" 0
done

refuses 'a store that does not exist' 4 'no store of finished jobs; .dnnestd collect' \
    report --db="$work/none.db"
printf 'no store' >"$work/other.db"
refuses 'a file that is no store' 4 'other.db' report --db="$work/other.db"
refuses 'a time that is none' 2 '--since: .yesterday. is not a time' report --since=yesterday
refuses 'a day that no month has' 2 '--since: .2026-02-30. is not a time' report --since=2026-02-30
refuses 'a period that is empty' 2 'not after --since' report --since=2026-02-01 --until=2026-01-01
refuses 'an unknown group' 2 '--by' report --by=moon
refuses 'two forms' 2 '--csv and --json' report --csv --json
refuses 'an argument' 2 'argument' report x
if ((EUID == 0)); then
    chmod 600 "$jobs"
    chmod 755 "$work"
    out=$(setpriv --reuid 65534 --regid 65534 --clear-groups "$DNNEST" report "${trusted[@]}" \
        --db "$jobs" 2>&1)
    like 'permissions of the store decide' "$out" 'permission denied; the store has the jobs'
fi
done_testing
