#!/bin/bash
# 0113-probe-job.t - a job with probe=1 restarts its training as a probe
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The test sets the variables that the plugin sets in a job's environment, and a fake torch
# has only what the hook looks for (tests/live/probe.t uses the real ones).

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

mkdir -p "$work/bin" "$work/share/dnnest/probe" "$work/share/dnnest/python" "$work/lib/torch/optim" "$work/lib/torch/utils/data"
cp "$top/cli/probe/hook/sitecustomize.py" "$work/share/dnnest/probe/"
cp "$top/python/dnnest_watch.py" "$work/share/dnnest/python/"
# The command next to the hook, with the site of this test.
cat > "$work/bin/dnnest" <<SH
#!/bin/bash
[[ \$1 = probe ]] || exit 99
echo called >> "$work/called"
exec "$(realpath "$DNNEST")" probe --conf "$work/site.conf" --hardware "$work/hardware" \\
    --datasets "$work/datasets.conf" --model none --grace 2 "\${@:2}"
SH
chmod +x "$work/bin/dnnest"
printf '__version__ = "9.9"\nfrom . import optim\nfrom .utils import data\n' > "$work/lib/torch/__init__.py"
echo 'from .optimizer import Optimizer' > "$work/lib/torch/optim/__init__.py"
printf 'class Optimizer:\n    def __init__(self, *args):\n        pass\n' \
    > "$work/lib/torch/optim/optimizer.py"
touch "$work/lib/torch/utils/__init__.py"
echo 'from .dataloader import _BaseDataLoaderIter' > "$work/lib/torch/utils/data/__init__.py"
printf 'class _BaseDataLoaderIter:\n    def __next__(self):\n        raise StopIteration\n' \
    > "$work/lib/torch/utils/data/dataloader.py"
cat > "$work/train.py" <<'PY'
import os, sys, time
print("begun", os.getcwd(), sys.argv[1:], "DNNEST_JOB_PROBE_SPEC" in os.environ)
sys.stdout.flush()
if len(sys.argv) > 2:
    os.chdir("/")
import torch
class SGD(torch.optim.Optimizer):
    def step(self, closure=None):
        time.sleep(0.01)
sgd = SGD()
try:
    for i in range(int(sys.argv[1])):
        sgd.step()
finally:
    print("steps", i + 1)
PY
unset DNNEST_PROBE_FILE SLURM_PROCID
export XDG_DATA_HOME=$work/data SLURM_JOB_ID=42
export DNNEST_JOB_PROBE_STEPS=1
export DNNEST_JOB_PROBE_SPEC=model=resnet18,image=32,batch=32,steps=5000,input=synthetic,app=tiny
export PYTHONPATH=$work/share/dnnest/probe:$work/lib

# job COMMAND...: as in a job's script
job() {
    code=0
    rm -f "$work/called"
    (cd "$work" && "$@") > "$work/out" 2> "$work/err" || code=$?
    out=$(cat "$work/out") err=$(cat "$work/err")
}
calls() { if [[ -e $work/called ]]; then wc -l < "$work/called"; else echo 0; fi; }

job python3 train.py 1000 "it's \$x"
is 'a training is restarted under dnnest probe, once' "$code $(calls)" '0 1'
like 'the probe has the arguments and the directory of the program' \
    "$out" "begun $work \['1000', \"it's \\\$x\"\] False"
like 'the probe is ended after 40 steps' \
    "$out" 'steps 40.*30 steps after 10 of warm-up, on cpu:'
like 'the report has a line that submits the job without a probe' "$out" \
    'sbatch --cpus-per-task=.* --comment=dnnest:probe=0,model=resnet18,.* job.sh'
like 'the record is kept with its job' "$(dn records)" 'tiny +cpu .* probe +42'
DNNEST_JOB_PROBE_STEPS=5 job python3 train.py 1000
like 'probe=5 measures five steps' "$out" 'steps 15.*5 steps after 10 of warm-up'
echo '{"dnnest":1,"spec":{"batch":4,"steps":100},"graph":{"ops":[{"op":"linear","in":[[64]],"out":[[8]],"params":520}]}}' \
    > "$work/net.json"
DNNEST_JOB_PROBE_SIDECAR=$(cat "$work/net.json") DNNEST_JOB_PROBE_SPEC=batch=8,app=side \
    job python3 train.py 1000
like 'the sidecar of a job comes with its metadata' "$(dn records --csv)" \
    'app=side.*""op"":""linear""'
job python3 -c 'import torch; print("no step")'
is 'a program that takes no steps ends as without a probe' \
    "$code $(calls):$out:$err" '0 1:no step:'
job python3 -c 'import torch; raise SystemExit(7)'
is 'a program that takes no steps has its own exit status' "$code" 7
job python3 -c 'print("other")'
is 'a program without torch runs unchanged' "$code $(calls):$out" '0 0:other'
job python3 train.py 20
is 'a program that ends early has its own exit status' "$code" 0
like 'the steps of a program that ends early are reported' \
    "$out" 'steps 20.*steps after 10 of warm-up'

# goes_on TITLE CALLS ERR-REGEX COMMAND...: all 60 steps are taken
goes_on() {
    local title=$1 want=$2 regex=$3 problem=
    shift 3
    job "$@"
    [[ $code = 0 ]] || problem="exit code $code"
    [[ $out = *'steps 60' ]] || problem+=' not all steps were taken'
    [[ $(calls) = "$want" ]] || problem+=" $(calls) calls, expected $want"
    [[ $err =~ $regex ]] || problem+=" stderr does not match $regex"
    verdict "$title"
}
goes_on 'a program that is read from stdin continues without a probe' 0 \
    'no probe: the program does not come from a file' \
    bash -c 'sed "s/sys.argv\[1\]/60/; s/len(sys.argv) > 2/False/" train.py | python3 -'
DNNEST_JOB_PROBE_SPEC=model=nothing goes_on 'a program with wrong metadata goes on without a probe' \
    1 'no probe, the program continues' \
    python3 train.py 60
DNNEST_JOB_PROBE_SIDECAR='{' goes_on 'a program with a broken sidecar goes on without a probe' \
    1 'no probe, the program continues' \
    python3 train.py 60
env -u SLURM_JOB_ID PYTHONPATH="$PYTHONPATH" python3 "$work/train.py" 60 > "$work/out"
is 'a program outside of a job continues without a probe' "$(tail -1 "$work/out")" 'steps 60'
SLURM_PROCID=1 job python3 train.py 1000
is 'another task of a step ends after as many steps' \
    "$code $(calls):$(tail -1 "$work/out")" '0 0:steps 40'
XDG_DATA_HOME=/proc/none job python3 train.py 1000
like 'a job without a store is probed too' "$code $out $err" \
    '^0 .*steps 40.*30 steps after.*the result is not stored: /proc/none'
chmod -x "$work/bin/dnnest"
PATH=/usr/bin:/bin goes_on 'a program goes on where dnnest is not found' \
    0 'no probe: dnnest is not found' \
    python3 train.py 60
refuses '--within-job refuses a SPEC' 2 'within-job takes no SPEC' \
    probe --within-job model=resnet18,batch=1 -- true
done_testing
