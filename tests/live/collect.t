#!/bin/bash
# collect.t - finished jobs of a real slurmdbd on MariaDB in the store of dnnestd
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs of every kind end; what is stored is compared with sacct by a program of its own.
# Some thousand more jobs are put into the database, and a collection of them is killed at
# fifty instants. Many end within an hour; slurmdbd stands still, ends and comes back.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin collect job_submit_dnnest
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi
if [[ ! -x $build/dnnestd ]]; then skip_all 'dnnestd is not built'; fi

readonly GUARD_S=5
readonly KILLS=${KILLS:-50} MANY=${MANY:-6000} BURST=${BURST:-80000}
state=$dir/state
store=$state/records.db

# --- helpers -----------------------------------------------------------------------------

submit() {
    cluster_as_user sbatch --parsable -o /dev/null -t 5 "$@" 2>/dev/null | tail -1
}
collect() {
    "$build/dnnestd" collect --once "--conf=$dir/etc/dnnest.conf" "$@"
}
# ask SQL [STORE]: the first row of the store
ask() {
    python3 -c 'import sqlite3, sys
row = sqlite3.connect(sys.argv[1], timeout=30).execute(sys.argv[2]).fetchone()
print(*row if row else [])' "${2:-$store}" "$1"
}
# The time of the guard's last pass, twice a second, until it is killed.
watch_guard() {
    while sleep 0.5; do sed -n 's/^Guard .*Time=\([0-9]*\).*/\1/p' "$state/guard"; done
}
# column JOB NAME: of a stored job
column() {
    ask "SELECT $2 FROM jobs WHERE job = '$1' ORDER BY start_s LIMIT 1"
}
state_is() {
    [[ $(sacct -n -X -D -P -j "$1" -o State) = *"$2"* ]]
}

# --- the cluster, and jobs of every kind -------------------------------------------------

mkdir -p "$dir"/{bin,run} "$state"
live_hardware
live_conf Mode=enforce TimeLimit=limit "StateDir=$state" CollectInterval=10 WatchInterval=2 \
    GuardInterval=$GUARD_S
live_start --plugin-dir "$plugin_dir" \
    --conf JobAcctGatherType=jobacct_gather/linux --conf JobAcctGatherFrequency=1
export SLURM_CONF
printf '#!/bin/sh\nsleep 3\nexit "${1:-0}"\n' >"$dir/home/job.sh"
printf '#!/bin/sh\nexec sleep 600\n' >"$dir/home/long.sh"
printf '#!/bin/sh\nkill -9 $$\n' >"$dir/home/killed.sh"
cat >"$dir/home/busy.sh" <<'END'
#!/bin/sh
exec python3 -c 'import time
x = bytearray(120 << 20)
end = time.process_time() + 2
while time.process_time() < end: pass
time.sleep(2)'
END

over=$(submit -t 1 -J over long.sh)
completed=$(submit --gres=gpu:a100:2 -c 4 -J 'a name, with "quotes"' busy.sh)
failed=$(submit job.sh 3)
signalled=$(submit killed.sh)
array=$(submit --array=1-3 job.sh)
changed=$(submit -w a1 --gres=gpu:a100:4 -c 80 -t 1-0 --comment="dnnest:$LIVE_KEYS" job.sh)
wide=$(submit -N 2 -w 'v[1-2]' --gres=gpu:v100:1 job.sh)
held=$(submit -H job.sh)
held_array=$(submit -H --array=5-9 job.sh)
cancelled=$(submit long.sh)
requeued=$(submit --requeue long.sh)
lost=$(submit --no-requeue -w a2 long.sh)
het=$(cluster_as_user sbatch --parsable -o /dev/null -t 5 -n 1 : -n 2 job.sh 2>/dev/null | tail -1)
for id in "$cancelled" "$requeued" "$lost"; do cluster_wait_job "$id" RUNNING 60; done
scancel "$held" "$held_array" "$cancelled"
scontrol requeue "$requeued"
scontrol update nodename=a2 state=down reason=test
# Its second start has a row only if the first has ended.
cluster_until 180 state_is "$requeued" REQUEUED || true
cluster_wait_job "$requeued" 'PENDING|RUNNING' 180
scancel "$requeued"

