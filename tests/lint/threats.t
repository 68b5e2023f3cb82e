#!/bin/bash
# threats.t - every test that THREATS.md, FAULTS.md and CONTRACT.md of plugin/ name is in the
# tree, and is run
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A row ends in `FILE`: TITLE. It may end in a dash if no test is possible. THREATS.md
# then states that nothing stops the threat, CONTRACT.md that there is no test.

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
plan_later

# The rows of a page, without the heads of its tables, whose first word is HEAD.
rows_of() {
    grep '^|.*|$' "$top/plugin/$1" | awk -F'|' 'NF >= 5' | grep -vE "^\|(---|( $2 \|))"
}

# wrong_rows [MIN [EXCUSE]]: prints the errors of the rows of stdin, of which there should be
# MIN or more. A row that ends in a dash must contain the excuse.
wrong_rows() {
    local row cell file title n=0 excuse=${2-**Not stopped**}
    while IFS= read -r row; do
        cell=${row% |}
        cell=${cell##*| }
        n=$((n + 1))
        if [[ $cell = - ]]; then
            [[ $row = *"$excuse"* ]] || echo "no test: $row"
        elif [[ ! $cell =~ ^\`([^\`]+)\`:\ (.+)$ ]]; then
            echo "no test: $row"
        else
            file=${BASH_REMATCH[1]} title=${BASH_REMATCH[2]}
            if [[ ! -e $top/$file ]]; then
                echo "no such file: $file"
            elif ! grep -qF -- "$title" "$top/$file"; then
                echo "no such test in $file: $title"
            elif [[ $file != tests/live/* ]] &&
                ! grep -qF -- "${file%.c}" "$top"/*/*.am "$top"/*/*/*.am; then
                echo "not run: $file"
            fi
        fi
    done
    if ((n < ${1-1})); then echo "$n rows"; fi
}

rows=$(rows_of THREATS.md tries)
is 'every threat names a test that exists' "$(wrong_rows 50 <<<"$rows")" ''
is 'a threat without a defence is marked as such' \
    "$(grep '| - |$' <<<"$rows" | grep -vF '**Not stopped**')" ''

faults=$(rows_of FAULTS.md fault)
is 'every fault names a test that exists' "$(wrong_rows 25 <<<"$faults")" ''
is 'every test of faults.c is of a fault that is named' \
    "$(sed -n '/^int main/,$s/.*FAULT ("\(.*\)",.*/\1/p' "$top/tests/plugin/faults.c" |
        while IFS= read -r title; do
            grep -qF ": $title |" <<<"$faults" || echo "$title"
        done)" ''

contract=$(rows_of CONTRACT.md fact)
is 'every fact of the contract names a test that exists' \
    "$(wrong_rows 100 '**No test**' <<<"$contract")" ''
is 'exactly the facts without a test are marked as such' \
    "$(grep -F '**No test**' <<<"$contract" | grep -v '| - |$')" ''
is 'every test of contract.t is of a fact that is named' \
    "$(sed -nE "s/^ *(is|like|ok|pass|ends|fields) '([^']+)'.*/\2/p" "$top/tests/live/contract.t" |
        while IFS= read -r title; do
            grep -qF "/contract.t\`: $title |" <<<"$contract" || echo "$title"
        done)" ''

# The check itself must find wrong rows.
like 'a missing test is detected' \
    "$(wrong_rows <<<'| a | b | `tests/lint/threats.t`: '"no title of$$"' |')" 'no such test'
like 'a missing test file is detected' \
    "$(wrong_rows <<<'| a | b | `tests/lint/nothing.t`: x |')" 'no such file'
like 'a row without a test is detected' "$(wrong_rows <<<'| a | b | - |')" 'no test'
done_testing
