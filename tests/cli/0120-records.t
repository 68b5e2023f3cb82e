#!/bin/bash
# 0120-records.t - the store of measured runs: imported, shown, learned from
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

export XDG_DATA_HOME=$work/data
DNNEST=$(realpath "$DNNEST")
cd "$work" || exit 1

spec='model=resnet50,batch=64,precision=fp16,optimizer=momentum,input=synthetic'
printf '{"dnnest": 1, "spec": {"batch": 4, "precision": "fp32"}, "graph": {"name": "net", "ops": [
  {"op": "linear", "in": [[64]], "out": [[8]], "params": 520}]}}' > net.json
cat > rows.csv <<CSV
spec,gpu,step_ms,peak_mem_gb,group,source,time,job
"$spec",v100_sxm2_32gb,90,8,cnn,ours,2026-01-02T03:04:05Z,12_3
"$spec",t4_16gb,280.5,,cnn,"the ""others""",,
@net.json,t4_16gb,0.125,,net,ours,,
CSV

# --- importing -----------------------------------------------------------------------------

refuses 'records names a store that does not exist' 4 'records.db: No such file' records
gives 'a table is taken in' 0 '^3 records added$' records --import rows.csv
ok 'a table is imported into the default store' test -f data/dnnest/records.db
json 'a store can be taken into another one' 'd["imported"] == 3 and d["store"] == "two.db"' \
    records --import data/dnnest/records.db two.db
dn records --csv > one.csv
dn records --csv two.db > two.csv
is 'an imported store equals the other one' "$(cmp one.csv two.csv 2>&1)" ''
dn records --import one.csv three.db > /dev/null
dn records --csv three.db > three.csv
is 'a printed table that is imported is printed the same again' \
    "$(cmp one.csv three.csv 2>&1)" ''
is 'a table from stdin is imported' \
    "$(dn records --import - three.db < rows.csv)" '3 records added'
is 'a table from stdin is added to the store' "$(dn records --csv three.db | wc -l)" 7
printf 'spec,gpu,colour,note\n%s,t4_16gb,red,1\n' '"model=alexnet,batch=1"' > more.csv
try records --import more.csv four.db
is 'columns that are not kept are named' "$err" "dnnest-dev: warning: the column 'colour' is not stored
dnnest-dev: warning: the column 'note' is not stored"
printf 'spec,gpu,step_ms\na,b,1\na,b,fast\n' > bad.csv
refuses 'a wrong cell is named with its line' 4 'bad.csv: line 3: step_ms: ' \
    records --import bad.csv two.db
is 'of a table with a wrong cell nothing is imported' \
    "$(dn records --csv two.db | cmp - one.csv 2>&1)" ''
printf 'spec,gpu\n@none.json,b\n' > gone.csv
refuses 'a missing sidecar is named' 4 'gone.csv: line 2: spec: .*none.json: No such file' \
    records --import gone.csv two.db
refuses 'a file that is no table is refused' 4 \
    'net.json: line 1: ' records --import net.json two.db
refuses 'a store is not imported into itself' 2 'two.db is the store itself' \
    records --import two.db ./two.db

# --- showing -------------------------------------------------------------------------------

gives 'the records are listed' 0 \
    'RECORD +TIME .*1 +2026-01-02T03:04:05Z +cnn +v100_sxm2_32gb +90.0 +8.0 GiB +ours +12_3' records
like 'unknown values are shown as -' \
    "$out" '2 +- +cnn +t4_16gb +280.5 +- +the \?others\? +-|2 +- +cnn +t4_16gb +280.5 +- +the "others" +-'
gives '-n 1 lists the newest record alone' 0 $'^[^\n]*\n *3 [^\n]*net[^\n]*$' records -n 1
gives '--app lists the records of an application' 0 $'^[^\n]*\n *3 [^\n]*$' records --app net
gives '--gpu and --source list the records of a device and a source' 0 \
    $'^[^\n]*\n *3 [^\n]*$' records --gpu t4_16gb --source ours
try records --app none
is 'a message states that no record matches' \
    "$code:$out:$err" "0::dnnest-dev: $work/data/dnnest/records.db: no record"
json 'unknown values are null in JSON' \
    'len(d["records"]) == 3 and d["records"][0]["peak_mem_gb"] == 8
     and d["records"][1]["peak_mem_gb"] is None and d["records"][1]["record"] == 2
     and d["records"][2]["sidecar"]["graph"]["ops"][0]["op"] == "linear"' records
json 'no records are an empty list in JSON' 'd["records"] == []' records --app none
# Newer columns follow these.
like 'the table has the columns of evaluate, and more' "$(head -1 one.csv)" \
    ^spec,gpu,step_ms,peak_mem_gb,power_w,cores_per_gpu,group,source,time,host,steps,sigma,confidence,start_s,loader_share,loader_workers,cores_busy,gpu_utilisation,torch,gpus,oom,censored,elapsed_s,state,cluster,job,user,sidecar'(,|$)'

