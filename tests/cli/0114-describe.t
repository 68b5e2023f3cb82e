#!/bin/bash
# 0114-describe.t - 'dnnest describe' of a job, of a script and of a program
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The programs write what the hook would write (python/dnnest.py). sacct is a stand-in.

. "$(dirname "$0")/lib.sh"

export TMPDIR=$work/tmp
export DESCRIBE_TEST_MARK=$work # identifies processes that remain
unset SLURM_JOB_ID
mkdir "$TMPDIR" "$work/bin" "$work/progress"
export PATH=$work/bin:$PATH
printf 'StateDir=%s\nProgressDir=%s\nPythonDir=%s\n' "$work/nowhere" "$work/progress" \
    "$top/python" >>"$work/site.conf"

# capture [MEMBER]: of a training that ran, with this sidecar
capture() {
    printf '{"dnnest_capture":1,"time":1795768909,"started":1795768900,
"software":{"framework":"pytorch","version":"2.4.0","cuda":"12.1","python":"3.11.2","arch":["sm_70","sm_80"]},
"devices":{"seen":4,"used":1,"name":"NVIDIA A100-SXM4-40GB"},%s
"run":{"world":1,"parallel":"single","trainings":1,"step":40,"steps":5000,"workers":4,"loader_share":0.02},
"measured":{"start_s":12.3,"step_ms":210.5,"step_p95_ms":230.1,"steps":30}}' "$1"
}
known='"sidecar":{"dnnest":1,"spec":{"model":"resnet50","batch":32,"precision":"fp16","optimizer":"adamw"}},'
own='"sidecar":{"dnnest":1,"spec":{"batch":8},"graph":{"ops":[{"op":"linear","in":[[1,100]],"out":[[1,50]],"params":5050}]}},'

# A program that describes itself, and ends. With further words it is that command then.
cat >"$work/train.sh" <<'PROGRAM'
#!/bin/bash
echo 'its output'
cp "$1" "$DNNEST_PROGRESS_DIR/$SLURM_JOB_ID.new"
mv "$DNNEST_PROGRESS_DIR/$SLURM_JOB_ID.new" "$DNNEST_PROGRESS_DIR/$SLURM_JOB_ID.capture"
if [[ $2 ]]; then exec "${@:2}"; fi
PROGRAM
chmod +x "$work/train.sh"
capture "$known" >"$work/known.json"
described=("$work/train.sh" "$work/known.json")

# strays: processes of a program that still run
strays() {
    grep -lszxF "DESCRIBE_TEST_MARK=$work" /proc/[0-9]*/environ | cut -d / -f 3 | while read -r pid; do
        [[ $pid = "$$" || $pid = "$BASHPID" || $(cut -d ' ' -f 4 "/proc/$pid/stat" 2>/dev/null) = "$$" ]] \
            || tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null
    done
}
none_left() { is "$1" "$(unset DESCRIBE_TEST_MARK; strays)$(ls "$TMPDIR")" ''; }

# --- a program: its description -----------------------------------------------------------

gives 'a program is described' 0 \
    $'^# pytorch 2.4.0, on NVIDIA A100-SXM4-40GB, uses 1 of 4 GPUs\n# a step takes 210.5 ms, 95 % at most 230.1, the start-up 12 s, 2 % of the time it waits for data\n#DNNEST model=resnet50,batch=32,[^\n]*steps=5000\n' \
    describe -- "${described[@]}"
like 'the output of a program that is described goes to stderr' "$err" 'its output'
none_left 'nothing is left in the temporary directory'
line=$(grep '^#DNNEST' <<<"$out")
printf '#!/bin/sh\n%s\npython train.py\n' "$line" >"$work/pasted.sh"
json 'the line can be pasted' 'd["spec"]["model"] == "resnet50" and d["spec"]["steps"] == 5000' \
    check "$work/pasted.sh"
json 'JSON has it' 'd["gpus_used"] == 1 and d["step_ms"] == 210.5 and d["job"] is None
    and d["kernels"] == "sm_70,sm_80"' \
    describe -- "${described[@]}"
