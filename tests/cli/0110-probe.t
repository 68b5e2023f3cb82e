#!/bin/bash
# 0110-probe.t - programs are run for some steps, measured, and ended with all processes
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Steps are lines of output here, or those of a fake torch that has only what the hook
# looks for. Nothing depends on how fast the machine is: times are upper bounds.

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

export XDG_DATA_HOME=$work/data
export TMPDIR=$work/tmp # other tests probe at the same time
mkdir "$TMPDIR"
export PROBE_TEST_MARK=$work # identifies processes that remain
spec=model=resnet18,image=32,batch=32,steps=5000,input=synthetic,app=tiny
hook=(--hook "$top/cli/probe/hook")
sed -i '1iObjective=cost' "$work/site.conf" # the line for sbatch names the cheapest type

# strays: processes of a probe that still run
strays() {
    grep -lszxF "PROBE_TEST_MARK=$work" /proc/[0-9]*/environ | cut -d / -f 3 | while read -r pid; do
        [[ $pid = "$$" || $pid = "$BASHPID" || $(cut -d ' ' -f 4 "/proc/$pid/stat" 2>/dev/null) = "$$" ]] \
            || tr '\0' ' ' < "/proc/$pid/cmdline" 2>/dev/null
    done
}
none_left() { is "$1" "$(unset PROBE_TEST_MARK; strays)" ''; }

# A program that prints "step N" every 20 ms, forever or for a number of steps.
cat > "$work/steps.sh" <<'SH'
#!/bin/bash
for ((i = 1; i <= ${1:-1000000}; i++)); do echo "step $i"; sleep 0.02; done
SH
chmod +x "$work/steps.sh"
lines=(--pattern '^step' --steps 10 --warmup 3 --grace 5)

# What is in $out as JSON, on one line.
flat() { tr -d ' \n' <<< "$out"; }

# --- what is measured --------------------------------------------------------------------

try probe "${lines[@]}" --gpu t4_16gb $spec -- "$work/steps.sh"
is 'a program is ended after its steps' "$code" 0
like 'the output of a program passes through' "$out" $'step 1\nstep 2\n'
like 'the report follows the output of the program' \
    "$out" '[1-9][0-9]* steps after [0-9]+ of warm-up, on t4_16gb'
like 'the measured device has a row, and others are scaled by it' "$out" \
    't4_16gb +measured .*scaled '
like 'the report has a line for sbatch' "$out" \
    'sbatch --gpus=1 --cpus-per-gpu=[0-9]+ --time=[0-9:-]+ .*--comment=dnnest:model=resnet18,'
like 'the line for sbatch has the metadata as they were given' "$out" 'app=tiny.* job.sh'
none_left 'a program that is ended leaves no process'
try probe "${lines[@]}" --gpu a100_sxm4_40gb --record none $spec -- "$work/steps.sh"
like 'the line for sbatch names the GPU type of the site' \
    "$out" 'sbatch --gpus=a100:1 --cpus-per-gpu='
cp "$work/site.conf" "$work/kept.conf"
sed -i 's/Partitions=gpu/ByPartition=pa MaxTime=1-0 Partitions=p/;4d' "$work/site.conf"
try probe "${lines[@]}" --gpu a100_sxm4_40gb --record none $spec -- "$work/steps.sh"
like 'the line for sbatch names the partition of the GPU type' \
    "$out" 'sbatch --partition=pa --gpus=1 --cpus-per-gpu='
mv "$work/kept.conf" "$work/site.conf"
dn records --csv > "$work/rows.csv"
is 'the result is kept in the usual store of records' \
    "$(cut -d , -f 1,2 "$work/rows.csv" | head -1) $(stat -c %a "$work/data/dnnest/records.db")" \
    'spec,gpu 644'
python3 - "$work/rows.csv" > "$work/row" <<'PYTHON'
import csv
import sys

(row,) = csv.DictReader(open(sys.argv[1], newline=""))
print(row["gpu"], row["group"], row["source"], 0 < float(row["step_ms"]) < 2000,
      "batch=32" in row["spec"], int(row["steps"]) >= 5, float(row["sigma"]) > 0)
