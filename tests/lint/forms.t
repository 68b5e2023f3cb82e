#!/bin/bash
# forms.t - the man page's table of request forms, and the golden submissions
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every row of REQUEST FORMS in job_submit_dnnest(8) has golden submissions in
# tests/plugin/forms.txt, and every golden submission is of a form that has a row.

. "$(dirname "$0")/lib.sh"

page=$top/plugin/submit/job_submit_dnnest.8.scd
golden=$top/tests/plugin/forms.txt

# First cells of the table, without their markup and without the head of the table.
rows=$(sed -n '/^# REQUEST FORMS/,/^# [A-Z]* *[A-Z]*$/p' "$page" \
    | sed -n 's/^|  //p' | sed 's/[*_\\]//g' | LC_ALL=C sort)
forms=$(sed -n 's/^form: //p' "$golden" | LC_ALL=C sort -u)

ok 'the page has the table' test "$(grep -c . <<<"$rows")" -ge 40
is 'no form has two rows' "$(uniq -d <<<"$rows")" ''
is 'every row of the page has a golden submission, and every submission a row' \
    "$(diff <(echo "$rows") <(echo "$forms") || true)" ''
is 'every submission states its version and its edits' \
    "$(awk 'BEGIN { RS = ""; FS = "\n" } /(^|\n)form: / &&
            (!/\nslurm: (22\.05|23\.11|24\.11|26\.05)\n/ || !/\njob: / || !/\nedits: /) { print $1 }' \
        "$golden")" ''
is 'every submission that keeps something states why' \
    "$(awk 'BEGIN { RS = ""; FS = "\n" } /\nedits: nothing/ && !/\n(why|user): / { print $1 }' \
        "$golden")" ''
done_testing
