#!/bin/bash
# bench.t - the programs of tests/bench, which are built when they are used, still compile

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
plan_later

read -ra cc <<< "${CC:-cc}"
if ! command -v "${cc[0]}" >/dev/null; then skip_all 'no compiler'; fi
read -ra flags < <(pkg-config --cflags json-c 2>/dev/null || echo)
for source in "$top"/tests/bench/*.c; do
    ok "${source##*/} compiles" "${cc[@]}" -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall \
        -Werror -DDNNEST_DATASETS='""' -I"$top/model" -I"$top/plugin" "${flags[@]}" "$source"
done
head -20 "$top/model/data/training_runs.csv" >"$work/runs.csv"
ok 'lib.sh names all that they are made of' "$top/tests/bench/calibrate-steps" --check \
    "$work/runs.csv"
done_testing
