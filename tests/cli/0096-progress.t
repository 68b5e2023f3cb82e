#!/bin/bash
# 0096-progress.t - a job says how far it is: the command, the filter, and the Python module
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# DNNEST_PYTHON names another Python, such as one with transformers or Lightning; without
# them their callbacks are tested with stand-ins.

. "$(dirname "$0")/lib.sh"

PYTHON=${DNNEST_PYTHON:-python3}
mkdir -m 1777 "$work/progress"
unset SLURM_PROCID RANK
export DNNEST_PROGRESS_DIR=$work/progress SLURM_JOB_ID=12
file=$work/progress/12
reports() {
    sed -n 's/^report [0-9]* //p' "$file" | paste -sd ' '
}

# --- the command ---------------------------------------------------------------------

try progress 0/90
is 'a report is written without a word' "$code$out$err" 0
is 'the file has the report' "$(reports)" '0 90'
is 'others can read it, and not write' "$(stat -c %a "$file")" 644
sleep 1.1
try progress 1/90
is 'a further report is added' "$(reports)" '0 90 1 90'
try progress 1/90
is 'one without progress is not' "$(reports)" '0 90 1 90'
try progress --percent 41.5 --json
is 'another total begins anew' "$(reports)" '4150 10000'
json 'JSON says what was written' \
    'd == {"written": True, "done": 4200, "total": 10000}' progress --percent 42 --json
documented 'dnnest(1) names every member of the JSON' progress --percent 43
try progress --out-of-memory
like 'a lack of GPU memory is reported' "$(tail -n 1 "$file")" '^out_of_memory [0-9]+$'
for bad in 1 91/90 x/90 -- '1/2 3/4' --percent=101 '--follow 1/2' --bad '1/2 --color=x'; do
    # shellcheck disable=SC2086
    SLURM_JOB_ID='' try progress $bad
    is "a usage error: $bad" "$code" 2
    # shellcheck disable=SC2086
    try progress $bad
    is "in a job it is a line, and no failure: $bad" "$code $(wc -l <"$work/err")" '0 1'
done
rm "$file"
SLURM_PROCID=1 try progress 5/90
not_ok 'another task than the first writes nothing' test -e "$file"
DNNEST_PROGRESS_DIR='' try progress 5/90
is 'without a directory nothing is written, and that is no error' "$code$err" 0
SLURM_JOB_ID=../x try progress 5/90
is 'outside of a job nothing is written' "$code$(ls "$work/progress")" 0
# in_job TITLE ARGUMENT...: it exits with 0 and says one line
in_job() {
    try progress "${@:2}"
    is "a job goes on: $1" "$code $(wc -l <"$work/err")" '0 1'
    like "a job is told: $1" "$err" '^dnnest: '
}
SLURM_JOB_ID='' try --dir "$work/none" 5/90
is 'only progress never fails in a job' "$code" 2
in_job 'a directory that does not exist' --dir "$work/none" 5/90
echo x >"$work/plain"
in_job 'a file in place of the directory' --dir "$work/plain" 5/90
mkdir "$work/progress/12"
in_job 'a directory in place of the file' 5/90
rmdir "$work/progress/12"
mkfifo "$file"
try progress 5/90
is 'a pipe of another is replaced, and not waited for' "$code$err$(reports)" '05 90'
is 'a job goes on: its file is full' "$(ulimit -f 0
    { "$DNNEST" progress 6/90; echo $?; } 2>&1 | sed 's/: .*: /: .../' | paste -sd ' ')" \
    'dnnest: ...File too large 0'
is 'a job goes on: stdout is full' \
    "$("$DNNEST" progress --json 7/90 2>&1 >/dev/full; echo $?)" \
    $'dnnest: write error: No space left on device\n0'
if ((EUID == 0)); then
    echo theirs >"$file"
    chmod 711 "$work"
    is 'a job goes on: the file is of another user' "$(setpriv --reuid=65534 --regid=65534 \
        --clear-groups "$DNNEST" progress 8/90 2>&1; echo $?)" \
        "dnnest: $file: cannot be replaced: Operation not permitted"$'\n0'
else
    skip 'a job goes on: the file is of another user' 'needs root'
fi
echo garbage >"$file"
try progress 6/90
is 'a file that is not valid is replaced' "$(reports)" '6 90'
rm "$file"
ln -s "$work/elsewhere" "$file"
try progress 7/90
not_ok 'a link is replaced, and not followed' test -e "$work/elsewhere"
is 'a file takes the place of the link' "$(reports)" '7 90'

# --- the filter ----------------------------------------------------------------------

rm "$file"
printf 'one\nDNNEST_PROGRESS 1/3\n\0\xff\rDNNEST_PROGRESS 3/3\rx DNNEST_PROGRESS 2/3\nDNNEST_PROGRESS y\nend' \
    >"$work/said"
