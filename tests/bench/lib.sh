# shellcheck shell=bash
# lib.sh - shared by the scripts of this folder, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(mktemp -d)
# The rooms from metadata to a prediction
# shellcheck disable=SC2034  # for those who source this
predictor=("$top"/model/{base,spec,request,hardware,graph,graph/zoo,predict}/*.c)
trap 'rm -rf "$build"' EXIT

# compile NAME [SOURCE | FLAG]... - $build/NAME of NAME.c, bench.c and these; no configured
# tree is needed. DNNEST_COMPILE_ONLY=yes ends the script here, to test that it compiles.
compile() {
    local name=$1
    shift
    # shellcheck disable=SC2086  # words
    "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -DPACKAGE_VERSION='"bench"' -DDNNEST_PROBE_DIR='""' \
        -DDNNEST_STATE_DIR='""' ${CFLAGS:--O2} \
        -I"$top" -I"$top/model" -o "$build/$name" \
        "$top/tests/bench/$name.c" "$top/tests/bench/bench.c" "$@" -lcsv -lm
    [[ ! ${DNNEST_COMPILE_ONLY-} ]] || exit 0
}
