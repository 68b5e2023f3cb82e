#!/bin/bash
# 0111-probe-torch.t - a real training with PyTorch on the CPU: 30 steps predict all 300
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# DNNEST_PYTHON names another Python, such as that of a virtual environment.

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

PYTHON=${DNNEST_PYTHON:-/usr/bin/python3}
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then skip_all "$PYTHON has no torch"; fi
export OMP_NUM_THREADS=1

# The network of tiny.py, by its FLOPs and parameters. Its time is measured.
spec='params=10.5k,flops=6.5M,activations=90k,batch=16,steps=300,optimizer=momentum,app=tiny'
tiny=("$PYTHON" "$top/tests/cli/tiny.py")
probe=(probe --hook "$top/cli/probe/hook" --record none --steps 30 --warmup 10)

try "${probe[@]}" "$spec" -- "${tiny[@]}" 300 16
is 'the training is ended after 40 steps' "$code" 0
like '30 steps are measured on the CPU' "$out" '30 steps after [0-9]+ of warm-up, on cpu:'
like 'the report has what the loader takes' \
    "$out" 'loader +[0-9]+ % of a step waits for data \(no workers\)'
like 'the report has the cores that are busy' "$out" 'CPU +[0-9.]+ cores busy, of [0-9]+'
ok 'the training did not reach its end' bash -c "! grep -q '^steps' '$work/out'"

# The whole run is compared with its prediction. Other programs may take half of the machine
# in one minute and nothing in the next. So processor times are compared; that of the
# prediction is its seconds times the busy cores. A probe and a run follow each other as a
# pair, and the median of 3 pairs counts, or of 5 or 7 if they scatter. It is mostly within
# 10 %. A right prediction is within 25 % on any machine.
cat > "$work/full.py" <<'PY'
import json, resource, subprocess, sys, time

with open(sys.argv[1]) as file:
    probed = json.load(file)
begin = time.monotonic()
said = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
wall = time.monotonic() - begin
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = probed["candidates"][0]["train_s"]["p50"]
cpu = seconds * probed["measured"]["cores_busy"] / (usage.ru_utime + usage.ru_stime)
print("%.3f %.3f %s" % (cpu, seconds / wall, said))
PY
middle() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }
within() { python3 -c "exit(not 1 - $1 < $2 < 1 + $1)"; }
cpu=()
wall=()
for pair in 1 2 3 4 5 6 7; do
    try "${probe[@]}" --json "$spec" -- "${tiny[@]}" 300 16
    read -r of_cpu of_wall said < <(python3 "$work/full.py" "$work/out" "${tiny[@]}" 300 16)
    cpu+=("$of_cpu")
    wall+=("$of_wall")
    diag "pair $pair: predicted / taken is $of_cpu in processor time, $of_wall by the clock"
    if ((pair >= 3 && pair % 2)) && within 0.1 "$(middle "${cpu[@]}")"; then break; fi
done
diag "median: $(middle "${cpu[@]}") in processor time, $(middle "${wall[@]}") by the clock"
is 'the program runs to its end without a probe' "$said" 'steps 300'
ok 'the length of the training was predicted within 25 %' within 0.25 "$(middle "${cpu[@]}")"
done_testing