head -c 100000 /dev/urandom >>"$work/said"
"$DNNEST" progress --follow <"$work/said" >"$work/copy"
ok 'the filter copies every byte' cmp "$work/said" "$work/copy"
like 'the filter reports what whole lines say' "$(reports)" '^(1 3 )?3 3$'
echo 'torch.OutOfMemoryError: CUDA out of memory.' | "$DNNEST" progress --follow >/dev/null
ok 'the filter reports a lack of GPU memory' grep -q ^out_of_memory "$file"
is 'a program goes on when its output cannot be written' "$({ {
    for i in 1 2 3; do
        sleep 0.2
        echo "DNNEST_PROGRESS $i/3"
    done
    echo 'it ended' >&2
} | "$DNNEST" progress --follow >/dev/full; } 2>&1)" \
    $'dnnest: --follow: No space left on device\nit ended'
like 'reports in such output count' "$(reports)" ' 3 3$'

# --- Python --------------------------------------------------------------------------

rm "$file"
export PYTHONPATH=$top/python PYTHONDONTWRITEBYTECODE=1
python() {
    "$PYTHON" -c "import dnnest as d"$'\n'"$1"
}
ok 'Python reports' python 'd.report(1, 3); d.report(3, 3)'
like 'the file has the reports' "$(reports)" '^(1 3 )?3 3$'
ok 'what is no progress is ignored' python \
    'd.report(4, 3); d.report(-1, 3); d.report("x", None); d.report(float("inf"), 3)'
like 'what is no progress is not written' "$(reports)" '^(1 3 )?3 3$'
ok 'many reports are thinned' python '
import time
seconds = iter(range(1700000000, 1800000000))
time.time = lambda: next(seconds)
d.PAUSE = 0
for i in range(1000): d.report(i, 1000)'
is 'at most 64 are kept' "$(($(grep -c ^report "$file") <= 64))" 1
like 'the first and the last report are kept' "$(reports)" '^0 1000 .* 999 1000$'
try progress 1000/1000
like 'dnnest reads what Python wrote' "$(reports)" '^0 1000 .* 1000 1000$'
not_ok 'a program fails as before' python '
class OutOfMemoryError(RuntimeError): pass
raise OutOfMemoryError("CUDA out of memory")' 2>/dev/null
ok 'the lack of GPU memory of a program that fails is reported' grep -q ^out_of_memory "$file"
# quietly TITLE PROGRAM: it ends well, with one line on stderr
quietly() {
    local said
    said=$(python "$2" 2>&1)
    is "Python goes on: $1" "$? $(wc -l <<<"$said")" '0 1'
    like "Python says so: $1" "$said" '^dnnest: progress is not reported: '
}
DNNEST_PROGRESS_DIR=/nonexistent quietly 'a directory that does not exist' \
    'd.report(1, 2); d.report(2, 2); d.out_of_memory()'
quietly 'what is no progress' 'd.report("x", 2)'
quietly 'an error of another kind' '
class Bad:
    def __int__(self): raise RuntimeError("no number")
d.report(Bad(), 2)'
quietly 'the file is full' '
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
d.report(1, 2); d.out_of_memory()'
quietly 'an error that has no text' '
class Bad(Exception):
    def __str__(self): raise RuntimeError("no text")
d._look_at(Bad())'

mkdir "$work/stand-in"
"$PYTHON" -c 'import transformers' 2>/dev/null ||
    printf 'class TrainerCallback: pass\n' >"$work/stand-in/transformers.py"
"$PYTHON" -c 'import lightning' 2>/dev/null ||
    "$PYTHON" -c 'import pytorch_lightning' 2>/dev/null ||
    printf 'class Callback: pass\n' >"$work/stand-in/pytorch_lightning.py"
PYTHONPATH+=:$work/stand-in
diag "stand-ins: $(ls "$work/stand-in" | paste -sd ' ')"
rm "$file"
ok 'the callback for transformers reports steps' python '
from types import SimpleNamespace as N
c = d.trainer_callback()
c.on_train_begin(None, N(global_step=0, max_steps=7), None, model=None)
c.on_step_end(None, N(global_step=7, max_steps=7), None)'
like 'the reports are of the whole run' "$(reports)" '^(0 7 )?7 7$'
rm "$file"
ok 'the callback for Lightning reports steps' python '
from types import SimpleNamespace as N
c = d.lightning_callback()
c.on_train_start(N(global_step=0, estimated_stepping_batches=9), None)
c.on_train_batch_end(N(global_step=9, estimated_stepping_batches=9), None, None, None, 3)
c.on_train_batch_end(N(global_step=9, estimated_stepping_batches=float("inf")), None)
c.on_exception(None, None, RuntimeError("CUDA error: out of memory"))'
quietly 'a callback fails' '
class Bad:
    global_step = 1
    @property
    def estimated_stepping_batches(self): raise RuntimeError("not known")
c = d.lightning_callback()
c.on_train_start(Bad(), None)
c.on_train_batch_end(Bad())'
like 'the reports are of the whole run, with a lack of memory' "$(paste -sd ' ' "$file")" \
    'report [0-9]+ 9 9 out_of_memory'
done_testing