PYTHON
is 'the record has what was measured' \
    "$(cat "$work/row")" 't4_16gb tiny probe True True True True'
dn probe --json "${lines[@]}" --record "$work/two.db" --gpu t4_16gb $spec -- \
    "$work/steps.sh" > "$work/probe.json" 2> "$work/err"
is 'with --json stdout is JSON, and the program writes to stderr' \
    "$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
m = d["measured"]
print(d["program"]["ended_by"], d["program"]["command"][0].endswith("steps.sh"), m["gpu"],
      m["steps"] >= 10, 0 < m["step_ms"] < 2000, m["loader_share"],
      [c["basis"] for c in d["candidates"]].count("measured"), d["record"].endswith("two.db"),
      d["sbatch"].startswith("sbatch "), d["candidates"][0]["gpu"], d["spec"]["batch"])
' "$work/probe.json")" 'steps True t4_16gb True True None 1 True True t4_16gb 32'
like 'with --json the output of the program is on stderr' "$(cat "$work/err")" 'step 5'
SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=3 SLURM_CLUSTER_NAME=big dn probe "${lines[@]}" \
    --record "$work/two.db" --gpu t4_16gb $spec -- "$work/steps.sh" >/dev/null
dn records --csv "$work/two.db" > "$work/two.csv"
is 'a record is added to those of the store' "$(wc -l < "$work/two.csv")" 3
like 'a record has the job that it is of' "$(tail -1 "$work/two.csv")" ',big,7_3,'

make_bundle "$work/small"
gives 'train --site learns from records' 0 'application tiny ' \
    train --site "$work/two.db" --base "$work/small" --out "$work/site"
try probe "${lines[@]}" --record none $spec -- "$work/steps.sh" 13
is 'a program may end before its probe' "$code" 0
like 'without a GPU the CPU is measured' "$out" \
    'on cpu:.*A CPU was measured; times on GPUs.*cpu +measured .* model .*sbatch --cpus-per-task='
sed 's/,t4_16gb,/,cpu,/' "$work/two.csv" > "$work/cpu.csv"
try train --site "$work/cpu.csv" --base "$work/small" --out "$work/site2"
like 'train --site leaves rows of a CPU out' "$code $err" \
    '^4 .*line 2 is left out: gpu: cpu is a CPU, whose runs do not apply to GPUs'
gives 'without SPEC a probe only measures' 0 'The whole run cannot be predicted without SPEC' \
    probe "${lines[@]}" -- "$work/steps.sh"
# Lines that come at once are counted together.
counted='(^|[^0-9])([5-9][05]|[0-9]+[0-9][05]) steps after ([2-9][05]|[0-9]+[0-9][05]) of warm-up'
try probe --pattern 'at ([0-9]+)' --steps 50 --warmup 20 --record none $spec -- \
    bash -c 'for ((i = 10; i < 100000; i += 10)); do echo "at $i"; sleep 0.02; done'
like 'a number in parentheses counts the steps itself' "$out" "$counted"
try probe --pattern '^tick' --every 5 --steps 50 --warmup 20 --record none $spec -- \
    bash -c 'while echo tick; do sleep 0.02; done'
like '--every gives the steps that a line stands for' "$out" "$counted"
try probe "${lines[@]}" --record none $spec -- \
    bash -c 'while printf "step\r" >&2; do sleep 0.02; done'
like 'lines of a progress bar on stderr count' "$out" '[0-9]+ steps after [0-9]+ of warm-up'

# --- what goes wrong ---------------------------------------------------------------------

# ends TITLE CODE ERR-REGEX ARGUMENT...: dn probe does so, and leaves nothing
ends() {
    local title=$1 want=$2 regex=$3 problem=
    shift 3
    try probe --record none "$@"
    [[ $code = "$want" ]] || problem="exit code $code, expected $want"
    [[ $err =~ $regex ]] || problem+=" stderr does not match $regex"
    verdict "$title"
    none_left "$title, and no process is left"
}
short_of=(--pattern '^step' --seconds 1 --grace 1)
ends 'a program that fails passes its status on' 3 'no step was seen' \
    "${lines[@]}" $spec -- bash -c 'exit 3'
