#!/bin/bash
# pages.t - the manual pages have no warnings, and name only pages that exist
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

mkdir "$work/man"

# Every page, formatted, in $work/man
formatted() {
    local source name
    for source in "$top"/cli/pages/*.scd "$top"/plugin/*/*.scd "$top"/daemon/*.scd "$top"/guard/*.scd \
        "$top"/dev/*.scd; do
        name=${source##*/} name=${name%.scd}
        "${abs_top_builddir:-$top/build}/cli/page_rows" <"$source" >"$work/source" &&
            sh "$top/cli/pages/make_page" scdoc 1.2.3 <"$work/source" >"$work/man/$name" || return
    done
}

# mentions: the pages of dnnest that a page names and that do not exist
mentions() {
    grep -oHE '\b(dnnest[a-z_.-]*|job_submit_dnnest|spank_dnnest)\*?\([0-9]\)' \
        "$top"/cli/pages/*.scd "$top"/plugin/*/*.scd "$top"/daemon/*.scd "$top"/guard/*.scd "$top"/dev/*.scd \
        "$top"/*.md | tr -d '*' | while IFS=: read -r file name; do
        name=${name%)}
        [[ -e $work/man/${name/\(/.} ]] || echo "${file##*/} names $name)"
    done
}

if ! command -v scdoc >/dev/null || ! command -v mandoc >/dev/null; then
    skip_all 'scdoc or mandoc is not installed'
fi
ok 'the pages are made' formatted
is 'every page that is named exists' "$(mentions)" ''
is 'mandoc has no warning about a page' \
    "$(cd "$work/man" && mandoc -T lint -W warning -- * 2>&1)" ''
if command -v man >/dev/null; then
    is 'man has no warning about a page' \
        "$(for page in "$work"/man/*; do
            LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 \
                >/dev/null | sed "s|^|${page##*/}: |"
        done)" ''
else
    skip 'man has no warning about a page' 'man is not installed'
fi
done_testing
