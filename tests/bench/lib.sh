# shellcheck shell=bash
# lib.sh - shared by the scripts of this folder, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export srcdir=$top # where tests/unit/networks.h finds the networks that ship
build=$(mktemp -d)
# The tables of step times
# shellcheck disable=SC2034  # for those who source this
runs=("$top"/learn/data/{training_runs,training_runs_2,training_runs_3,networks_2}.csv)
trap 'rm -rf "$build"' EXIT

# compile NAME [SOURCE | FLAG]... - $build/NAME of NAME.c, these, and what all have in common: the
# fit, the reading of runs, and the rooms from metadata to a prediction. No configured tree is
# needed. Objects that are in the directory DNNEST_BENCH_OBJECTS are not compiled again.
# DNNEST_COMPILE_ONLY=yes ends the script here, to test that it compiles.
compile() {
    local name=$1 source objects=${DNNEST_BENCH_OBJECTS:-$build} sources=() linked=()
    local libraries=() flags
    for source in "$top"/tests/bench/{"$name",bench,step_fit}.c \
        "$top"/learn/{reals,run_spec,runs,score,table}.c \
        "$top"/model/{base,spec,request,hardware,graph,graph/zoo,predict}/*.c "${@:2}"; do
        case $source in
            -[lL]*) libraries+=("$source") ;;
            *)
                sources+=("$source")
                linked+=("$objects/${source//\//_}.o")
                ;;
        esac
    done
    # shellcheck disable=SC2206  # words
    flags=(-std=gnu11 -D_GNU_SOURCE -DPACKAGE_VERSION='"bench"' -DDNNEST_PYTHON_DIR='""'
        -DDNNEST_STATE_DIR='""' ${CFLAGS:--O2} -I"$top" -I"$top/model")
    # shellcheck disable=SC2016  # the inner shell's
    for source in "${sources[@]}"; do
        if [[ ! -e $objects/${source//\//_}.o ]]; then printf '%s\0' "$source"; fi
    done | xargs -r -0 -P "$(nproc)" -I '{}' bash -c '
        "${@:2}" -c -o "$0/${1//\//_}.o" "$1"' "$objects" '{}' "${CC:-cc}" "${flags[@]}"
    "${CC:-cc}" -o "$build/$name" "${linked[@]}" "${libraries[@]}" -ljson-c -lm
    [[ ! ${DNNEST_COMPILE_ONLY-} ]] || exit 0
}
