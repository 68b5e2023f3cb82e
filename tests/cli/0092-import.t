#!/bin/bash
# 0092-import.t - networks from HLO: dumps of a real JAX, options, hostile files
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

# --- dumps: operations, batch, parameters, step time

while read -r verdict line; do
    if [[ $verdict = good ]]; then pass "$line"; else fail "$line"; fi
done < <(DNNEST=$DNNEST python3 "$top/tests/import/check-hlo" "$top/tests/import/dumps" \
    --conf "$work/site.conf" --hardware "$work/hardware" --datasets "$work/datasets.conf" 2>&1)
is 'every dump has its row' "$(tail -n +2 "$top/tests/import/dumps/hlo.csv" | cut -d, -f1 | sort)" \
    "$(cd "$top/tests/import/dumps" && printf '%s\n' *.hlo.xz | sed 's/.hlo.xz//' | sort)"

# --- small modules

while read -r verdict line; do
    if [[ $verdict = good ]]; then pass "$line"; else fail "$line"; fi
done < <("$PYTHON3" "$top/tests/import/hlo-cases" 2>&1)

# --- options

dump() {
    python3 -c 'import lzma, sys; sys.stdout.write(lzma.open(sys.argv[1], "rt").read())' \
        "$top/tests/import/dumps/$1.hlo.xz"
}
dump mlp_step.before > "$work/mlp.hlo"
gives 'the sidecar goes to stdout' 0 '^\{"dnnest":1,.*"step":true' import --hlo "$work/mlp.hlo"
gives '--out writes the sidecar to a file and prints a summary' 0 \
    'a training step of 128 samples, 1.864 M parameters' \
    import --hlo "$work/mlp.hlo" --out "$work/mlp.json"
gives 'the sidecar of a dump is predicted' 0 'jit_step' predict --gpu t4_16gb "$work/mlp.json"
gives 'stdin is read' 0 '"step":true' import --hlo - < "$work/mlp.hlo"
gives 'keys may be given' 0 '"batch":"7".*"precision":"tf32"' \
    import --hlo "$work/mlp.hlo" batch=7,precision=tf32
gives 'a step may be called a forward pass' 0 'a forward pass of 128' \
    import --forward --batch=128 --hlo "$work/mlp.hlo" --out "$work/forward.json"
dump mlp_forward.before > "$work/forward.hlo"
gives 'a forward pass may be called a step' 0 'a training step of 64 samples' \
    import --step --batch=64 --hlo "$work/forward.hlo" --out "$work/step.json"
json 'the summary may be JSON' 'd["batch"] == 128 and d["flops"] > 1e9 and d["step"]' \
    import --hlo "$work/mlp.hlo" --out "$work/mlp.json"
refuses 'a batch is a number' 2 'batch: -4 out of range' import --hlo "$work/mlp.hlo" --batch=-4
refuses 'keys of import are checked' 2 "'bacth'" import --hlo "$work/mlp.hlo" bacth=4
refuses 'a missing file is named' 4 'nothing.hlo: No such file' import --hlo "$work/nothing.hlo"
refuses 'a place that cannot be written is named' 4 'nowhere/x.json: No such file' \
    import --hlo "$work/mlp.hlo" --out "$work/nowhere/x.json"

# --- hostile files: one clear error each, in bounded time and memory

# bounded TITLE REGEX FILE: refused within 10 s and 1 GiB of address space
bounded() {
    local limit=1048576
    grep -q __asan_init "$DNNEST" "${DNNEST%/*}/.libs/dnnest" 2>/dev/null && limit=unlimited
    try_bounded() { (ulimit -v $limit; exec timeout 120 "$DNNEST-dev" import --hlo "$1"); }
    code=0
    problem=
    try_bounded "$3" >"$work/out" 2>"$work/err" || code=$?
    out=$(cat "$work/out") err=$(cat "$work/err")
    [[ $code = 4 && -z $out && $(wc -l <"$work/err") = 1 ]] || problem="exit code $code"
    [[ $err =~ $2 ]] || problem+=" stderr does not match $2"
    verdict "$1"
}
printf 'HloModule a\na {\n ROOT x = f32[] call(), to_apply=b\n}\nb {\n ROOT x = f32[] call(), to_apply=a\n}\n' \
    > "$work/cycle.hlo"