documented 'dnnest(1) names every member of the JSON' describe -- "${described[@]}"
try describe -o "$work/out.json" -- "${described[@]}"
json 'the file of -o is a sidecar' 'd["spec"]["batch"] == 32 and d["spec"]["steps"] == 5000' \
    check "$work/out.json"
gives 'what is given holds, and may state the amount of work in another way' 0 \
    $'\n#DNNEST model=resnet50,batch=32,[^\n]*optimizer=lamb,epochs=2,dataset=imagenet\n' \
    describe epochs=2,dataset=imagenet,optimizer=lamb -- "${described[@]}"
try describe -- sh -c 'exit 3'
is 'a program that fails has its own exit code' "$code" 3
refuses 'a program that describes nothing' 1 '^dnnest: true has described nothing: is it in Python' describe -- true
refuses 'a program that is none' 2 'cannot be run' describe -- "$work/none"
refuses 'no command' 2 'COMMAND is missing' describe --
refuses 'no job' 2 'neither a job nor a script' describe ''
refuses 'wrong metadata, before it runs' 2 "unknown key 'x'" describe x=1 -- touch "$work/ran"
refuses 'an unknown GPU, before it runs' 2 "gpu: 'x' is unknown" \
    describe --gpu x -- touch "$work/ran"
refuses '--gpu without a program' 2 'need -- COMMAND' describe --gpu a100 12
refuses 'no steps' 2 '^dnnest: --steps: ' describe --steps 0 -- touch "$work/ran"
ok 'a wrong command line runs nothing' test ! -e "$work/ran"
head -c 300 "$work/known.json" >"$work/cut.json"
try describe -- "$work/train.sh" "$work/cut.json"
is 'what is cut is no description' "$code" 1

# --- a program: the prediction of its whole run -------------------------------------------

# of GPU: its candidate in the JSON 'd'
of='(lambda gpu: next(c for c in d["candidates"] if c["gpu"] == gpu))'
a100='"a100_sxm4_40gb"' v100='"v100_sxm2_32gb"'
json 'the whole run is predicted by the measured steps' \
    "d['measured_on'] == $a100
     and abs($of($a100)['step_ms']['p50'] - 210.5) < 0.01
     and abs($of($a100)['train_s']['p50'] - (12.3 + 5000 * 0.2105)) < 1" \
    describe -- "${described[@]}"
two=(--gpu a100_sxm4_40gb --gpu v100_sxm2_32gb)
json 'the model alone predicts another time' "$of($a100)['step_ms']['p50'] < 150" \
    predict "${line#\#DNNEST }" "${two[@]}"
cp "$work/out" "$work/model.json"
ratio="(lambda d: $of($v100)['step_ms']['p50'] / $of($a100)['step_ms']['p50'])"
json 'on another type the part of a measured step that is not of the host is longer' \
    "1.05 < $ratio(d) < 0.85 * $ratio(json.load(open('$work/model.json')))
     and $of($a100)['step_ms']['p50'] == 210.5
     and $of($v100)['train_s']['p95'] > 1.3 * $of($v100)['train_s']['p50'] > 1.3 * 1064" \
    describe "${two[@]}" -- "${described[@]}"
gives 'the table is that of predict' 0 \
    $'The whole run, by 30 steps on a100_sxm4_40gb:\nGPU +FITS .*\na100 +yes +210.5 .*\ntwin +yes +210.5 .*GPU types of dnnest.conf' \
    describe -- "${described[@]}"
json '--gpu names what it is predicted on' \
    '[c["gpu"] for c in d["candidates"]] == ["t4_16gb"]' describe --gpu t4_16gb -- "${described[@]}"
json 'a type for which the software has no kernels is not supported' \
    '[(c["gpu"], c["fits"], c["step_ms"]["p50"]) for c in d["candidates"]] == [("p100_pcie_16gb", False, None)]' \
    describe --gpu p100_pcie_16gb -- "${described[@]}"
