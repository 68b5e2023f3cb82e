#!/usr/bin/env python3
"""licenses.py - the licence of every file: its SPDX line, or the last match in REUSE.toml

usage: licenses.py TOP

Prints 'FILE<TAB>LICENCE' for every file of the tree TOP, in order, with '-' for a file that
has none. packaging/lib/sbom.py imports it.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import os
import re
import subprocess
import sys

# The line is near the beginning of a file.
HEAD_BYTES = 8192
LINE = re.compile(rb"^\W*SPDX-License-Identifier: +([A-Za-z0-9.+-]+(?: (?:WITH|OR|AND) "
                  rb"[A-Za-z0-9.+-]+)*)", re.MULTILINE)


def pattern(glob):
    """A glob of REUSE.toml as a regular expression for a whole path."""
    parts = re.split(r"(\*\*/?|\*|\[!d\])", glob)
    kinds = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "[!d]": "[^d/]"}
    return re.compile("".join(kinds.get(part, re.escape(part)) for part in parts) + r"\Z")


def annotations(top):
    """Of REUSE.toml: (pattern, licence), in order."""
    with open(os.path.join(top, "REUSE.toml"), encoding="utf-8") as file:
        text = re.sub(r"^\s*#.*", "", file.read(), flags=re.MULTILINE)
    found = []
    for block in text.split("[[annotations]]")[1:]:
        paths = re.search(r"^path = \[(.*?)\]$", block, re.MULTILINE | re.DOTALL)
        licence = re.search(r'^SPDX-License-Identifier = "(.*)"$', block, re.MULTILINE)
        if not paths or not licence:
            sys.exit("licenses.py: REUSE.toml: annotations without path or licence")
        for glob in re.findall(r'"([^"]+)"', paths[1]):
            found.append((pattern(glob), licence[1]))
    return found


def tracked(top):
    """The files that git tracks or would add; None if TOP is not a tree of git."""
    if not os.path.exists(os.path.join(top, ".git")):
        return None
    try:
        text = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", top, "ls-files", "-coz",
             "--exclude-standard"], capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return None
    return [name for name in text.split("\0") if name]


def walked(top):
    """All files below TOP but those of an editor, python, autoconf and of separate builds."""
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders
                      if name not in (".git", "__pycache__", "autom4te.cache", "_inst", "_build")
                      and not os.path.exists(os.path.join(folder, name, "config.status"))]
        for name in names:
            if not name.endswith("~"):
                yield os.path.relpath(os.path.join(folder, name), top)


def files_of(top):
    """The files of the tree, in order of their bytes."""
    names = tracked(top)
    if names is None:
        names = walked(top)
    return sorted((name for name in names if os.path.isfile(os.path.join(top, name))),
                  key=os.fsencode)


def licence_of(top, name, notes):
    """The licence of one file, None if it has none."""
    with open(os.path.join(top, name), "rb") as file:
        line = LINE.search(file.read(HEAD_BYTES))
    if line:
        return line[1].decode()
    last = None
    for match, licence in notes:
        if match.match(name):
            last = licence
    return last


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    top = sys.argv[1]
    notes = annotations(top)
    for name in files_of(top):
        print(name, licence_of(top, name, notes) or "-", sep="\t")


if __name__ == "__main__":
    main()