# --- many jobs, killed -------------------------------------------------------------------

# make_many N ID SUBMITTED: as copies of one, so that all columns are real. SUBMITTED is in SQL,
# with seq from 1 to N.
make_many() {
    _cluster_sql "USE slurm;
        CREATE TEMPORARY TABLE one AS SELECT * FROM private_job_table
            WHERE id_job = $completed LIMIT 1;
        ALTER TABLE one DROP COLUMN job_db_inx;
        CREATE TEMPORARY TABLE many AS SELECT one.*, seq FROM one, seq_1_to_$1;
        UPDATE many SET id_job = $2 + seq,
            time_submit = $3,
            time_eligible = time_submit, time_start = time_submit + 10,
            time_end = time_submit + 10 + MOD(seq * 7919, 3000);
        ALTER TABLE many DROP COLUMN seq;
        ALTER TABLE many ADD COLUMN job_db_inx BIGINT DEFAULT 0 FIRST;
        INSERT INTO private_job_table SELECT * FROM many" 2>&1
}
cluster_until 180 state_is "$completed" COMPLETED
# They end over a year.
made=$(make_many "$MANY" 1000000 \
    "UNIX_TIMESTAMP() - 300 * 86400 + seq * FLOOR(299 * 86400 / $MANY)") || diag "$made"

now_ms() { date +%s%3N; }
export XDG_RUNTIME_DIR=$dir/run
whole=$(now_ms)
collect "--db=$dir/whole.db" >/dev/null 2>"$dir/whole.err" || diag "$(<"$dir/whole.err")"
whole=$(($(now_ms) - whole))
n_many="SELECT count(*) FROM jobs WHERE raw_id > 1000000"
is 'many jobs are collected' "$(ask "$n_many" "$dir/whole.db")" "$MANY"

# Each run goes on where the one before was killed; a new store, when all were read.
killed=0 lost_rows='' fresh=1 before=0
for ((i = 0; i < KILLS; i++)); do
    if ((fresh)); then rm -f "$dir"/killed.db*; before=0; fi
    collect "--db=$dir/killed.db" >/dev/null 2>&1 &
    pid=$!
    sleep "$(printf '%d.%03d' 0 $((RANDOM % (whole < 900 ? whole + 50 : 950))))"
    if kill -KILL "$pid" 2>/dev/null; then killed=$((killed + 1)); fi
    fresh=0
    if wait "$pid" 2>/dev/null; then fresh=1; fi
    if [[ ! -s $dir/killed.db ]]; then continue; fi
    after=$(ask "$n_many" "$dir/killed.db" 2>/dev/null || echo 0)
    if ((${after:-0} < before)); then lost_rows+="$before->$after "; fi
    before=${after:-0}
done
collect "--db=$dir/killed.db" >/dev/null 2>&1
ok "at least half of $KILLS collections were killed ($killed) while they ran ($whole ms)" \
    test "$killed" -ge $((KILLS / 2))
is 'no kill loses what was stored' "$lost_rows" ''
is 'after them every job is stored' "$(ask "$n_many" "$dir/killed.db")" "$MANY"
is 'no job is stored twice' "$(ask 'SELECT count(*) FROM (SELECT DISTINCT raw_id, submit_s, start_s
    FROM jobs)' "$dir/killed.db")" "$(ask 'SELECT count(*) FROM jobs' "$dir/killed.db")"

# --- every kind, against sacct -----------------------------------------------------------

_cluster_sql 'DELETE FROM slurm.private_job_table WHERE id_job > 1000000'

# --- so many at once that no answer fits -------------------------------------------------