# --- learning ------------------------------------------------------------------------------

numbers() { dn evaluate --json "$1" | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["predicted"], d["step_time"]["mape"], d["gpu_memory"]["n"])'; }
is 'evaluate gives the same for a store and the table that it is from' "$(numbers two.db)" "$(numbers rows.csv)"
rm net.json
is 'a printed table contains its sidecars' "$(numbers one.csv)" "$(numbers two.db)"
make_bundle small
train() { dn train --base small --out "$1" "${@:2}" --json 2> err | grep -v '"bundle"'; }
is 'train --site learns the same from both' "$(train s1 --site two.db)" "$(train s2 --site one.csv)"
json 'train --site learns from several files at a time' 'd["rows"] == 6 and d["used"] == 6' \
    train --base small --out s3 --site two.db --site one.csv
dn records --import <(printf 'spec,gpu,step_ms\n"model=alexnet,batch=1",abacus,1\n') odd.db >/dev/null
json 'evaluate numbers what it leaves out by the record' \
    '[(x["line"], x["reason"][:4]) for x in d["skipped"]] == [(1, "gpu:")]' evaluate odd.db
try train --base small --out s4 --site two.db --site odd.db
like 'a row that train --site leaves out is named by its record' \
    "$err" '^dnnest-dev: record 1 is left out: gpu: .abacus'
python3 - <<'PYTHON'
with open("many.csv", "w") as file:
    file.write("spec,gpu,step_ms,group,source\n")
    for i in range(60):
        file.write('"model=resnet%d,batch=%d,precision=fp32",t4_16gb,%d,g%d,s%d\n'
                   % ((18, 34, 50)[i % 3], 8 << i % 4, 100 + i, i % 3, i % 2))
PYTHON
dn records --import many.csv many.db > /dev/null
rows() { dn train --folds 2 --out "$1" --json "${@:2}" 2> err | python3 -c '
import json, sys
d = json.load(sys.stdin)
print([x["rows"] for x in d["data"]["files"]] if "files" in d["data"] else d["data"]["rows"],
      d["metrics"]["run_left_out"]["rows"])'; }
is 'train learns from a store as from the table' "$(rows b1 many.db | sed 's/many.db//')" \
    "$(rows b2 many.csv | sed 's/many.csv//')"
ok 'the trees of a store are those of its table' cmp b1/step.trees b2/step.trees

# --- hostile -------------------------------------------------------------------------------

chmod g+w two.db
refuses 'a store that others may write is refused' 4 'two.db: writable by group or others' records two.db
chmod g-w two.db
ln -s two.db link.db
refuses 'a link to a store is refused' 4 'link.db: is a symbolic link' records link.db
refuses 'a table is not a store' 4 'rows.csv: is not a store of records' records rows.csv
head -c 9000 two.db > cut.db
refuses 'a store that is cut short is refused' 4 'cut.db: damaged' evaluate cut.db
python3 - <<'PYTHON'
import sqlite3
for name, sql in (("view.db", "ALTER TABLE records RENAME TO r; CREATE VIEW records AS SELECT * FROM r"),
                  ("new.db", "PRAGMA user_version = 900")):
    open(name, "wb").write(open("two.db", "rb").read())
    db = sqlite3.connect(name)
    db.executescript(sql)
    db.close()
PYTHON
refuses 'a store with a view is refused' 4 'view.db: has tables that a store of records does not have' \
    train --out b3 view.db
refuses 'a store of a later version is refused' 4 'new.db: is of version 900, expected [0-9]+$' \
    records new.db
for use in 'evaluate cut.db' 'train --out b4 cut.db' 'train --base small --out s5 --site cut.db'; do
    # shellcheck disable=SC2086  # words
    refuses "$use has one message" 4 'cut.db: damaged' $use
done

# --- usage ---------------------------------------------------------------------------------

refuses '--csv and --json do not go together' 2 'csv and --json' records --csv --json two.db
refuses '--import does not go with options of showing' 2 \
    'import cannot be combined with the options that show' \
    records --import rows.csv --csv two.db
refuses '--import takes one table at a time' 2 \
    'import: more than one' records --import a --import b two.db
refuses '--last is a number' 2 '^dnnest(-dev)?: --last: ' records --last 0 two.db
refuses 'records takes one store at a time' 2 '' records two.db two.db
is 'without a home directory the store must be named' \
    "$(env -u HOME -u XDG_DATA_HOME "$DNNEST-dev" records 2>&1)" \
    'dnnest-dev: neither XDG_DATA_HOME nor HOME is an absolute path, expected the name of a file'
done_testing
