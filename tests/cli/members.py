"""members.py - prints the members of JSON documents that a manual page does not name

usage: members.py PAGES COMMAND FOLDER NAME...

PAGES is the folder of the pages. What follows "JSON:" in the section of COMMAND of dnnest(1),
or the chapter JSON of its own page or of dnnest-dev(1), has to name the members; or the same
of a page to which it refers.

FOLDER has the documents NAME.json. For those of some commands it also has features.txt,
the list of 'dnnest-dev train --features'.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import re
import sys

# The commands of dnnest-dev, which share a page
OF_DEV = {"evaluate", "train", "hardware", "import-dev"}
# What others wrote, shown as it is.
FOREIGN = {"record", "manifest", "site"}
# Objects whose members other pages name: metadata keys, and the stages of a step.
OPEN = ("spec", "breakdown_ms")
# Of 'dnnest-dev train': objects with a member per run.
PER_RUN = {"devices", "constants"}


def names_in_open(value):
    if isinstance(value, list):
        return set().union(*map(names_in_open, value))
    if isinstance(value, dict):
        names = [set(value.get(key) or ()) for key in OPEN]
        return set().union(*names, *map(names_in_open, value.values()))
    return set()


def unknown(value, command, known, features):
    if isinstance(value, list):
        for item in value:
            yield from unknown(item, command, known, features)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key not in known:
            yield key
        if key == "by":  # the table names the groups
            item = {k: list(groups.values()) for k, groups in item.items()}
        if key == "lengths":  # a member per feature, and two more
            yield from sorted(set(item) - features - known)
        elif command == "train" and key == "users":  # by user and application
            yield from unknown([list(own.values()) for own in item.values()], command, known,
                               features)
        elif command == "train" and isinstance(item, dict) and key in PER_RUN:
            yield from unknown(list(item.values()), command, known, features)
        elif key not in FOREIGN:
            yield from unknown(item, command, known, features)


def chapter(pages, page):
    """The text of the chapter JSON, and of those that it refers to."""
    path = f"{pages}/../../dev/{page}.1.scd" if page == "dnnest-dev" else f"{pages}/{page}.1.scd"
    pattern = r"^# JSON$(.*?)^# "
    if not os.path.exists(path):
        path = pages + "/dnnest.1.scd"
        pattern = r"^## %s$(?:(?!^#).)*?^JSON: (.*?)^Example:$" % page.removeprefix("dnnest-")
    with open(path, encoding="utf-8") as file:
        text = re.search(pattern, file.read(), re.M | re.S).group(1)
    others = set(re.findall(r"\*(dnnest-[a-z]+)\*\(1\)", text)) - {page}
    return "".join([text, *(chapter(pages, other) for other in sorted(others))])


def main(pages, command, folder, *names):
    page = "dnnest-dev" if command in OF_DEV else "dnnest-" + command
    text = chapter(pages, page)
    known = set(re.findall(r"[*_]([a-z0-9_]+)[*_]", text)) | {"name"}
    features = set()
    if os.path.exists(folder + "/features.txt"):
        with open(folder + "/features.txt", encoding="utf-8") as file:
            features = {line.split()[0] for line in file}
    documents = {}
    for name in names:
        with open(f"{folder}/{name}.json", encoding="utf-8") as file:
            documents[name] = json.load(file)
    known |= names_in_open(list(documents.values()))
    for name, document in documents.items():
        for key in unknown(document, command, known, features):
            print(f"the manual of {command} does not name", key, "of", name)


main(*sys.argv[1:])