# In the loop, and with a slurmdbd that stands still: the snapshot goes on, and the guard.
made=$(make_many "$BURST" 3000000 'UNIX_TIMESTAMP() - 7200 + FLOOR(seq * 600 / '"$BURST)") || diag "$made"
rm -f "$store"*
_cluster_spawn guard "$dnnest_guard" -D "--conf=$dir/etc/dnnest.conf"
cluster_until 60 test -s "$state/guard"
watch_guard >"$dir/passes" &
watcher=$!
"$build/dnnestd" "--conf=$dir/etc/dnnest.conf" >"$dir/whole.out" 2>&1 &
whole_pid=$!
slurmdbd_pid=$(<"$dir/run/slurmdbd.pid")
is_new() { [[ $dir/state/cluster.snapshot -nt $dir/mark ]]; }
n_burst='SELECT count(*) FROM jobs WHERE raw_id > 3000000'
has_burst() { [[ $(ask "$n_burst" 2>/dev/null || echo 0) = "$BURST" ]]; }
ok "$BURST jobs that ended within an hour are stored" cluster_until $((420 + BURST / 100)) has_burst
peak=$(awk '/VmHWM/ { print int($2 / 1024) }' "/proc/$whole_pid/status")
ok "dnnestd had less than 128 MB meanwhile ($peak)" test "$peak" -lt 128
diag "$(grep 'collect: ' "$dir/whole.out" || echo 'no process was killed')"
kill -STOP "$slurmdbd_pid"
sleep 12 # one collection is under way
touch "$dir/mark"
ok 'dnnestd goes on where slurmdbd stands still' cluster_until 60 is_new
touch "$dir/mark"
ok 'dnnestd goes on and on where slurmdbd stands still' cluster_until 60 is_new
kill -CONT "$slurmdbd_pid"
kill "$watcher"
# By looks, since a machine that is overloaded looks less often, too.
looks=$(uniq -c "$dir/passes" | awk '$1 > most { most = $1 } END { print (NR > 9 ? most : NR " passes") }')
ok "meanwhile $(uniq "$dir/passes" | wc -l) passes of the guard came on time (one is seen $looks times)" \
    test "$looks" -le $((4 * GUARD_S))
_cluster_end dnnest-guard
kill -TERM "$whole_pid" || true
wait "$whole_pid" || true
is 'no process of it is left' "$(pgrep -f "dnnest.*collect --once.*$dir/etc" || true)" ''
rm -f "$store"*
_cluster_sql 'DELETE FROM slurm.private_job_table WHERE id_job > 1000000'
cluster_until 180 state_is "$over" TIMEOUT
cluster_until 180 all_ended
sleep 2
collect >"$dir/collect.out" 2>&1 || diag "$(<"$dir/collect.out")"
compared=$("$top/tests/live/compare_collected" "$store")
n=$(ask 'SELECT count(*) FROM jobs')
is 'all that is stored is what sacct shows' "$compared" "$n stored, $n in sacct"
is 'an application that worked' "$(column "$completed" 'state, outcome, gpu, gpus, cpus')" \
    'COMPLETED completed a100 2 4'
ok 'the CPU time of a job is known' test "$(ask "SELECT cpu_s BETWEEN 1.9 AND 6 FROM jobs
    WHERE job = '$completed'")" = 1
ok 'the memory of a job is known' test "$(ask "SELECT host_mem_gb BETWEEN 0.1 AND 0.3 FROM jobs
    WHERE job = '$completed'")" = 1
is 'one that failed at once' "$(column "$failed" 'outcome, exit_code')" 'failed_early 3'
is 'one that a signal ended' "$(column "$signalled" 'outcome, exit_code')" 'failed_early 137'
is 'one that was killed at its limit' "$(column "$over" 'outcome, limit_s')" 'limit_user 60'
is 'one that was cancelled' "$(column "$cancelled" outcome)" 'cancelled'
is 'one that never ran starts when it ends' \
    "$(column "$held" 'state, start_s = end_s')" 'CANCELLED 1'
is 'a task of an array' "$(column "${array}_2" 'state, job')" "COMPLETED ${array}_2"
is 'tasks that never ran' "$(column "${held_array}_[5-9]" state)" 'CANCELLED'
is 'the second part of a heterogeneous job' "$(column "$het+1" state)" 'COMPLETED'
is 'one that was requeued has a row for each start' \
    "$(ask "SELECT count(*), max(outcome = 'requeued') FROM jobs WHERE job = '$requeued'")" \
    '2 1'
is 'one whose node failed' "$(column "$lost" outcome)" 'node_failure'
is 'one on two nodes' "$(column "$wide" 'nodes, host, gpus')" '2 v1 2'
like 'one that dnnest changed' \
    "$(column "$changed" 'mode, verdict, asked_gpu, asked_limit_s, asked_cpus, set_gpu, gpu')" \
    '^enforce change a100 86400 80 None a100$'
