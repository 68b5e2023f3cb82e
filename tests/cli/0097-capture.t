#!/bin/bash
# 0097-capture.t - trainings describe themselves: what they say is true, and they do not notice
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# DNNEST_PYTHON names another Python, such as that of a virtual environment with timm,
# transformers, peft, lightning, accelerate, keras, tensorflow and jax. Trainings that need
# a package which is not there are skipped. VERBOSE=1 shows what is true and what was said.

. "$(dirname "$0")/lib.sh"

PYTHON=${DNNEST_PYTHON:-/usr/bin/python3}
hook=$top/python/hook
trainings=$top/tests/data/torch/trainings.py
export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 SLURM_JOB_ID=42 HF_HUB_OFFLINE=1
export DNNEST_PROGRESS_DIR=$work/progress TMPDIR=$work
export DNNEST_JOB_CAPTURE=$hook # as job_submit_dnnest sets it
unset SLURM_PROCID SLURM_JOB_END_TIME DNNEST_JOB_CAPTURE_STEPS DNNEST_CAPTURE
mkdir "$DNNEST_PROGRESS_DIR"
file=$DNNEST_PROGRESS_DIR/42.capture

# loss PATH COMMAND...: what it prints on its last lines, with that PYTHONPATH
loss() {
    PYTHONPATH=$1 "${@:2}" 2>"$work/err" | grep '^loss' | sort
}
# says EXPRESSION [FILE]: what is not so, by Python over the capture 'd' in a file
says() { value "'' if ($1) else d" "${2-$file}"; }

# --- programs of any kind ----------------------------------------------------------------

mkdir -p "$work/lib"
echo 'sum(x * x for x in range(10))' > "$work/plain.py"
is 'a program without a framework is not described' \
    "$(PYTHONPATH=$hook "$PYTHON" "$work/plain.py" 2>&1)$(ls "$DNNEST_PROGRESS_DIR")" ''
is 'the hook lets dnnest be imported' \
    "$(PYTHONPATH=$hook "$PYTHON" -c 'import dnnest; dnnest.report(1, 2)' 2>&1)" ''
like 'a report is written' "$(cat "$DNNEST_PROGRESS_DIR/42")" '^dnnest-progress 1.report [0-9]+ 1 2$'
is 'a program that trains nothing is described by its software' \
    "$(says 'd["dnnest_capture"] == 1 and d["started"] <= d["time"] and "run" not in d
             and d["software"]["python"].count(".") == 2')" ''
