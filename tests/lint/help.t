#!/bin/bash
# help.t - what the scripts of packaging/ print with --help
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# The options that a script takes: the labels of its case.
taken() {
    sed -nE 's/^ +(-h \| )?(--[a-z-]+)(=[^ )]*)?( \| -h)?\).*/\2/p' "$1"
}

cd "$top/packaging" || exit
n=0
for script in check demo setup reproducible rebuild-for-slurm deb/build rpm/build \
    slurm/calibrate slurm/keep-record; do
    help=$("./$script" --help 2>&1)
    is "packaging/$script --help succeeds" "$?" 0
    is "packaging/$script --help names every option that it takes" \
        "$(taken "$script" | grep -vxFf <(grep -oE -- '--[a-z-]+' <<<"$help"; echo --help))" ''
    # A sentence, or what is said of an option or of a file.
    like "packaging/$script --help is whole" "$(tail -n 1 <<<"$help")" '[.]$|^  +-*[a-zA-Z/=]+  '
    n=$((n + $(taken "$script" | wc -l)))
done
ok 'the options of the scripts are found' test "$n" -gt 25
done_testing
