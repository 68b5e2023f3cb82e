#!/bin/bash
# 0094-figures.t - the report on figures that others printed
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

table=$top/tests/data/printed_figures.csv
figures() { python3 "$top/tests/bench/figures" --dnnest "$DNNEST" "$@"; }
# lines PATTERN - how many lines of the report match the extended expression
lines() { grep -cE "$1" "$work/report"; }
# documents - the names of the table's documents, in its order
documents() {
    python3 -c '
import csv, sys
for name in dict.fromkeys(row["document"] for row in csv.DictReader(open(sys.argv[1]))):
    print("## " + name)' "$table"
}

figures > "$work/report" 2> "$work/err"
is 'every printed figure is computed without complaint' "$(cat "$work/err")" ''
is 'the report has a line for every printed figure' \
    "$(lines '\| (yes|no|not stated) \|')" "$(($(wc -l < "$table") - 1))"
is 'the figures stand below the document that printed them' \
    "$(grep '^## ' "$work/report" | grep -v 'Table 5')" "$(documents)"
is 'a line has the place, the device and the printed value' \
    "$(lines '^\| table 3 \| all-reduce of 240 MB \| cs2 \| 134.8 \| GB/s \| [0-9.]+ \| [+-]')" 1
is 'what cannot be stated has a reason' "$(lines '\| not stated \| +\|')" 0
is 'the accelerators reach the rates that table 3 printed for them' \
    "$(lines '^\| table 3 \|[^|]*\| (sn30|bow_ipu|cs2|gaudi2_96gb) \|.*\| yes \|')" 12
is 'the report counts the batches that a limit on the memory selects' \
    "$(lines 'in all [0-9]+ of 24')" 1
figures --output "$work/file"
is 'the report goes to the file that is named' "$(cat "$work/file")" "$(cat "$work/report")"
done_testing
