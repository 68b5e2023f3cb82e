#!/bin/bash
# 0133-learn.t - what finished jobs teach: built, judged, installed, taken back
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
state=$work/state
mkdir "$state"
printf 'StateDir=%s\n' "$state" >>site.conf
readonly BOB=1001 ALICE=1002

# add_runs USER APP SECONDS NUMBER [LIKELY P95]: completed jobs into the store, each of
# which ends a minute after the one before.
add_runs() {
    python3 - "$state/records.db" "$@" <<'PYTHON'
import sqlite3
import sys

path, user, app, ran_s, number = sys.argv[1:6]
likely, p95 = (sys.argv[6:] + [None, None])[:2]
store = sqlite3.connect(path)
first = store.execute("SELECT count (*) FROM jobs").fetchone()[0]
for i in range(first, first + int(number)):
    end = 1700000000 + 60 * i
    start = end - round(float(ran_s) * (1 + 0.02 * (i % 5 - 2)))
    store.execute(
        "INSERT INTO jobs (cluster, raw_id, submit_s, start_s, end_s, user, app, state,"
        " outcome, gpu, gpus, work, work_unit, likely_s, p95_s) VALUES"
        " ('c', ?, ?, ?, ?, ?, ?, 'COMPLETED', 'completed', 'a100', 1, 1, 'run', ?, ?)",
        (i, start, start, end, int(user), app, likely and float(likely),
         p95 and float(p95)))
store.commit()
PYTHON
}

# row USER APP: the line of the history
row() {
    local key
    key=$(printf 'user:%s:%s' "$1" "$2" | sha256sum | cut -c1-16)
    grep -i "$key" "$state/history"
}

events() {
    python3 -c 'import json, sys; print(*(json.loads(line)["event"] for line in sys.stdin), sep=",")' \
        <"$state/learn.log"
}

refuses 'a store that does not exist is named' 4 'records\.db: No such file' learn
refuses 'an argument is a usage error' 2 'unexpected argument' learn now
refuses '--rollback cannot be combined with other options' 2 'cannot be combined' learn --rollback --dry-run
refuses 'nothing can be taken back yet' 4 'history\.1: No such file' learn --rollback

# a store without jobs
echo raw_id,submit_s,start_s,end_s >none.csv
dn jobs none.csv --db="$state/records.db" >/dev/null
gives 'a store without jobs teaches nothing' 0 '0 applications, 0 rows' learn --dry-run
add_runs $BOB train 1000 8
gives 'a dry run says what would be installed' 0 '1 applications, 1 rows: would be' learn --dry-run
ok 'a dry run installs nothing' test ! -e "$state/history" -a ! -e "$state/learn.log"
gives '--out writes a file' 0 'would be installed' learn --out="$work/other"
ok 'what --out wrote is a history' grep -q '^End' "$work/other"
ok '--out installs nothing' test ! -e "$state/history" -a ! -e "$state/learn.log"
gives 'the first history is installed' 0 '1 applications, 1 rows: installed' learn
is 'the log has it' "$(events)" installed
bob=$(row $BOB train)
like 'the user has a row' "$bob" '.'

# --- another user's jobs ---------------------------------------------------------------------

cp "$state/history" first
add_runs $ALICE train 1 500
json 'the runs of another user are learned' \
    'd["result"] == "installed" and d["applications"] == 2 and d["rows"] == 2' learn
documented 'dnnest(1) has all of its JSON' learn --dry-run
is 'another user does not move the row of the first' "$(row $BOB train)" "$bob"
is 'the history before is kept' "$(cmp first "$state/history.1" 2>&1)" ''

# --- taken back ------------------------------------------------------------------------------

gives '--rollback takes a history back' 0 'in force again' learn --rollback
is 'the history before is in force' "$(cmp first "$state/history" 2>&1)" ''
gives 'dnnestd installs none after that' 1 'after a rollback' learn --paced
is 'the history before stays in force' "$(cmp first "$state/history" 2>&1)" ''
gives 'a human installs the next one' 0 'rows: installed' learn
gives 'dnnestd goes on after a human' 0 'rows: installed' learn --paced
is 'the log has all of it' "$(events)" 'installed,installed,rolled back,installed,installed'

# --- the gate --------------------------------------------------------------------------------

# What is in force knows each run; a history cannot, of runs that differ so.
for _ in {1..10}; do
    add_runs $BOB odd 100 1 100 150
    add_runs $BOB odd 1000 1 1000 1500
done
gives 'rows that are not worse are installed' 0 'rows judged, 1 of them worse.*error .* -> ' learn
is 'a row that is worse is not' "$(row $BOB odd)" ''
like 'the row of another application is' "$(row $BOB train)" "${bob%% Sigma=*}"
python3 -c 'import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("DELETE FROM jobs WHERE app <> ?", ("odd",))
store.commit()' "$state/records.db"
cp "$state/history" before
gives 'a history of worse rows alone is refused' 1 'not installed.*1 of them worse' learn
is 'what was in force stays' "$(cmp before "$state/history" 2>&1)" ''
like 'the log says so' "$(events)" ',refused$'