json '--all is the catalogue' 'len(d["candidates"]) > 20' describe --all -- "${described[@]}"
sed 's/"steps":5000,//' "$work/known.json" >"$work/endless.json"
gives 'without an amount of work there is no time' 0 'a100 +yes +210.5 +- .*No time: the amount' \
    describe -- "$work/train.sh" "$work/endless.json"
json 'the amount of work may be given' "abs($of($a100)['train_s']['p50'] - (12.3 + 100 * 0.2105)) < 0.1" \
    describe steps=100 -- "$work/train.sh" "$work/endless.json"
sed 's/A100-SXM4/X1/' "$work/known.json" >"$work/odd.json"
gives 'on a GPU that is not known only the description is printed' 0 'steps=5000$' \
    describe -- "$work/train.sh" "$work/odd.json"
like 'there is a message then' "$err" "cannot be predicted: the GPU 'NVIDIA X1-40GB' is not in the"
sed 's/"devices":{[^}]*},//' "$work/known.json" >"$work/cpu.json"
sed 's/"devices":{[^}]*},//; s/"fp16"/"bf16"/' "$work/known.json" >"$work/ran.json"
gives 'where a program has run its precision is supported' 0 'cpu +yes +210.5 +[0-9:]+ ' \
    describe -- "$work/train.sh" "$work/ran.json"
gives 'a CPU says nothing of GPUs' 0 'A CPU was measured.*cpu +yes +210.5' \
    describe -- "$work/train.sh" "$work/cpu.json"

# --- a program: its end -------------------------------------------------------------------

try describe -- "${described[@]}" bash -c 'trap "" TERM; while :; do sleep 0.1; done'
like 'a program that goes on when its steps are measured is ended' "$code $out" '^0 .*steps=5000'
none_left 'a program that ignores SIGTERM is killed'
try describe -- "${described[@]}" bash -c 'setsid sleep 600 &
    (setsid bash -c "trap \"\" TERM; sleep 600; :" &); exit 0'
is 'a program may leave processes' "$code" 0
none_left 'processes that a program leaves end with it'
try describe --seconds 1 -- sleep 600
is 'a program that describes nothing is ended' "$code" 1
is 'a program reads its own stdin' "$(echo word | dn describe -- cat 2>&1 | head -1)" word