bounded 'a cyclic call graph is refused' "line 3: .*no cycles of calls.*'b'" "$work/cycle.hlo"
printf 'HloModule a\nENTRY e {\n x = f32[\0] parameter(0)\n}\n' > "$work/nul.hlo"
bounded 'a NUL byte is refused' 'NUL byte' "$work/nul.hlo"
python3 -c 'print("HloModule a\nENTRY e {\n x = " + "(" * 10**6 + "f32[]" + ")" * 10**6 + " parameter(0)\n}")' \
    > "$work/deep.hlo"
bounded 'a tuple a million deep is refused' \
    'line 3: expected a tuple at most 32 deep' "$work/deep.hlo"
python3 -c 'print("HloModule a\nENTRY e {\n x = f32[] constant(" + "{" * 10**6 + "\n}")' \
    > "$work/open.hlo"
bounded 'a million open braces are refused' "expected '\)'" "$work/open.hlo"
truncate -s 1G "$work/huge.hlo"
bounded 'a file of 1 GiB is refused' 'huge.hlo: larger than 268435456 bytes' "$work/huge.hlo"
head -c 100000 /dev/urandom | tr '\0' ' ' > "$work/noise.hlo"
bounded 'a dump of noise is refused' "line 1: expected 'HloModule'" "$work/noise.hlo"
head -c 5000 "$work/mlp.hlo" > "$work/half.hlo"
bounded 'half a dump is refused' 'line [0-9]*: expected' "$work/half.hlo"
python3 - > "$work/bomb.hlo" <<'PYTHON'
print("HloModule a\nc0 {\n x = f32[8,8] parameter(0)\n ROOT y = f32[8,8] dot(x, x), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}")
for i in range(1, 2000):
    print("%sc%d {\n x = f32[8,8] parameter(0)\n y = f32[8,8] call(x), to_apply=c%d\n"
          " ROOT z = f32[8,8] call(y), to_apply=c%d\n}" %
          ("ENTRY " if i == 1999 else "", i, i - 1, i - 1))
PYTHON
bounded 'calls that double 2000 times are refused' \
    'more than 1e\+30 operations' "$work/bomb.hlo"
printf 'HloModule a\nENTRY e {\n x = f32[8,8] parameter(0)\n ROOT y = f32[8,8] add(x, nothing)\n}\n' \
    > "$work/name.hlo"
bounded 'an undefined operand is refused' \
    "line 4: expected an operand defined above, found 'nothing'" \
    "$work/name.hlo"

# Cut off, bytes replaced, pieces moved
for name in lstm_step.after odd_ops.before odd_conv.after; do dump $name >"$work/$name.hlo"; done
is 'cut and changed dumps are refused in words' \
    "$("$PYTHON3" "$top/tests/import/hostile" hlo 300 "$work"/*.{before,after}.hlo 2>&1)" ''

# A step of about 20 MB: a perceptron of many layers.
python3 - > "$work/big.hlo" <<'PYTHON'
print("HloModule big\nENTRY e {\n x0 = f32[64,512] parameter(0)\n")
n = 50000
for i in range(n):
    print(" w%d = f32[512,512]{1,0} parameter(%d), metadata={op_name=\"params[%d]\"}\n"
          " d%d = f32[64,512]{1,0} dot(x%d, w%d), lhs_contracting_dims={1}, "
          "rhs_contracting_dims={0}, metadata={op_name=\"jit(f)/dot_general\" stack_frame_id=7}\n"
          " z%d = f32[] constant(0), metadata={op_name=\"jit(f)/max\"}\n"
          " b%d = f32[64,512]{1,0} broadcast(z%d), dimensions={}, metadata={op_name=\"max\"}\n"
          " x%d = f32[64,512]{1,0} maximum(d%d, b%d), metadata={op_name=\"jit(f)/max\"}\n"
          % (i, i + 1, i, i, i, i, i, i, i, i + 1, i, i))
print(" ROOT y = f32[64,512] negate(x%d)\n}" % n)
PYTHON
measure=$(python3 - "$work/big.hlo" "$DNNEST-dev" import --hlo "$work/big.hlo" --out "$work/big.json" <<'PYTHON'
import os, resource, subprocess, sys
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.2f s, %d MiB for %.1f MB" % (used.ru_utime + used.ru_stime, used.ru_maxrss / 1024,
                                      os.path.getsize(sys.argv[1]) / 1e6))
PYTHON
)
diag "a large dump: $measure"
gives 'a large dump is imported, equal layers together' 0 '"repeat":50000' \
    import --hlo "$work/big.hlo"
ok 'a large dump takes at most ten seconds of CPU time and half a GiB' \
    awk -v m="$measure" 'BEGIN { split(m, part, " "); exit !(part[1] < 10 && part[3] < 512) }'

done_testing
