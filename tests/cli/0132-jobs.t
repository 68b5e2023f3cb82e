#!/bin/bash
# 0132-jobs.t - dnnest-dev jobs: the import of past jobs
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# --- import --------------------------------------------------------------------------------

store=$work/jobs.db
rows() {
    python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print(*row)' "$store" "$1"
}
# import FILE: $out, $err, $code
import() {
    code=0
    "$DNNEST-dev" jobs --db="$store" "$@" >"$work/out" 2>"$work/err" || code=$?
    out=$(<"$work/out") err=$(<"$work/err")
}

cat >"$work/trace.csv" <<'END'
job,submit_s,start_s,end_s,state,limit_s,mood,gpu
12,1700000000,1700000100,1700003700,COMPLETED,UNLIMITED,good,a100
12_3,1700000000,1700000100,1700000160,FAILED,3600,bad,
13,yesterday,1700000100,1700000160,FAILED,3600,bad,
14,1700000000,1700000100,,FAILED,3600,bad,
,1700000000,1700000100,1700000160,FAILED,3600,bad,
15,1700000000,1700000100,1700000050,FAILED,3600,bad,
12_4,1700000000,1700000100,1700003700,TIMEOUT,3600,bad,"a
b"
END
import "$work/trace.csv"
is 'what can be read is imported' "$code $out" '4 3 jobs imported'
like 'a column that is unknown is told once' "$err" 'columns that are ignored: mood'
like 'a cell that cannot be read is told with its line' "$err" 'trace\.csv: line 4: submit_s'
like 'an end that is missing is an error with its line' "$err" 'trace\.csv: line 5: has no end_s'
like 'a row without a job is one' "$err" 'trace\.csv: line 6: has neither job nor raw_id'
like 'times in the wrong order are one' "$err" 'trace\.csv: line 7: end_s is before start_s'
is 'nothing more is said' "$(grep -c . <<<"$err")" 5
is 'the rows are stored' "$(rows 'SELECT job, limit_s, outcome, source FROM jobs ORDER BY job')" \
    $'12 -2 completed trace\n12_3 3600 failed_early trace\n12_4 3600 limit_user trace'
is 'tasks of an array are different jobs' "$(rows 'SELECT count(DISTINCT raw_id) FROM jobs')" 3
import "$work/trace.csv"
is 'importing again changes nothing' "$(rows 'SELECT count(*), max(id) FROM jobs')" '3 3'
import - < <(printf 'raw_id,submit_s,start_s,end_s\n1,2,3,4\n')
is 'stdin is a table, too' "$code $out" '0 1 jobs imported'
printf 'raw_id,submit_s,start_s,end_s\n1,2,3,4\n5,6,"7\n' >"$work/cut.csv"
import "$work/cut.csv"
like 'a table that is cut is an error' "$code $err" '^4 .*cut\.csv: line 3'
import "$work/absent.csv"
like 'a table that is missing is an error' "$code $err" '^4 .*absent\.csv'
json 'JSON tells what was imported' "d['imported'] == 3 and d['refused'] == 4" \
    jobs --db="$store" "$work/trace.csv"
"$top/tests/report/make_jobs.py" 2000 >"$work/many.csv"
import "$work/many.csv"
is 'a table of many jobs is imported' "$code $out$err" '0 2000 jobs imported'
done_testing