# --- root and SlurmUser ----------------------------------------------------------------------

# as_other COMMAND...: as the user to whom the directory belongs
as_other() { setpriv --reuid=daemon --regid=daemon --clear-groups "$@"; }
if [[ $EUID = 0 ]] && id daemon >/dev/null 2>&1; then
    chmod 755 "$work"
    mkdir "$work/theirs"
    chown daemon "$work/theirs"
    dn jobs none.csv --db="$work/theirs/records.db" >/dev/null
    is "root's store in a directory of SlurmUser belongs to SlurmUser" \
        "$(stat -c %U "$work/theirs/records.db")" daemon
    sed "s|^StateDir=.*|StateDir=$work/theirs|" site.conf >theirs.conf
    chmod go+r theirs.conf
    ok 'root learns from it' dn learn --conf "$work/theirs.conf"
    is 'the log of root belongs to SlurmUser' "$(stat -c %U "$work/theirs/learn.log")" daemon
    ok 'SlurmUser learns from it' as_other "$DNNEST" learn "${trusted[@]}" --conf "$work/theirs.conf"
fi

# --- many applications -----------------------------------------------------------------------

# add_apps STORE NUMBER: two runs of each, which have described themselves.
add_apps() {
    python3 - "$@" <<'PYTHON'
import json
import sqlite3
import sys


def rows(apps):
    for i in range(2 * apps):
        app, end = i % apps, 1700000000 + 30 * i
        capture = {
            "dnnest_capture": 1, "time": end - 9,
            "software": {"framework": "pytorch", "version": "2.4.0",
                         "arch": ["sm_70", "sm_80", "sm_90", "compute_90"]},
            "run": {"world": 2, "parallel": "ddp", "steps": 5000, "workers": 4},
            "sidecar": {"dnnest": 1, "spec": {"batch": 64 + app % 7, "precision": "bf16"},
                        "graph": {"ops": [{"op": "linear", "in": [[64, 99 + app]],
                                           "out": [[64, 4096]], "params": 4096 * app + 9,
                                           "repeat": 12}]}}}
        yield (i, str(i), end - 3600, end - 3600, end, 1000 + app % 500, f"fp:{app:016x}",
               f"fp:{app + apps:016x}/64", json.dumps(capture, separators=(",", ":")))


store = sqlite3.connect(sys.argv[1])
store.executemany(
    "INSERT INTO jobs (cluster, raw_id, job, submit_s, start_s, end_s, user, app, kin, captured,"
    " state, outcome, gpu, gpus, work, work_unit) VALUES ('c', ?, ?, ?, ?, ?, ?, ?, ?, ?,"
    " 'COMPLETED', 'completed', 'a100', 2, 1, 'run')", rows(int(sys.argv[2])))
store.commit()
PYTHON
}

# learn_many NUMBER: sets MiB of memory at most, and CPU seconds, of the second time, where a
# history is in force.
learn_many() {
    local dir=$work/many$1
    mkdir -p "$dir"
    dn jobs none.csv --db="$dir/records.db" >/dev/null
    add_apps "$dir/records.db" "$1"
    sed "s|^StateDir=.*|StateDir=$dir|" site.conf >many.conf
    dn learn --conf many.conf >/dev/null || diag 'nothing is learned'
    read -r mib seconds < <(python3 -c 'import os, sys
pid = os.fork()
if pid == 0:
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
status, use = os.wait4(pid, 0)[1:]
print(use.ru_maxrss // 1024 if status == 0 else 99999, round(use.ru_utime + use.ru_stime, 2))' \
        "$DNNEST" learn "${trusted[@]}" --conf many.conf)
    known=$(grep -c ^Captured "$dir/history")
    rm -r "$dir"
}

if grep -q __asan_init "$DNNEST"; then
    skip 'learning of 100,000 applications takes at most 64 MB' 'built with sanitizers'
    skip 'ten times the applications take at most 20 times the CPU time' 'built with sanitizers'
    skip 'the most useful descriptions are kept' 'built with sanitizers'
else
    learn_many 10000
    few=$seconds
    learn_many 100000
    diag "100,000 applications: $mib MiB, $seconds s of CPU; 10,000: $few s"
    ok 'learning of 100,000 applications takes at most 64 MB' test "$mib" -le 61
    ok 'ten times the applications take at most 20 times the CPU time' \
        python3 -c "import sys; sys.exit($seconds > 20 * max($few, 0.1))"
    is 'the most useful descriptions are kept' "$known" 20000
fi
done_testing