ok 'with its prediction' test "$(ask "SELECT likely_s > 0 AND bound_s > likely_s AND
    set_limit_s = limit_s AND spec LIKE 'model=bert_base%' AND bundle <> ''
    FROM jobs WHERE job = '$changed'")" = 1
is 'a second collection changes nothing' \
    "$(sum=$(ask 'SELECT count(*), sum(end_s), max(id) FROM jobs'); collect >/dev/null 2>&1
    [[ $sum = "$(ask 'SELECT count(*), sum(end_s), max(id) FROM jobs')" ]] && echo same)" same
like 'JSON tells what was done' "$("$build/dnnestd" collect --once --json --since=2001-01-01 \
    "--conf=$dir/etc/dnnest.conf" 2>/dev/null)" \
    '^\{"source": "slurmdbd", "cluster": "private", "jobs": [1-9]'

# --- looking back ------------------------------------------------------------------------

# As any user who may read accounting: jobs with GPUs that ended until now, and their hours.
# Some thousand more run over the ends of the days in which sacct is asked, one in thirty for days.
made=$(make_many 3000 4000000 'UNIX_TIMESTAMP() - 20 * 86400 + seq * 570') || diag "$made"
_cluster_sql 'UPDATE slurm.private_job_table SET time_end = time_end + 3 * 86400 WHERE id_job > 4000000 AND MOD(id_job, 30) = 0'
until=$(date +%s)
back=$(cluster_as_user "$build/dnnest" lookback --json --since=now-30days "--until=@$until" \
    "--conf=$dir/etc/dnnest.conf" 2>"$dir/said") || diag "$(<"$dir/said")"
counted=$(SLURM_TIME_FORMAT=%s sacct -anXPD -S now-30days -o Submit,Start,End,AllocTRES | awk -F '|' -v until="$until" '
    $3 > $2 && $3 < until && $1 <= $2 && match ($4, /gres\/gpu=[0-9]+/) {
        n++; seconds += substr ($4, RSTART + 9, RLENGTH - 9) * ($3 - $2)
    } END { printf "%d jobs, %d GPU seconds", n, seconds }')
is 'dnnest lookback has the sums of sacct, as any user' \
    "$(jq -r '"\(.jobs) jobs, \(.hours.gpu * 3600 | round) GPU seconds"' <<<"$back")" "$counted"
ok 'those that run over midnight count once' test "$(jq .jobs <<<"$back")" -gt 2800
like 'dnnest lookback simulates the nodes that sinfo has' "$back" '"owners":[1-9]'
_cluster_sql 'DELETE FROM slurm.private_job_table WHERE id_job > 4000000'

# --- slurmdbd ends and comes back --------------------------------------------------------

"$build/dnnestd" collect "--conf=$dir/etc/dnnest.conf" >"$dir/loop.out" 2>&1 &
loop=$!
# In the middle of a request: the connection is open.
cluster_until 180 grep -q 'configuration loaded' "$dir/loop.out" || true
pkill -KILL -F "$dir/run/slurmdbd.pid"
rc=0
said=$(collect 2>&1 >/dev/null) || rc=$?
is 'without slurmdbd a collection says so' "$rc ${said%%:*}" '1 dnnestd'
like 'the error names slurmdbd' "$said" 'collect: slurmdbd: .*refused|collect: slurmdbd: .*[Uu]nable'
new=$(submit job.sh)
cluster_until 180 grep -q 'collect: slurmdbd' "$dir/loop.out" || true
ok 'dnnestd goes on without it' kill -0 "$loop"
if ! kill -0 "$loop" 2>/dev/null; then diag "$(<"$dir/loop.out")"; fi
_cluster_spawn slurmdbd slurmdbd -D
_cluster_ready sacctmgr -n list cluster
is_stored() { [[ $(column "$new" state) = COMPLETED ]]; }
ok 'jobs are collected when slurmdbd is back' cluster_until 180 is_stored
kill -TERM "$loop" || true
wait "$loop" || true
done_testing
