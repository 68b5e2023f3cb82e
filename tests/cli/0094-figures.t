#!/bin/bash
# 0094-figures.t - the report on figures that others printed

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python
plan_later

table=$top/tests/data/printed_figures.csv
figures() { python3 "$top/tests/bench/figures" --dnnest "$DNNEST" "$@"; }
# rows WHERE DEVICE RESULT - the number of rows of the report, each an extended expression
rows() { grep -cE "^\| $1 \|[^|]*\| $2 \|.*\| $3 \|" "$work/report"; }

figures > "$work/report" 2> "$work/err"
is 'the report is written without complaint' "$(cat "$work/err")" ''
is 'the report has a line for every printed figure' "$(grep -cE '\| (yes|no|not stated) \|' "$work/report")" \
    "$(($(wc -l < "$table") - 1))"
is 'what cannot be stated has a reason' "$(grep -cE '\| not stated \| +\|' "$work/report")" 0
is 'the accelerators reach the printed rates of products' \
    "$(rows 'table 3' '(sn30|bow_ipu|cs2|gaudi2_96gb)' yes)" 12
is 'an accelerator with a graph compiler waits for no host' \
    "$(dn predict --json --gpu gaudi2_96gb model=resnet50,batch=64,precision=bf16,input=synthetic \
        | sed -n 's/.*"host":\([0-9.]*\).*/\1/p')" 0
figures --output "$work/file"
is 'the report goes to the file that is named' "$(cat "$work/file")" "$(cat "$work/report")"
done_testing