ends 'a program that dies by a signal passes its status on' 137 \
    '' "${lines[@]}" $spec -- bash -c 'kill -KILL $$'
ends 'a program that fails after some steps passes its status on' 7 '' "${lines[@]}" $spec -- \
    bash -c "'$work/steps.sh' 12; exit 7"
ends 'a program that ends without a step is reported' 1 \
    'no step was seen \(does a line match' "${lines[@]}" $spec -- true
ends 'a program with too few steps is reported' 1 \
    '2 steps measured after 3 of warm-up, expected at least 3' \
    "${lines[@]}" $spec -- "$work/steps.sh" 5
ends 'a missing program has the status of a shell' 127 'No such file' $spec -- "$work/none"
ends 'a program that may not be run has the status of a shell' 126 \
    'Permission denied' $spec -- "$work/site.conf"
ends 'a program that hangs is ended' 1 'no step was seen' "${short_of[@]}" $spec -- sleep 1000
ends 'a program that ignores SIGTERM is killed' 1 'no step' "${short_of[@]}" $spec -- \
    bash -c 'trap "" TERM HUP INT; while :; do sleep 0.1; done'
ends 'a program that has stopped itself is ended' 1 'no step' "${short_of[@]}" $spec -- \
    bash -c 'kill -STOP $$; sleep 1000'
ends 'the daemons of a program end with it' 0 '' "${lines[@]}" $spec -- bash -c "
    setsid sleep 1000 & (setsid bash -c 'trap \"\" TERM; sleep 1000; :' &) ; exec '$work/steps.sh'"
ends 'daemons of a program that has ended are ended' 1 'no step' "${lines[@]}" $spec -- \
    bash -c 'for i in {1..30}; do setsid bash -c "sleep 1000 & sleep 1000" & done; exit 0'
ends 'a program that closes its output is watched to its end' 1 \
    'no step' "${short_of[@]}" $spec -- \
    bash -c 'exec >&- 2>&-; sleep 1000'

head -c 300000 /dev/urandom > "$work/bytes"
dn probe "${lines[@]}" -- cat "$work/bytes" > "$work/copy" 2>/dev/null
is 'any bytes of the output pass through' \
    "$(head -c 300000 "$work/copy" | cmp - "$work/bytes" 2>&1)" ''
dn probe --record none "${hook[@]}" -- cat "$work/bytes" > "$work/copy" 2>/dev/null
is 'any bytes pass through where no line is looked at' \
    "$(cmp "$work/copy" "$work/bytes" 2>&1)" ''
is 'a program reads its own stdin' \
    "$(echo word | dn probe "${hook[@]}" -- cat 2>/dev/null)" word
is 'no file is left in TMPDIR' "$(find "$TMPDIR" -name 'dnnest-probe.*')" ''

