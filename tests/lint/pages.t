#!/bin/bash
# pages.t - the manual pages have no warnings, name only pages that exist, and their HTML
# has working links
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/man" "$work/html"

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

# html FOLDER: what is wrong with the pages in it
html() {
    python3 - "$1" <<'PYTHON'
import glob
import html.parser
import os
import sys

folder = sys.argv[1]
VOID = {"meta", "link", "br", "hr", "col"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.open, self.ids, self.links, self.wrong = [], set(), [], []
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.feed(text)
        for need in ('<html lang="en">', 'name="viewport"', 'href="style.css"', "<title>"):
            if need not in text:
                self.wrong.append("no " + need)
        if self.open:
            self.wrong.append("not closed: %s" % self.open)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            if attrs["id"] in self.ids:
                self.wrong.append("id twice: " + attrs["id"])
            self.ids.add(attrs["id"])
        if "href" in attrs:
            self.links.append(attrs["href"])
        if tag == "a" and "a" in self.open:
            self.wrong.append("a link in a link")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append("</%s> out of order" % tag)


pages = {os.path.basename(path): Page(path) for path in glob.glob(folder + "/*.html")}
for name, page in sorted(pages.items()):
    for wrong in page.wrong:
        print(name, wrong)
    for link in page.links:
        file, _, place = link.partition("#")
        if not os.path.exists(folder + "/" + (file or name)):
            print(name, "has a link to", link)
        elif place and place not in pages[file or name].ids:
            print(name, "has a link to", link)
for name in sorted(set(pages) - set(pages["index.html"].links) - {"index.html"}):
    print("index.html has no link to", name)
PYTHON
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
ok 'the HTML is made' sh "$top/cli/pages/make_html" mandoc "$top/cli/pages/dnnest.css" \
    "$work/html" "$work"/man/*
if command -v python3 >/dev/null; then
    is 'the links of the HTML lead to pages and places that exist' "$(html "$work/html")" ''
    sed 's/dnnest-predict.1.html/absent.html/' "$work/html/dnnest.1.html" \
        >"$work/html/dnnest.7.html"
    not_ok 'a broken link is found' test -z "$(html "$work/html")"
else
    skip 'the links of the HTML lead to pages and places that exist' 'no python3'
    skip 'a broken link is found' 'no python3'
fi
done_testing