real=$(realpath "$DNNEST")
[[ -x ${real%/*}/.libs/dnnest ]] && real=${real%/*}/.libs/dnnest
direct=("$real" describe "${trusted[@]}")
appears() { for _ in {1..1800}; do [[ -e $1 ]] && return; sleep 0.1; done; return 1; }
gone() { for _ in {1..1800}; do [[ -z $(unset DESCRIBE_TEST_MARK; strays) ]] && return; sleep 0.1; done; return 1; }
"${direct[@]}" -- bash -c "touch '$work/up'; exec sleep 600" &
pid=$!
appears "$work/up"
kill -TERM $pid
wait $pid
is 'SIGTERM ends the program, and describe by the signal' $? 143
ok 'SIGTERM leaves no process' gone
none_left 'SIGTERM leaves no file'
"${direct[@]}" -- bash -c "touch '$work/up2'; exec sleep 600" &
pid=$!
appears "$work/up2"
kill -KILL $pid
wait $pid 2>/dev/null
ok 'the program ends when describe is killed' gone
rm -rf "${TMPDIR:?}"/*

# --- a program: the hook ------------------------------------------------------------------

# A torch that has only what the hook looks for.
mkdir -p "$work/lib/torch/optim"
cat >"$work/lib/torch/__init__.py" <<'PYTHON'
__version__ = "9.9"
from . import cuda, optim


class version:
    cuda = None
PYTHON
cat >"$work/lib/torch/cuda.py" <<'PYTHON'
import time

until = None  # when all that was launched is done; None: it is not used


def launch(seconds):
    global until
    until = max(until or 0, time.monotonic()) + seconds


def synchronize():
    time.sleep(max(0, until - time.monotonic()))


def is_initialized():
    return until is not None


def device_count():
    return 1


def get_device_name():
    return "NVIDIA A100-SXM4-40GB"


def memory_allocated(i=0):
    return 1 << 30


def mem_get_info():
    return 39 << 30, 40 << 30


def get_arch_list():
    return ["sm_80"]


max_memory_allocated = max_memory_reserved = memory_allocated
PYTHON
echo 'from .optimizer import Optimizer' >"$work/lib/torch/optim/__init__.py"
printf 'class Optimizer:\n    def __init__(self, *args):\n        self.param_groups = []\n' \
    >"$work/lib/torch/optim/optimizer.py"
printf 'import builtins\nbuiltins.chained = True\n' >"$work/lib/sitecustomize.py"
program() { # NAME TEXT: with the beginning of every program
    printf '%s\n' 'import sys, time' 'import torch' 'class SGD(torch.optim.Optimizer):' \
        '    def step(self, closure=None):' '        time.sleep(0.01)' "$2" >"$work/$1.py"
}
export PYTHONPATH=$work/lib
program plain 'sgd = SGD()
try:
    for i in range(1000): sgd.step()
finally:
    print("steps", i + 1, "chained", chained)'
json 'a program of PyTorch is ended after the steps' \
    'd["version"] == "9.9" and d["step_ms"] >= 10 and d["framework"] == "pytorch"' \
    describe --steps 7 -- python3 "$work/plain.py"
like 'a program is ended as by sys.exit; another sitecustomize is loaded as well' "$err" 'steps 17 chained True'
program nested 'class Mine(SGD):
    def step(self): return super().step()
a, b = Mine(), SGD()
try:
    for i in range(1000):
        a.step()
        if i % 2: b.step()
finally: print("steps", i + 1)'
try describe --steps 7 -- python3 "$work/nested.py"
like 'a step that calls that of its base class is one' "$err" 'steps 17'
program stubborn 'sgd = SGD()
while True:
    try: sgd.step()
    except BaseException: pass'
try describe --steps 7 -- python3 "$work/stubborn.py"
like 'a program that catches SystemExit is ended' "$code $out" '^0 # pytorch 9.9'
program forks 'import os
if os.fork() == 0:
    while True: time.sleep(1)
sgd = SGD()
for i in range(1000): sgd.step()'
try describe --steps 7 -- python3 "$work/forks.py"
like 'a program that has forked is ended with its children' "$code $out" '^0 # pytorch 9.9'
program ahead 'class Fast(torch.optim.Optimizer):
    def step(self): torch.cuda.launch(0.02)
sgd = Fast()
for i in range(1000): sgd.step()'
json 'steps whose launches run ahead of the GPU are measured' \
    '19 < d["step_ms"] < 100 and d["gpus_used"] == 1 and d["kernels"] == "sm_80"' \
    describe --steps 20 -- python3 "$work/ahead.py"
program short 'sgd = SGD()
for i in range(14): sgd.step()'
gives 'a program may end before' 0 'a step takes' describe -- python3 "$work/short.py"
program slow 'sgd = SGD()
for i in range(100000): sgd.step(); time.sleep(0.1)'
gives 'the steps until the time is over are measured' 0 'a step takes 1[0-9][0-9]\.' \
    describe --seconds 15 --steps 1000 -- python3 "$work/slow.py"
program ranks 'import os
rank = os.environ["RANK"] = sys.argv[1]
sgd = SGD()
try:
    for i in range(1000): sgd.step()
finally: print("rank", rank, i + 1)'
printf '#!/bin/bash\npython3 "%s" 0 & python3 "%s" 1 & wait\n' "$work/ranks.py" "$work/ranks.py" \
    >"$work/ranks.sh"
try describe --steps 7 -- bash "$work/ranks.sh"
like 'all processes of a training end after the same step' "$(sort "$work/err")" 'rank 0 17.*rank 1 17'
unset PYTHONPATH
none_left 'all of them leave no process'

python=${DNNEST_PYTHON:-/usr/bin/python3}
if "$python" -c 'import torch' 2>/dev/null; then
    OMP_NUM_THREADS=1 json 'a real training is ended, described and predicted' \
        'd["measured_on"] == "cpu" and "steps=300" in d["spec"]
         and any(c["gpu"] == "cpu" and c["train_s"]["p50"] > 300 * d["step_ms"] / 1000 for c in d["candidates"])' \
        describe steps=300 --steps 20 -o "$work/tiny.json" -- "$python" "$top/tests/cli/tiny.py" 300 16
    ok 'a real training does not reach its end' bash -c "! grep '^steps' '$work/err'"
    json 'the network of a real training is known' 'd["model"]["params"] == 10474' predict "$work/tiny.json" --gpu a100
else
    skip 'a real training is described' "$python has no torch"
fi

# --- a job, a script ----------------------------------------------------------------------

# jobs LINE...: NUMBER|NAME|SUBMITTED|RECORD
jobs() {
    printf '%s\n' "$@" >"$work/jobs"
}
cat >"$work/bin/sacct" <<PROGRAM
#!/bin/bash
d=\${3#--delimiter=}
while IFS='|' read -r id name time record; do
    if [[ \$6 = -j && \$7 != "\$id" ]]; then continue; fi
    line="\$id|\$id|c|ann|$UID|lab|gpu|normal|\$name|\$time|\$time|\$time|\$time|00:00:00|9|COMPLETED|1|n1|cpu=1|00:00:00||"
    printf '%s%s%s0:0\n' "\${line//|/\$d}" "\$record" "\$d"
done <"$work/jobs"
PROGRAM
chmod +x "$work/bin/sacct"
cp "$work/known.json" "$work/progress/12.capture"
jobs '11|job.sh|1000|' '12|job.sh|2000|' '13|other|3000|' \
    '14|named|4000|{"dnnest":1,"spec":"model=bert_base,batch=2"}'
printf '#!/bin/bash\n#SBATCH --job-name=named\npython train.py\n' >"$work/named.sh"
gives 'a job' 0 $'^# job 12, job.sh\n# pytorch.*\n#DNNEST model=resnet50' describe 12
gives 'the newest job of a script' 0 '^# job 12, ' describe "$work/job.sh"
gives 'one that has only its own words' 0 $'^# job 14, named\n#DNNEST model=bert_base,batch=2$' \
    describe "$work/named.sh"
printf '#!/bin/bash\n#SBATCH --job-name="other"\npython train.py\n' >"$work/quoted.sh"
refuses 'a script with its name in quotes' 1 '^dnnest: job 13 has described nothing' describe "$work/quoted.sh"
refuses 'a job that has described nothing' 1 '^dnnest: job 13 has described nothing: did it run' describe 13
refuses 'a script that never ran' 1 'no job with the name never.sh' describe "$work/never.sh"
capture "$own" >"$work/progress/13.capture"
gives 'of a network without a name there is no line' 0 $'-o FILE writes.*\n#DNNEST auto$' describe 13
gives 'the file of -o is named for sbatch' 0 $'\n#SBATCH --dnnest=.*/own.json$' describe 13 -o "$work/own.json"
json 'the file of -o has the network' 'd["spec"]["batch"] == 8' check "$work/own.json"

# What dnnestd has kept of a job whose file is gone.
mkdir "$work/nowhere"
{
    echo 'cluster,raw_id,submit_s,start_s,end_s,job,user,state,step_ms,captured'
    printf 'c,11,1000,1000,1000,11,5,COMPLETED,77,"%s"\n' "$(tr -d '\n' <"$work/known.json" | sed 's/"/""/g')"
} >"$work/kept.csv"
dn jobs "$work/kept.csv" --db="$work/nowhere/records.db" >/dev/null
gives 'a job whose file is gone is known by the store' 0 $'# a step takes 77.0 ms.*\n#DNNEST model=resnet50' describe 11
rm -r "$work/nowhere"

printf '{' >"$work/progress/13.capture"
refuses 'a hostile file' 1 '13.capture' describe 13
ln -sf "$work/known.json" "$work/progress/13.capture"
refuses 'a link' 1 '13.capture' describe 13
done_testing
