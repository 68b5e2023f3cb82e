#!/bin/bash
# claims.t - what the pages say holds without exception has a test
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A statement with "never", "always", "no job" or "cannot" in job_submit_dnnest(8), README.md,
# or the text of THREATS.md and FAULTS.md is in a row of plugin/CLAIMS.md, with its test. The
# tables of THREATS.md and FAULTS.md name the tests of their own rows: threats.t.

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
plan_later
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi

# check DIR: prints the errors of the tree in DIR
check() {
    python3 - "$1" <<'PYTHON'
import re
import sys

top = sys.argv[1]
PAGES = {
    "job_submit_dnnest(8)": "plugin/submit/job_submit_dnnest.8.scd",
    "README": "README.md",
    "THREATS": "plugin/THREATS.md",
    "FAULTS": "plugin/FAULTS.md",
}
WORDS = re.compile(r"\b(never|always|no job|no jobs|cannot)\b", re.I)


def read(path):
    with open(top + "/" + path, encoding="utf-8") as file:
        return file.read()


def plain(text):
    """Without marks and line breaks."""
    return re.sub(r"\s+", " ", re.sub(r"[*_`\\]", "", text)).strip()


def page_text(name):
    text = read(PAGES[name])
    if name in ("THREATS", "FAULTS"):
        text = re.sub(r"^\|.*$", "", text, flags=re.M)
    return plain(text)


texts = {name: page_text(name) for name in PAGES}
covered = {name: [] for name in PAGES}
rows = 0
for line in read("plugin/CLAIMS.md").splitlines():
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if not line.startswith("|") or cells[0] in ("page", "---"):
        continue
    rows += 1
    if len(cells) != 3 or cells[0] not in PAGES:
        print("no row of page, statement and test: " + line)
        continue
    page, claim, proof = cells[0], plain(cells[1]), cells[2]
    at = texts[page].find(claim)
    if at < 0:
        print("%s does not say: %s" % (page, claim))
    elif not WORDS.search(claim):
        print("no statement without exception: " + claim)
    while at >= 0:
        covered[page].append((at, at + len(claim)))
        at = texts[page].find(claim, at + 1)
    test = re.fullmatch(r"`([^`]+)`: (.+)", proof)
    if not test:
        print("no test: " + line)
        continue
    try:
        if test[2] not in read(test[1]):
            print("no such test in %s: %s" % (test[1], test[2]))
    except OSError:
        print("no such file: " + test[1])

for page, text in texts.items():
    for word in WORDS.finditer(text):
        if not any(a <= word.start() and word.end() <= b for a, b in covered[page]):
            print("%s: no test of: ...%s..." % (page, text[max(0, word.start() - 60):word.end() + 60]))
if rows < 10:
    print("%d rows" % rows)
PYTHON
}

is 'every statement without exception names a test that exists' "$(check "$top")" ''

# The check itself must find what is wrong.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/plugin/submit"
cp "$top"/plugin/*.md "$work/plugin/"
cp "$top"/plugin/submit/*.scd "$work/plugin/submit/"
cp "$top/README.md" "$work/"
ln -s "$top/tests" "$work/tests"
# wrong TITLE REGEX FILE TEXT: TEXT at the end of FILE is an error
wrong() {
    cp "$work/$3" "$work/kept"
    printf '\n%s\n' "$4" >>"$work/$3"
    like "$1" "$(check "$work")" "$2"
    cp "$work/kept" "$work/$3"
}
is 'a copy of the pages is as right as the pages' "$(check "$work")" ''
wrong 'a new statement without a test is found' 'README: no test of: .*It never rains' \
    README.md 'It never rains.'
wrong 'a statement over two lines is found' 'FAULTS: no test of: .*no job is lost' \
    plugin/FAULTS.md $'There *no\njob* is lost.'
wrong 'a statement that the page no longer makes is found' 'README does not say: it never rains' \
    plugin/CLAIMS.md '| README | it never rains | `tests/lint/claims.t`: x |'
wrong 'a missing test of a statement is found' 'no such test in tests/lint/claims.t: no title'"$$" \
    plugin/CLAIMS.md "| FAULTS | no job is changed until | \`tests/lint/claims.t\`: no title$$ |"
done_testing
