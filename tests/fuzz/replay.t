#!/bin/bash
# replay.t - what fuzzing has begun with, and what it has found, does no harm

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/../lint/lib.sh"
plan_later

for corpus in "$top"/tests/fuzz/*/; do
    target=$(basename "$corpus")
    program=${abs_top_builddir:-$top/build}/tests/fuzz/replay_$target
    ok "the corpus of $target is replayed" timeout 60 "$program" "$corpus"*
done
done_testing
