#!/bin/bash
# 0111-probe-torch.t - a real training with PyTorch on the CPU: 30 steps tell of all 300
#
# DNNEST_PYTHON names another Python, such as that of a virtual environment.

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python
plan_later

PYTHON=${DNNEST_PYTHON:-/usr/bin/python3}
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then skip_all "$PYTHON has no torch"; fi
export OMP_NUM_THREADS=1

# What tiny.py trains, by its FLOPs and parameters; the time is measured in any case.
spec='params=10.5k,flops=6.5M,activations=90k,batch=16,steps=300,optimizer=momentum,app=tiny'
tiny=("$PYTHON" "$top/tests/cli/tiny.py")
probe=(probe --hook "$top/cli/probe/hook" --record none --steps 30 --warmup 10)

try "${probe[@]}" "$spec" -- "${tiny[@]}" 300 16
is 'it is ended behind 40 steps' "$code" 0
like 'which are measured on the CPU' "$out" '30 steps behind [0-9]+ of warm-up, on cpu:'
like 'with what the loader takes' "$out" 'loader +[0-9]+ % of a step waits for data \(no workers\)'
like 'and what it does to the cores' "$out" 'CPU +[0-9.]+ cores busy, of [0-9]+'
ok 'it had no time to end' bash -c "! grep -q '^steps' '$work/out'"

# The whole run against what is said of it. Both share the machine with others: it may
# take another try to find it equally busy twice.
seconds() { python3 -c 'import time; print("%.3f" % time.monotonic())'; }
ratio=none
for try in 1 2 3 4 5 6; do
    try "${probe[@]}" --json "$spec" -- "${tiny[@]}" 300 16
    from=$(seconds)
    "${tiny[@]}" 300 16 > "$work/full"
    to=$(seconds)
    ratio=$(python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print("%.3f" % (d["candidates"][0]["train_s"]["p50"] / (float(sys.argv[3]) - float(sys.argv[2]))))
' "$work/out" "$from" "$to")
    diag "try $try: predicted / taken is $ratio"
    if python3 -c "exit(not 0.75 < $ratio < 1.25)"; then break; fi
done
is 'the program runs to its end without us' "$(cat "$work/full")" 'steps 300'
ok 'its time was predicted within 25 %' python3 -c "exit(not 0.75 < $ratio < 1.25)"
done_testing
