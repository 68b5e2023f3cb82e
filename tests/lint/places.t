#!/bin/bash
# places.t - a change touches few files, and CONTRIBUTING.md names them
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

readonly FILES_MAX=5
contributing=$(<"$top/CONTRIBUTING.md")

# chapter TITLE [TEXT]: its text, of CONTRIBUTING.md by default
chapter() {
    awk -v title="## $1" '/^## / { inside = $0 == title } inside' <<<"${2-$contributing}"
}

# The texts between backticks on standard input, a line each.
quoted() {
    tr '`' '\n' | sed -n 'n;p'
}

# exists PATH: of a file or folder; NAME matches any
exists() {
    compgen -G "$top/${1//NAME/*}" >/dev/null
}

# --- the table -------------------------------------------------------------------------

mapfile -t rows < <(chapter 'Where a change goes' | grep '^| ' | tail -n +2)
ok 'the table has the changes that are counted' test "${#rows[@]}" -ge 11
for row in "${rows[@]}"; do
    IFS='|' read -r _ change files proof _ <<<"$row"
    change=${change# } change=${change% }
    mapfile -t paths < <(quoted <<<"$files")
    ok "$change: touches 1 to $FILES_MAX files" \
        test "${#paths[@]}" -ge 1 -a "${#paths[@]}" -le "$FILES_MAX"
    is "$change: its files exist" \
        "$(for path in "${paths[@]}"; do exists "$path" || echo "$path"; done)" ''
    is "$change: its tests exist" \
        "$(quoted <<<"$proof" | while read -r path; do
            exists "$path" || exists "$path.c" || echo "$path"
        done)" ''
done
not_ok 'a missing file is detected' exists model/graph/zoo/NAME.h.c

# --- the path of a request ------------------------------------------------------------------

# missing FILE FUNCTION...: the functions that FILE, or a file of that folder, does not have
missing() {
    local function
    [[ -e $top/$1 ]] || echo "$1 is missing"
    for function in "${@:2}"; do
        grep -rqE "(^|[ *])$function \(" "$top/$1" || echo "$1: no $function ()"
    done
}

