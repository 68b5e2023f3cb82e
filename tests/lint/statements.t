#!/bin/bash
# statements.t - every statement of doc/design.md names tests that exist and are run
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A row of a table whose last column is 'test' ends in `FILE`: TITLE, several of them with
# <br> between, or in a dash where it says **Not stopped** or **No test**. What
# job_submit_dnnest(8) and README.md say with "never", "always", "no job" or "cannot" is a
# row of 'Without exception'.

. "$(dirname "$0")/lib.sh"
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi

# check DIR: prints the errors of the tree in DIR
check() {
    python3 - "$1" <<'PYTHON'
import glob
import re
import sys

top = sys.argv[1]
PAGES = ("plugin/submit/job_submit_dnnest.8.scd", "README.md")
WORDS = re.compile(r"\b(never|always|no job|no jobs|cannot)\b", re.I)


def read(path):
    with open(top + "/" + path, encoding="utf-8") as file:
        return file.read()


def plain(text):
    """Without marks and line breaks."""
    return re.sub(r"\s+", " ", re.sub(r"[*_`\\]", "", text)).strip()


def rows():
    """Pairs of chapter and cells, of the tables of tests."""
    chapter, tests = "", False
    for line in read("doc/design.md").splitlines():
        if line.startswith("#"):
            chapter = line.lstrip("# ")
        if not line.startswith("|"):
            tests = None
            continue
        cells = [x.strip() for x in re.split(r"(?<!\\)\|", line[1:-1])]
        if tests is None:
            tests = cells[-1] == "test"
        elif tests and not re.fullmatch(r"[-: ]+", cells[0]):
            yield chapter, cells


lists = read("configure.ac") + "".join(read(x[len(top) + 1:]) for x in glob.glob(top + "/*/*.am")
                                       + glob.glob(top + "/*/*/*.am"))
tests = {}
named = {"tests/plugin/faults.c": set(), "tests/live/contract.t": set()}
claims, n = [], 0
for chapter, cells in rows():
    n += 1
    statement = cells[0]
    if chapter == "Without exception":
        claims.append(plain(statement))
        if not WORDS.search(statement):
            print("no statement without exception: " + statement)
    if cells[-1] == "-":
        if "**Not stopped**" not in statement and "**No test**" not in statement:
            print("no test: " + statement)
        continue
    for test in cells[-1].split("<br>"):
        found = re.fullmatch(r"`([^`]+)`: (.+)", test)
        if not found:
            print("no test: " + statement)
            continue
        path, title = found.groups()
        try:
            text = tests.setdefault(path, None) or read(path)
        except OSError:
            print("no such file: " + path)
            continue
        tests[path] = text
        named.setdefault(path, set()).add(title)
        if title not in text:
            print("no such test in %s: %s" % (path, title))
        # places.t finds scripts that are not run.
        if path.endswith(".c") and re.sub(r"\.c$", "", path) not in lists:
            print("not run: " + path)
if n < 200:
    print("%d rows" % n)

for path in PAGES:
    text, covered = plain(read(path)), []
    for claim in claims:
        at = text.find(claim)
        while at >= 0:
            covered.append((at, at + len(claim)))
            at = text.find(claim, at + 1)
    for word in WORDS.finditer(text):
        if not any(a <= word.start() and word.end() <= b for a, b in covered):
            print("%s: no test of: ...%s..." % (path, text[max(0, word.start() - 60):word.end() + 60]))
pages = " ".join(plain(read(path)) for path in PAGES)
for claim in claims:
    if claim not in pages:
        print("no page says: " + claim)

# Every forced fault and every checked fact of Slurm is named.
for title in re.findall(r'^TEST \(\s*"(.*?)"\)', read("tests/plugin/faults.c"), re.M):
    if title not in named["tests/plugin/faults.c"]:
        print("not named: tests/plugin/faults.c: " + title)
for title in re.findall(r"^ *(?:is|like|ok|pass|ends|fields) '([^']+)'", read("tests/live/contract.t"), re.M):
    if title not in named["tests/live/contract.t"]:
        print("not named: tests/live/contract.t: " + title)
PYTHON
}

is 'every statement names tests that exist and are run' "$(check "$top")" ''

# The check itself must find what is wrong.
for entry in "$top"/*; do ln -s "$entry" "$work/"; done
rm "$work"/{doc,README.md}
mkdir "$work/doc"
cp "$top/doc/design.md" "$work/doc/"
cp "$top/README.md" "$work/"
# wrong TITLE REGEX FILE TEXT: TEXT at the end of FILE is an error
wrong() {
    cp "$work/$3" "$work/doc/kept"
    printf '\n%s\n' "$4" >>"$work/$3"
    like "$1" "$(check "$work")" "$2"
    cp "$work/doc/kept" "$work/$3"
}
table=$'| statement | test |\n|---|---|\n'
wrong 'a new statement without a test is found' 'README.md: no test of: .*It never rains' \
    README.md 'It never rains.'
wrong 'a statement over two lines is found' 'README.md: no test of: .*no job is lost' \
    README.md $'There *no\njob* is lost.'
wrong 'a statement that no page makes is found' 'no page says: it never rains' \
    doc/design.md $'### Without exception\n\n'"$table"'| it never rains | `tests/lint/statements.t`: check |'
wrong 'a missing test is found' 'no such test in tests/lint/statements.t: no title'"$$" \
    doc/design.md "$table| x | \`tests/lint/statements.t\`: no title$$ |"
wrong 'a missing file is found' 'no such file: tests/lint/none.t' \
    doc/design.md "$table"'| x | `tests/lint/none.t`: x |'
wrong 'a row without a test is found' 'no test: rain' doc/design.md "$table| rain | - |"
done_testing
