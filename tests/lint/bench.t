#!/bin/bash
# bench.t - the programs of tests/bench, which are built when they are used, still compile
#
# SPDX-License-Identifier: GPL-2.0-or-later

without_python=yes
. "$(dirname "$0")/../cli/lib.sh"

if [[ ${DNNEST_SANITIZERS-} = yes ]]; then skip_all 'built in the build without sanitizers'; fi
read -ra cc <<< "${CC:-cc}"
if ! command -v "${cc[0]}" >/dev/null; then skip_all 'no compiler'; fi
read -ra flags < <(pkg-config --cflags json-c 2>/dev/null || echo)
for source in "$top"/tests/bench/*.c; do
    ok "${source##*/} compiles" "${cc[@]}" -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall \
        -Werror -DDNNEST_DATASETS='""' -DPACKAGE_VERSION='""' -I"$top" -I"$top/model" \
        -I"$top/plugin" -I"$top/daemon" "${flags[@]}" "$source"
done
# What a script compiles its program of. They have many objects in common.
mkdir "$work/objects"
for script in $(grep -l '^compile ' "$top"/tests/bench/*); do
    ok "$(basename "$script") links" env DNNEST_COMPILE_ONLY=yes DNNEST_BENCH_OBJECTS="$work/objects" \
        CFLAGS=-O0 "$script"
done

# Its objects are there by now.
printed=$(DNNEST_BENCH_OBJECTS="$work/objects" CFLAGS=-O0 "$top/tests/bench/one-run" 2>/dev/null)
like 'one-run prints a table' "$printed" '[|] another GPU type [|]'
is 'the figures after one run in doc/accuracy.md are those that one-run prints' \
    "$(grep -vxFf "$top/doc/accuracy.md" <<< "$printed")" ''
done_testing