rm "$DNNEST_PROGRESS_DIR"/*
mkdir "$work/lib/torch"
touch "$work/lib/torch/__init__.py"
is 'a job whose metadata do not ask for it is not described' \
    "$(DNNEST_JOB_CAPTURE='' PYTHONPATH=$hook:$work/lib "$PYTHON" -c 'import torch' 2>&1
        ls "$DNNEST_PROGRESS_DIR")" ''
is 'a job that looks for a framework before it imports it is described' \
    "$(PYTHONPATH=$hook:$work/lib "$PYTHON" -c 'from importlib.util import find_spec
find_spec("torch"), find_spec("torch")
import torch' 2>&1)$(says 'd["dnnest_capture"] == 1')" ''
rm -r "$work/lib/torch" "$DNNEST_PROGRESS_DIR"/*
cp "$hook/sitecustomize.py" "$work/lib/"
is 'a hook without its modules is silent' \
    "$(PYTHONPATH=$work/lib "$PYTHON" "$work/plain.py" 2>&1)" ''
rm -r "$work/lib"
is 'a function is a step if it gets what it returned, and not what lies where that was' \
    "$(PYTHONPATH=$top/python python3 -c 'import dnnest_watch
class Array:
    pass
class Seen(dnnest_watch.Observer):
    steps = 0
    def step(self, owner):
        self.steps += 1
seen = Seen()
dnnest_watch.watch(seen)
helper = dnnest_watch._Jitted(lambda x: Array())
for _ in range(100):
    helper(Array())
step = dnnest_watch._Jitted(lambda state, x: ({"none": {}, "a": [Array()]}, 1.0))
state = {"none": {}, "a": [Array()]}
for _ in range(10):
    state, loss = step(state, 2)
print(seen.steps)')" 9

if ! "$PYTHON" -c 'import torch' 2>/dev/null; then
    skip 'trainings describe themselves' "$PYTHON has no torch"
    done_testing
    exit
fi

# --- trainings ---------------------------------------------------------------------------

# predicted NAME: the sidecar of a capture is accepted, and its network is the right one
predicted() {
    python3 - "$file" "$work/$1.json" <<'PYTHON'
import json
import sys

d = json.load(open(sys.argv[1]))["sidecar"]
d["spec"].setdefault("steps", 100)
json.dump(d, open(sys.argv[2], "w"))
PYTHON
    json "the sidecar of $1 is predicted, with its parameters and FLOPs" \
        "(lambda t, m: m['params'] + m['frozen_params'] in (t['params'], t['params'] + m['frozen_params'])
          and abs(m['forward_flops_per_sample'] / t['flops'] - 1) < 0.02)(
          json.load(open('$work/truth')), d['model'])" \
        predict "$work/$1.json" --gpu a100_sxm4_40gb
}

for name in loop nanogpt timm trainer full lightning accelerate ddp fsdp fsdp2 deepspeed keras jax; do
    missing=$("$PYTHON" "$trainings" --missing "$name")
    if [[ $missing ]]; then
        skip "$name is described" "$PYTHON has no $missing"
        continue
    fi
    rm -f "$DNNEST_PROGRESS_DIR"/*
    run=("$PYTHON" "$trainings" "$name")
    if [[ $name = @(ddp|fsdp*|deepspeed) ]]; then
        run=("$PYTHON" -m torch.distributed.run --nproc_per_node 2 --master-port $((20000 + $$ % 10000))
            "$trainings" "$name")
    fi
    with=$(loss "$hook" "${run[@]}")
    cp "$work/err" "$work/err-$name"
    is "$name is described as it is" \
        "$(PYTHONPATH=$top/python "$PYTHON" "$trainings" --compare "$name" "$file" \
            2>"$work/err" || cat "$work/err")" ''
    [[ -z ${VERBOSE-} ]] || PYTHONPATH=$top/python "$PYTHON" "$trainings" --table "$name" "$file" 2>/dev/null |
        sed 's/^/# /'
    ok "$name has one file, of at most 256 KiB" \
        test "$(find "$DNNEST_PROGRESS_DIR" -name '*.capture*' -size -257k | wc -l)" = 1
    if [[ $name != keras && $name != jax && $name != @(fsdp*|deepspeed) ]]; then
        PYTHONPATH=$top/python "$PYTHON" "$trainings" --truth "$name" >"$work/truth" 2>/dev/null
        predicted "$name"
    fi
    like "$name trains" "$with" '^loss [0-9]'
    is "$name trains as without the hook" "$with" "$(DNNEST_CAPTURE=no loss "$hook" "${run[@]}")"
done

# --- what goes wrong ---------------------------------------------------------------------

# same TITLE COMMAND...: the training has its result, and nothing on stderr
rm -f "$DNNEST_PROGRESS_DIR"/*
result=$(DNNEST_CAPTURE=no loss "$hook" "$PYTHON" "$trainings" loop)
is 'DNNEST_CAPTURE=no writes nothing' "$(ls "$DNNEST_PROGRESS_DIR")" ''
same() {
    is "a training goes on: $1" "$(loss "$hook" "${@:2}" "$PYTHON" "$trainings" loop)" "$result"
    is "a training with nothing on stderr: $1" "$(grep dnnest "$work/err")" ''
}
same 'no directory' env DNNEST_PROGRESS_DIR=/nonexistent/x
same 'the directory is a file' env DNNEST_PROGRESS_DIR="$trainings"
same 'no space' bash -c 'ulimit -f 0; exec "$@"' -
ln -s "$work/elsewhere" "$file"
same 'a link in the place of the file'
not_ok 'a link is not followed' test -e "$work/elsewhere"
not_ok 'a link is replaced' test -L "$file"
rm -f "$DNNEST_PROGRESS_DIR"/*
same 'another rank' env RANK=1
is 'another rank writes nothing' "$(ls "$DNNEST_PROGRESS_DIR")" ''
same 'outside of a job' env -u SLURM_JOB_ID
is 'outside of a job nothing is written' "$(ls "$DNNEST_PROGRESS_DIR")" ''

cat > "$work/odd.py" <<'PYTHON'
import multiprocessing
import os
import subprocess
import sys

import torch


def train(steps, **more):
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        model(torch.rand(8, 4)).sum().backward()
        optimizer.step()


if __name__ == "__main__":
    what = sys.argv[1]
    train(15)
    if what == "fork":
        if os.fork() == 0:
            train(30)
            sys.exit(0)
        os.wait()
    elif what == "spawn":
        process = multiprocessing.get_context("spawn").Process(target=print, args=("child",))
        process.start()
        process.join()
    elif what == "exec":
        os.execv(sys.executable, [sys.executable, __file__, "none"])
    elif what == "children":
        subprocess.check_call([sys.executable, "-c", "import torch"])
    elif what == "folds":
        train(15)
        train(15)
    elif what == "exit":
        os._exit(0)
PYTHON
# What the compiler of PyTorch compiles of a step that it cannot take whole.
cat > "$work/compiled.py" <<'PYTHON'
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.Adam(model.parameters(), 0.1)


def step():
    optimizer.zero_grad()
    model(torch.ones(8, 4)).sum().backward()
    optimizer.step()


if hasattr(torch, "compile"):
    step = torch.compile(step, backend="eager")
    for _ in range(15):
        step()
    print(torch._dynamo.utils.counters["frames"]["total"])
PYTHON
plain=$("$PYTHON" "$work/compiled.py" 2>/dev/null)
if [[ $plain ]]; then
    # and the wrapper of the step
    is 'the compiler of PyTorch sees nothing of what watches' \
        "$(($(PYTHONPATH=$hook "$PYTHON" "$work/compiled.py" 2>/dev/null) <= plain + 2))" 1
else
    skip 'the compiler of PyTorch sees nothing of what watches' 'this PyTorch has none'
fi

for what in fork spawn exec children folds exit; do
    rm -f "$DNNEST_PROGRESS_DIR"/*
    is "a program goes on: $what" \
        "$(PYTHONPATH=$hook "$PYTHON" "$work/odd.py" "$what" 2>&1 >/dev/null; echo $?)" 0
    steps=15 trainings_so_far=1
    if [[ $what = folds ]]; then trainings_so_far=3; fi
    if [[ $what = exit ]]; then steps=10; fi # as it was after the warm-up
    is "what a program trained itself is described: $what" \
        "$(says "d['run']['step'] == $steps and d['run']['trainings'] == $trainings_so_far")" ''
done

# --- by one line of the user -------------------------------------------------------------

cat > "$work/own.py" <<PYTHON
import sys
import torch
sys.path.insert(0, "$top/tests/data/torch")
import trainings
trainings.loop(3)
import dnnest
with dnnest.watch(*sys.argv[1:]):
    trainings.loop(24)
PYTHON
rm -f "$DNNEST_PROGRESS_DIR"/*
export PYTHONPATH=$top/python
"$PYTHON" "$work/own.py" >/dev/null 2>"$work/err"
is 'a program that imports dnnest late is described' \
    "$(PYTHONPATH=$top/python "$PYTHON" "$trainings" --compare loop "$file" 2>&1)" ''
(cd "$work" && env -u SLURM_JOB_ID "$PYTHON" own.py own.json >/dev/null 2>err)
like 'watch () writes a sidecar outside of a job, too' "$(cat "$work/err")" \
    'dnnest: this run is described in own.json: sbatch --dnnest=own.json'
ok 'the sidecar is predicted' dn predict "$work/own.json" --gpu a100_sxm4_40gb
like 'a sidecar that cannot be written is told' \
    "$(env -u SLURM_JOB_ID "$PYTHON" "$work/own.py" "$work/none/own.json" 2>&1 >/dev/null)" \
    '^dnnest: the description is not written: FileNotFoundError'
unset PYTHONPATH

# --- GPUs ---------------------------------------------------------------------------------

# What PyTorch says where it has GPUs, of two of which this process uses one.
cat > "$work/gpus.py" <<'PYTHON'
import json
import types
import torch
import dnnest_capture
torch.version.cuda = "12.4"
vars(torch.cuda).update(
    is_initialized=lambda: True, get_arch_list=lambda: ["sm_70", "sm_80", "compute_90"],
    device_count=lambda: 2, get_device_name=lambda: "NVIDIA A100-SXM4-40GB",
    get_device_capability=lambda: (8, 0), memory_allocated=lambda i: 1 - i,
    max_memory_allocated=lambda: 7, max_memory_reserved=lambda: 8,
    mem_get_info=lambda: (30, 40))
capture = dnnest_capture.Capture(None, None, None)
print(json.dumps(capture.object()))
PYTHON
PYTHONPATH=$top/python "$PYTHON" "$work/gpus.py" >"$work/gpus"
is 'the GPUs, the kernels of the build and the memory are described' \
    "$(says 'd["software"]["cuda"] == "12.4" and d["software"]["arch"] == ["sm_70", "sm_80", "compute_90"]
             and d["devices"] == {"seen": 2, "used": 1, "name": "NVIDIA A100-SXM4-40GB", "capability": "8.0"}
             and d["measured"] == {"gpu_allocated": 7, "gpu_reserved": 8, "gpu_device": 10}' \
        "$work/gpus")" ''

# --- a limit that does not suffice ------------------------------------------------------

cat > "$work/short.py" <<'PYTHON'
import time
import dnnest_capture
said, now = [], time.time()
capture = dnnest_capture.Capture(None, None, said.append)
capture.now = capture_of = dnnest_capture.Training(capture, 0)
capture_of.intervals.extend([2.0] * 30)
for _ in range(2):
    capture.warn(capture_of, 50, 1000, capture.begin + 100)
capture.warned = False
capture.warn(capture_of, 950, 1000, capture.begin + 100)
capture.warn(capture_of, 50, 1000, capture.begin + 700)
print(said)
PYTHON
like 'a run that will not end within its limit says so, once' \
    "$(SLURM_JOB_END_TIME=$(($(date +%s) + 600)) PYTHONPATH=$top/python "$PYTHON" "$work/short.py" 2>&1)" \
    "^\['50 of 1000 steps, 2 s each: the rest takes 00:31:40, and the time limit is in 00:0[0-9:]+'\]$"
done_testing
