#!/bin/bash
# 0091-batch-sizes.t - the report on Centimani's table of batch sizes
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python
plan_later

table=$top/tests/data/batch_sizes.csv
bench() { python3 "$top/tests/bench/batch-sizes" --dnnest "$DNNEST" "$@"; }

is 'the table has every network on every accelerator once' \
    "$(tail -n +2 "$table" | sed 's/^\([a-z0-9_]*\),".*",\([a-z0-9_]*\),.*/\1 \2/' | sort -u | wc -l)" 24
bench > "$work/report" 2> "$work/err"
is 'the report is written without complaint' "$(cat "$work/err")" ''
is 'the report has a line per pair' "$(grep -cE '  (yes|no)( |$)' "$work/report")" 24
is 'the report counts its matches right' \
    "$(sed -n 's/.* by hand for \([0-9]*\) of 24 pairs.*/\1/p' "$work/report")" \
    "$(grep -cE '  yes$' "$work/report")"
is 'the matches of Centimani are the 19 of its paper' \
    "$(sed -n 's/.* own matches for \([0-9]*\)\.$/\1/p' "$work/report")" 19
is 'every pair that differs has its reason' \
    "$(grep -E '  no ' "$work/report" | grep -cvE '  no +[0-9]+ (takes|would need) [0-9.e+]+ ')" 0
row() { sed -n 's/^braggnn  *cs2  *[0-9]*  *[0-9]*  *\([0-9]*\) .*/\1/p' "$work/report"; }
is 'our largest batch is that of predict' "$(row)" \
    "$(dn predict --json --gpu cs2 model=braggnn,batch=1,optimizer=adam,precision=bf16 \
        | sed -n 's/.*"largest_batch":\([0-9]*\).*/\1/p')"
bench --group braggnn --markdown > "$work/section"
is 'the report as a section begins with its title' "$(head -n 1 "$work/section")" \
    "## Largest batch (Centimani's table 5)"
is 'the report as a section has the same rows' \
    "$(sed -n 's/ *| */ /g; s/^ \(braggnn .*\)/\1/p' "$work/section" | tr -s ' ' | sed 's/ $//')" \
    "$(grep '^braggnn ' "$work/report" | tr -s ' ')"
done_testing