# misplaced: of steps on standard input, a line each, the functions that are not in the
# file that is named after them, or before them where none is
misplaced() {
    local step word functions path
    while read -r step; do
        functions=() path=
        while read -r word; do
            if [[ $word = *' ()' ]]; then
                functions+=("${word% ()}")
            elif [[ $word = */* && $word != *' '* ]]; then
                path=$word
                missing "$path" "${functions[@]}"
                functions=()
            fi
        done < <(quoted <<<"$step")
        if ((${#functions[@]} > 0)); then missing "$path" "${functions[@]}"; fi
    done
}

steps=$(chapter 'The path of one request' "$(<"$top/doc/design.md")" | sed -E 's/^[0-9]+\. /\f/' | tr '\n\f' ' \n')
is 'the path of a request names functions where they are' "$(misplaced <<<"$steps")" ''
is 'a function in another file is detected' \
    "$(misplaced <<<"a step: \`dn_advise ()\` in \`model/site.c\`")" \
    'model/site.c: no dn_advise ()'
like 'the path of a request has functions' "$steps" 'dn_advise \(\)'

# --- files that a list must have -------------------------------------------------------

# list TARGET: what the build directory's Makefile runs or packs
list() {
    env -u MAKEFLAGS -u MFLAGS make -s --no-print-directory -C "$build" "$1" >"$work/$1"
    echo "$work/$1"
}
# unlisted GLOB FILE...: the files of GLOB that none of the files names
unlisted() {
    local path
    (
        cd "$top" || exit
        for path in $1; do
            grep -qE "(^|[ /])${path%.c}(\.c)?( |$)" "${@:2}" || echo "$path"
        done
    )
}

is 'graph.am compiles every file of the zoo' "$(unlisted 'model/graph/zoo/*.c' model/graph/graph.am)" ''
is 'zoo.h registers every family that is defined' \
    "$(cd "$top/model/graph/zoo" && sed -n 's/^const struct dn_zoo_family dn_zoo_\(\w*\) .*/\1/p' \
        ./*.c | grep -vx generic | while read -r family; do
        grep -q "^ *X ($family) " zoo.h || echo "$family"
    done)" ''
is 'every test but those on a private Slurm is run' \
    "$(unlisted 'tests/[!l]*/*.t tests/lint/*.t' "$(list list-tests)" plugin/plugin.am)" ''
is 'every test is distributed' "$(unlisted 'tests/*/*.t' "$(list list-dist)")" ''
is 'unit.am compiles every test of a room' \
    "$(unlisted 'tests/unit/*.c' tests/unit/unit.am)" ''
like 'an unlisted file is detected' "$(unlisted 'tests/cli/*.t' etc/etc.am)" '0001-usage.t'

# --- changes as they are made ------------------------------------------------------------
#
# Each function of tests/lint/places.sh makes a change in a copy of the tree. The copy with all of
# them is built once, without the plugins.

mkdir "$work/b"
tar -C "$top" --exclude=./.git --exclude='*.o' --exclude='*.lo' --exclude='*.a' --exclude=.libs \
    --exclude='*.log' -cf - . | tar -C "$work" -xf - --exclude=./b
chmod -R u+rwX,go-w "$work"
cd "$work" || exit 1

sums() { find . -type f -not -path './b/*' -exec md5sum {} + | sort; }
before=$(sums)

# makes FILES CHANGE: the change touches that number of files
makes() {
    local after
    (set -eu && . "$top/tests/lint/places.sh" && "$2")
    after=$(sums)
    is "$2: touches $1 files" \
        "$(comm -13 <(echo "$before") <(echo "$after") | wc -l)" "$1"
    before=$after
}

makes 1 network
makes 3 family
makes 1 gpu
makes 1 generation
makes 3 metadata_key
makes 3 policy_key
makes 1 message
makes 4 subcommand
makes 2 slurm_version

cd b || exit 1
build() {
    (cd .. && automake --foreign) && ../configure -q --without-slurm CFLAGS=-O0 &&
        printf '%s\n' 'include Makefile' 'built: $(BUILT_SOURCES)' >built.mk &&
        make -s -f built.mk built && make -s -j2 dnnest
}
ok 'the copy with all changes is built' build
options=(--hardware="$work/etc/hardware" --datasets="$work/etc/datasets.conf"
    --zoo="$work/etc/zoo" --model=none)
# With --datasets= zoo lists data sets.
echo "Datasets=$work/etc/datasets.conf" >"$work/zoo.conf"
chmod go-w "$work/zoo.conf"
zoo=(--conf="$work/zoo.conf" --hardware="$work/etc/hardware" --zoo="$work/etc/zoo" --model=none)
spec=model=squeezenet1_9,batch=8,precision=fp16,steps=10

like 'network: zoo lists it' "$(./dnnest zoo "${zoo[@]}" squeezenet1_9)" 'squeezenet1_9 +squeezenet '
like 'family: zoo lists it' "$(./dnnest zoo "${zoo[@]}" zenithnet)" 'zenithnet_t +zenith '
like 'gpu: a run is predicted on it' \
    "$(./dnnest predict "${options[@]}" --gpu=z100_80gb "$spec")" 'z100_80gb +yes'
sed -i 's/^Arch=.*/Arch=zenith/' "$work/etc/hardware/z100_80gb.conf"
like 'generation: a run is predicted on a device of it' \
    "$(./dnnest predict "${options[@]}" --gpu=z100_80gb "$spec")" 'z100_80gb +yes'
run_s() {
    ./dnnest predict "${options[@]}" --json --gpu=z100_80gb "$1" |
        tr -d '\n ' | sed -n 's/.*"train_s":{"p50":\([0-9]*\).*/\1/p'
}
is 'metadata key: it changes the prediction' \
    "$((10#0$(run_s "$spec,zenith=3000") - 10#0$(run_s "$spec") > 2900))" 1
echo 'Zenith=yes' >"$work/site.conf"
like 'policy key: it is configured' \
    "$(./dnnest config "${options[@]}" --conf="$work/site.conf" 2>&1)" 'Zenith +yes|Zenith=yes'
echo 'Gpu Type=x Device=x' >"$work/site.conf"
like 'message: it is printed' \
    "$(./dnnest predict "${options[@]}" --conf="$work/site.conf" "$spec" 2>&1)" \
    "'x' is not a device of the catalogue"
like 'subcommand: it runs' "$(./dnnest zenith "${options[@]}")" '^[0-9]+ devices$'
if grep -q '^SCDOC = .*scdoc' Makefile; then
    pages=(cli/pages/dnnest.spec.5 cli/pages/dnnest.conf.5 cli/pages/dnnest.1)
    make -s "${pages[@]}"
    for page in "${pages[@]}"; do like "$page has it" "$(<"$page")" '[Zz]enith'; done
else
    skip 'the pages have the keys and the subcommand' 'no scdoc'
fi
is 'slurm version: it is among those that are compiled and tested' \
    "$(abs_top_srcdir=$work abs_top_builddir=$work/b bash "$work/tests/lint/versions.t" | grep '^not ok')" ''
done_testing
