#!/bin/bash
# 0082-evaluate-long.t - long tables: bounded memory, progress, memory errors
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# rows N: a table of N runs of many sizes, each in a separate group
rows() {
    awk -v n="$1" 'BEGIN {
        print "spec,gpu,step_ms,peak_mem_gb,power_w,group,source"
        for (i = 0; i < n; i++)
            printf "\"model=mlp,layers=%d,hidden=%d,batch=%d,precision=fp16\",t4_16gb,%.3f," \
                "%.3f,%d,group %d,source %d\n", 1 + i % 7, 64 + i % 61, 1 + i % 512,
                1 + i % 100, 1 + i % 9, 30 + i % 40, i, i % 5
    }'
}
rows 10000 > "$work/short.csv"
rows 100000 > "$work/long.csv"

# Seconds and the largest resident size in KiB.
measure() {
    python3 - "$work/report" "$DNNEST-dev" evaluate --json "${trusted[@]}" "$@" <<'PYTHON'
import resource
import subprocess
import sys
import time

begun = time.monotonic()
with open(sys.argv[1], "wb") as out:
    subprocess.run(sys.argv[2:], stdout=out, check=True)
print("%.2f %d" % (time.monotonic() - begun,
                   resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
PYTHON
}
head -2 "$work/short.csv" > "$work/one.csv"
read -r _ library_kib < <(measure "$work/one.csv")
read -r _ short_kib < <(measure "$work/short.csv")
read -r seconds long_kib < <(measure --predictions "$work/out.csv" "$work/long.csv")
diag "100000 rows in $seconds s, $long_kib KiB; 10000 rows: $short_kib KiB"
is 'a hundred thousand rows are predicted' \
    "$(sed -n 's/.*"predicted": *\([0-9]*\).*/\1/p' "$work/report")" 100000
is 'a hundred thousand rows are written' "$(wc -l < "$work/out.csv")" 100001
if grep -q __asan_init "$DNNEST" "${DNNEST%/*}/.libs/dnnest" 2>/dev/null; then
    skip 'ten times the rows take no more than 24 MiB more' 'built with sanitizers'
    skip 'a hundred thousand rows take at most 64 MiB beside the libraries' 'built with sanitizers'
else
    ok 'ten times the rows take no more than 24 MiB more' \
        test $((long_kib - short_kib)) -lt 24576
    ok 'a hundred thousand rows take at most 64 MiB beside the libraries' \
        test $((long_kib - library_kib)) -lt 65536
fi
is 'of a table with a group per row a thousand groups are kept' \
    "$(value 'len(g), sum(x["n"] for x in g.values()), g["(others)"]["n"]' "$work/report" \
        'g = d["by"]["group"]')" '(1025, 100000, 98976)'
is 'without a terminal nothing is printed on stderr' \
    "$(dn evaluate "$work/short.csv" 2>&1 >/dev/null)" ''

if command -v script >/dev/null; then
    # A table that arrives slowly through a pipe.
    cat > "$work/slow.sh" <<SH
{ cat "$work/short.csv"; sleep 1.2; tail -n +2 "$work/short.csv"; } |
    "$DNNEST-dev" evaluate --hardware "$work/hardware" --datasets "$work/datasets.conf" \\
        --conf "$work/site.conf" - > /dev/null
SH
    shown=$(script -qec "sh $work/slow.sh" /dev/null < /dev/null)
    like 'long work shows its progress on a terminal' "$shown" \
        'dnnest-dev: [0-9]+ rows, [0-9]+ rows/s'
else
    skip 'long work shows its progress on a terminal' 'no script'
fi

# What the loader does with the paths of many libraries.
printf '{\nloader\nMemcheck:Addr8\nfun:strncmp\nfun:is_dst\n...\n}\n' > "$work/supp"
if under_valgrind -dev --suppressions="$work/supp"; then
    head -200 "$work/short.csv" > "$work/few.csv"
    ok 'evaluate has no memory error' dn evaluate --json --predictions "$work/o.csv" \
        "$work/few.csv"
    printf 'spec,gpu\n1,2\n"x' > "$work/bad.csv"
    try evaluate --predictions "$work/o.csv" "$work/bad.csv"
    is 'an error causes no memory error' "$code" 4
else
    skip 'evaluate has no memory error' 'no valgrind, or built with sanitizers'
fi
done_testing
