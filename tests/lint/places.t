#!/bin/bash
# places.t - a change touches few files, and CONTRIBUTING.md names them
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/lint/lib.sh
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

# unlisted GLOB FILE...: the files of GLOB that none of the files names
unlisted() {
    local path
    (
        cd "$top" || exit
        for path in $1; do
            grep -qF "$path" "${@:2}" || echo "$path"
        done
    )
}

is 'graph.am compiles every file of the zoo' \
    "$(unlisted 'model/graph/zoo/*.[ch]' model/graph/graph.am)" ''
is 'zoo.h registers every family that is defined' \
    "$(cd "$top/model/graph/zoo" && sed -n 's/^const struct dn_zoo_family dn_zoo_\(\w*\) .*/\1/p' \
        ./*.c | grep -vx generic | while read -r family; do
        grep -q "^ *X ($family) " zoo.h || echo "$family"
    done)" ''
is 'cli.am runs every test of the command' "$(unlisted 'tests/cli/*.t' cli/cli.am)" ''
is 'every rule of the tree is run' \
    "$(unlisted 'tests/lint/*.t' tests/tests-cli.am plugin/plugin.am)" ''
is 'every test on a private Slurm is distributed' \
    "$(unlisted 'tests/live/*.t' plugin/plugin.am tests/tests.am)" ''
is 'unit.am runs every test of a room' \
    "$(cd "$top/tests/unit" && grep -l '^TEST (\|CMUnitTest tests' ./*.c | grep -vw unit_main |
        sed 's|^\./\(.*\)\.c$|tests/unit/\1|' | while read -r name; do
        grep -q "^    $name " unit.am || echo "$name"
    done)" ''
like 'an unlisted file is detected' "$(unlisted 'tests/cli/*.t' etc/etc.am)" '0001-usage.t'
done_testing
