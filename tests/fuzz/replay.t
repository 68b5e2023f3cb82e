#!/bin/bash
# replay.t - what fuzzing has begun with, and what it has found, does no harm
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/../lint/lib.sh"

readonly corpora=$top/tests/fuzz/corpus

work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT

# The sources that the head of TARGET.c names.
aims() {
    sed -n '/^ \* Aims at:/,/^ \*$/s/^ \*\( Aims at:\)\{0,1\}//p' "$top/tests/fuzz/$1.c"
}

# unpack TARGET: the files of its archive, in a folder of their own.
unpack() {
    mkdir "$work/$1"
    [[ ! -e $corpora/$1.tar.xz ]] || tar -xJf "$corpora/$1.tar.xz" -C "$work/$1"
}

# Those files whose name is not libFuzzer's for their contents, the SHA-1 digest.
misnamed() {
    (cd "$1" && find . -type f -printf '%P\n' | while read -r name; do
        [[ $(sha1sum <"$name") = "$name  -" ]] || echo "$name"
    done)
}

for corpus in "$corpora"/*/; do
    target=$(basename "$corpus")
    program=${abs_top_builddir:-$top/build}/tests/fuzz/$target
    ok "the archive of $target can be unpacked" unpack "$target"
    is "the archive of $target has only files that libFuzzer named" \
        "$(misnamed "$work/$target")" ''
    mapfile -t inputs < <(find "$corpus" "$work/$target" -type f | LC_ALL=C sort)
    if [[ -e $program ]]; then
        ok "the corpus of $target is replayed" timeout 60 "$program" "${inputs[@]}"
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
is 'every archive is that of a target' \
    "$(for archive in "$corpora"/*.tar.xz; do
           [[ -d ${archive%.tar.xz} ]] || echo "$archive"
       done)" ''
is 'no input that libFuzzer named lies outside the archives' \
    "$(find "$corpora" -regextype posix-extended -regex '.*/[0-9a-f]{40}')" ''
is 'every input has at most 32 KiB' \
    "$(find "$corpora" "$work" -mindepth 2 -size +32768c)" ''
is 'every target has at most 250 inputs' \
    "$(for corpus in "$corpora"/*/; do
           target=$(basename "$corpus")
           n=$(find "$corpus" "$work/$target" -type f | wc -l)
           ((n <= 250)) || echo "$target: $n"
       done)" ''
done_testing