# Signals to ourselves.
real=$(realpath "$DNNEST")
[[ -x ${real%/*}/.libs/dnnest ]] && real=${real%/*}/.libs/dnnest
direct=("$real" probe --conf "$work/site.conf" --hardware "$work/hardware"
    --datasets "$work/datasets.conf" --model none --record none --pattern '^step' --grace 1)
appears() { for _ in {1..1800}; do [[ -e $1 ]] && return; sleep 0.1; done; return 1; }
gone() { for _ in {1..1800}; do [[ -z $(unset PROBE_TEST_MARK; strays) ]] && return; sleep 0.1; done; return 1; }
"${direct[@]}" $spec -- bash -c "trap '' TERM; touch '$work/up'; while :; do sleep 0.1; done" &
pid=$!
appears "$work/up"
kill -TERM $pid
wait $pid
is 'SIGTERM ends the program, and the probe by the signal' $? 143
ok 'SIGTERM to the probe leaves no process' gone
"${direct[@]}" $spec -- bash -c "touch '$work/up2'; exec sleep 1000" &
pid=$!
appears "$work/up2"
kill -KILL $pid
wait $pid 2>/dev/null
ok 'the program ends when the probe is killed' gone
is 'processes that ran before the probe are not ended' \
    "$(bash -c "sleep 600 & echo \$! > '$work/pid'
    exec $(printf '%q ' "${direct[@]}") -- true" >/dev/null 2>&1
    kill -0 "$(cat "$work/pid")" && echo alive)" alive
kill "$(cat "$work/pid")"

# --- the hook ----------------------------------------------------------------------------

mkdir -p "$work/lib/torch/optim" "$work/lib/torch/utils/data"
cat > "$work/lib/torch/__init__.py" <<'PY'
__version__ = "9.9"
from . import optim
from .utils import data
PY
cat > "$work/lib/torch/optim/__init__.py" <<'PY'
from .optimizer import Optimizer
PY
cat > "$work/lib/torch/optim/optimizer.py" <<'PY'
class Optimizer:
    def __init__(self, *args):
        pass
PY
touch "$work/lib/torch/utils/__init__.py"
cat > "$work/lib/torch/utils/data/__init__.py" <<'PY'
from .dataloader import _BaseDataLoaderIter
PY
cat > "$work/lib/torch/utils/data/dataloader.py" <<'PY'
class _BaseDataLoaderIter:
    _num_workers = 3
    def __next__(self):
        raise StopIteration
PY
cat > "$work/lib/sitecustomize.py" <<'PY'
import builtins
builtins.chained = True
PY
export PYTHONPATH=$work/lib
python() { # TEXT: with the beginning of every program
    printf '%s\n' 'import sys, time' 'import torch' 'class SGD(torch.optim.Optimizer):' \
        '    def step(self, closure=None):' '        time.sleep(0.01)' "$1" > "$work/$2.py"
}
python 'sgd = SGD()
try:
    for i in range(1000): sgd.step()
finally:
    print("steps", i + 1, "chained", chained, "of", torch.__version__)' plain
few=("${hook[@]}" --steps 10 --warmup 3 --record none --grace 2)
try probe "${few[@]}" $spec -- python3 "$work/plain.py"
is 'optimizer steps are counted, and end the program' "$code" 0
like 'the program is ended as by sys.exit, after the last step' "$out" 'steps 13 '
like 'another sitecustomize is loaded as well' "$out" 'chained True of 9\.9'
like 'the steps that the hook reports are measured' \
    "$out" '10 steps after 3 of warm-up, on cpu'
try probe "${few[@]}" --json $spec -- python3 "$work/plain.py"
like 'the report has the version of torch' "$(flat)" '"torch":"9.9"'
python 'class Mine(SGD):
    def step(self): return super().step()
a, b = Mine(), SGD()
for i in range(1000):
    a.step()
    if i % 2: b.step()' nested
try probe "${few[@]}" $spec -- python3 "$work/nested.py"
like 'a step that calls that of its base class is one' "$out" '10 steps after 3 of warm-up'
python 'sgd = SGD()
while True:
    try: sgd.step()
    except BaseException: pass' stubborn
ends 'a program that catches SystemExit is ended' 0 '' "${few[@]}" $spec -- python3 "$work/stubborn.py"
python 'import os
if os.fork() == 0:
    while True: time.sleep(1)
sgd = SGD()
for i in range(1000): sgd.step()' forks
ends 'a program that has forked is ended with its children' 0 \
    '' "${few[@]}" $spec -- python3 "$work/forks.py"
python 'import threading
def work():
    sgd = SGD()
    while True: sgd.step()
threading.Thread(target=work).start()' thread
ends 'a program that steps in a thread is ended' 0 \
    '' "${few[@]}" $spec -- python3 "$work/thread.py"
python 'class Iter(torch.utils.data._BaseDataLoaderIter):
    def __next__(self): return super().__next__()
sgd = SGD()
base = torch.utils.data._BaseDataLoaderIter
def slow(self): time.sleep(0.03); raise StopIteration
it = Iter()
for i in range(1000):
    try: next(it)
    except StopIteration: pass
    sgd.step()' loader
try probe --json "${few[@]}" $spec -- python3 "$work/loader.py"
like 'time in loaders is counted' "$(flat)" '"loader_share":[0-9.e-]+,"loader_workers":3'
python 'import os
sgd = SGD()
with open(os.environ["DNNEST_PROBE_FILE"], "ab") as file:
    for line in (b"S", b"S 1", b"S 1 2 3", b"S 1 1 nan 0 0", b"S -1 0 1 0 0", b"\0\xff" * 3000,
                 b"S 99999999999999999999 0 1 0 0", b"D 1 cuda 1e99 x", b"M 1 x", b"Q 1",
                 b"S 77 0 1e300 0 0", b"S 77 0 5 1 1", b"D 1 cuda 17179869184 \x1b[31mT4\x07"):
        file.write(line + b"\n")
for i in range(1000): sgd.step()' lies
ends 'wrong lines in the file of the hook do no harm' 0 \
    "the GPU '\?\[31mT4\?' is not in the catalogue; name the device" \
    "${few[@]}" $spec -- python3 "$work/lies.py"
python 'sgd = SGD()
for i in range(20): sgd.step()' twenty
echo 'import os; os.unlink(os.environ["DNNEST_PROBE_FILE"])' | cat - "$work/twenty.py" \
    > "$work/unlinks.py"
ends 'a missing file of the hook does no harm' 1 'no step was seen' \
    "${few[@]}" $spec -- python3 "$work/unlinks.py"
ends 'a program without torch gives a message that states this' 1 \
    'no step was seen \(the program does not import torch; try --pattern\)' \
    "${few[@]}" $spec -- python3 -c 'print(1)'
ends 'a program with torch that takes no step has a message' 1 \
    'no step was seen$' "${few[@]}" $spec -- \
    python3 -c 'import torch'
ends 'an error of the program is passed on' 1 "ValueError: mine" "${few[@]}" $spec -- \
    python3 -c 'import torch; raise ValueError("mine")'

# --- the driver's library ----------------------------------------------------------------

read -ra cc <<< "${CC:-cc}"
cat > "$work/nvml.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
static int looks;
int nvmlInit_v2 (void) { return getenv ("NVML_BROKEN") ? 9 : 0; }
int nvmlShutdown (void) { return 0; }
int nvmlDeviceGetCount_v2 (unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2 (unsigned i, void **d)
{ if (i > 1) return 2; *d = (char *) &looks + i; return 0; }
int nvmlDeviceGetHandleByUUID (const char *u, void **d)
{ if (strcmp (u, "GPU-1")) return 2; *d = (char *) &looks + 1; return 0; }
int nvmlDeviceGetName (void *d, char *name, unsigned n)
{ strncpy (name, d == &looks ? "Tesla T4" : "Tesla V100-SXM2-16GB", n); return 0; }
int nvmlDeviceGetMemoryInfo (void *d, unsigned long long *m)
{
    const char *used = getenv ("NVML_USED");
    m[0] = 16ull << 30;
    m[2] = 1ull << 30;
    looks++;
    if (used && looks > 4 && (used[0] == '2' || (d == &looks) == (used[0] == '0')))
        m[2] = 6ull << 30;
    m[1] = m[0] - m[2];
    return 0;
}
int nvmlDeviceGetUtilizationRates (void *d, unsigned *u) { (void) d; u[0] = 87; return 0; }
int nvmlDeviceGetPowerUsage (void *d, unsigned *mw) { (void) d; *mw = 61000; return 0; }
C
mkdir "$work/nvml"
if "${cc[@]}" -shared -fPIC -o "$work/nvml/libnvidia-ml.so.1" "$work/nvml.c" 2>/dev/null; then
    export LD_LIBRARY_PATH=$work/nvml${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    many=(--pattern '^step' --steps 40 --warmup 3 --record none)
    NVML_USED=0 try probe --json "${many[@]}" $spec -- "$work/steps.sh"
    like 'the GPU that the program used is found by the driver' "$(flat)" \
        '"gpu":"t4_16gb",.*"gpus":1,"peak_mem_bytes":5368709120,"gpu_utilisation":0.87,"power_w":61'
    NVML_USED=1 CUDA_VISIBLE_DEVICES=GPU-1 try probe --json "${many[@]}" $spec -- "$work/steps.sh"
    like 'a GPU is found by its UUID' "$(flat)" '"gpu":"v100_sxm2_16gb",.*"gpus":1,'
    NVML_USED=2 try probe "${many[@]}" $spec -- "$work/steps.sh"
    like 'several GPUs are counted' "$out" 'GPU +2: 5.0 GiB each at most, 87 % in use, 61 W'
    like 'a number of GPUs that differs from the metadata has a warning' \
        "$err" 'the program used 2 GPUs here, and gpus=1'
    NVML_USED=1 CUDA_VISIBLE_DEVICES=7 try probe --json "${many[@]}" $spec -- "$work/steps.sh"
    like 'a wrong CUDA_VISIBLE_DEVICES is ignored' "$(flat)" '"gpu":"v100_sxm2_16gb",'
    try probe --json "${lines[@]}" --record none $spec -- "$work/steps.sh"
    like 'GPUs without use are not counted' \
        "$(flat)" '"gpu":"cpu",.*"gpus":0,"peak_mem_bytes":null'
    NVML_BROKEN=1 try probe --json "${lines[@]}" --record none $spec -- "$work/steps.sh"
    like 'GPUs of a driver that does not work are not counted' \
        "$(flat)" '"gpu":"cpu",.*"gpus":0,'
else
    skip 'GPUs are found by the driver' 'no compiler'
fi

# --- usage -------------------------------------------------------------------------------

refuses 'a command is needed' 2 'COMMAND is missing' probe $spec
refuses 'a command is needed after two dashes' 2 'COMMAND is missing' probe $spec --
refuses 'an unknown device is refused before anything runs' 2 "gpu: 'x' is unknown" \
    probe --gpu x $spec -- touch "$work/ran"
refuses 'wrong metadata are refused before anything runs' 2 "model: 'nothing'|nothing" \
    probe model=nothing,batch=2 -- touch "$work/ran"
refuses 'SPEC and --sidecar exclude each other' 2 \
    'sidecar and SPEC' probe --sidecar a.json $spec -- touch "$work/ran"
refuses 'a wrong pattern is refused' 2 \
    'pattern: .*\[a' probe --pattern '[a' $spec -- touch "$work/ran"
refuses '--every without --pattern is refused' 2 \
    'every needs' probe --every 2 $spec -- touch "$work/ran"
for option in steps=2 steps=x warmup=0 seconds=0 seconds=86401 grace=-1 every=0; do
    refuses "--$option is out of range" 2 "^dnnest: --${option%=*}: " \
        probe --$option $spec -- touch "$work/ran"
done
ok 'a wrong command line runs nothing' test ! -e "$work/ran"
echo 'a,b' > "$work/other.csv"
refuses 'a file that is no store is refused before anything runs' 4 \
    'other.csv: is not a store of records .*records --import' \
    probe "${lines[@]}" --record "$work/other.csv" --gpu t4_16gb $spec -- touch "$work/ran"
is 'a file that is no store is unchanged' "$(cat "$work/other.csv")" a,b
refuses 'a device file is no store' 4 '/dev/null: not a regular file' \
    probe "${lines[@]}" --record /dev/null --gpu t4_16gb $spec -- touch "$work/ran"
ok 'a wrong store runs nothing' test ! -e "$work/ran"
try probe "${lines[@]}" --sidecar "$work/net.json" --gpu t4_16gb -- "$work/steps.sh"
like 'a missing sidecar is named' "$err" 'net.json: No such file'
printf '{"dnnest": 1, "spec": {"batch": 4, "steps": 100}, "graph": {"name": "net", "ops": [
  {"op": "linear", "in": [[64]], "out": [[8]], "params": 520}]}}' > "$work/net.json"
try probe "${lines[@]}" --sidecar "$work/net.json" --record "$work/side.db" --gpu t4_16gb -- \
    "$work/steps.sh"
like 'a sidecar may replace SPEC' "$out" "sbatch .*--dnnest=$work/net.json job.sh"
rm "$work/net.json"
like 'the sidecar is kept with the record' "$(dn records --csv "$work/side.db")" \
    "@$work/net.json,t4_16gb,.*\"\"op\"\":\"\"linear\"\""
json 'a record is predicted when its sidecar is gone' \
    'd["predicted"] == 1 and d["n_skipped"] == 0' evaluate "$work/side.db"
gives 'train --site learns from a record whose sidecar is gone' 0 'application net ' \
    train --site "$work/side.db" --base "$work/small" --out "$work/site3"
none_left 'all probes together leave no process'
done_testing
