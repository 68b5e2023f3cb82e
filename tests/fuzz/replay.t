#!/bin/bash
# replay.t - what fuzzing has begun with, and what it has found, does no harm

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/../lint/lib.sh"
plan_later

# The sources that the head of TARGET.c names.
aims() {
    sed -n '/^ \* Aims at:/,/^ \*$/s/^ \*\( Aims at:\)\{0,1\}//p' "$top/tests/fuzz/$1.c"
}

for corpus in "$top"/tests/fuzz/corpus/*/; do
    target=$(basename "$corpus")
    program=${abs_top_builddir:-$top/build}/tests/fuzz/replay_$target
    if [[ -e $program ]]; then
        ok "the corpus of $target is replayed" timeout 60 "$program" "$corpus"*
    else
        skip "the corpus of $target is replayed" 'built without cmocka or Slurm'
    fi
    missing=none
    for source in $(aims "$target"); do
        [[ $missing != none ]] || missing=
        [[ -e $top/$source ]] || missing+=" $source"
    done
    is "$target aims at sources that are there" "$missing" ''
done
is 'every input has at most 32 KiB, and every target at most 200' \
    "$(cd "$top/tests/fuzz/corpus" && find . -size +32768c
       for corpus in */; do
           n=$(find "$corpus" -type f | wc -l)
           ((n <= 200)) || echo "$corpus: $n"
       done)" ''
done_testing
