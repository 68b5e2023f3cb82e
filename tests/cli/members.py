"""members.py - prints the members of JSON documents that dnnest(1) does not name

usage: members.py PAGE FOLDER NAME...

FOLDER has the documents NAME.json. For those of some commands it also has features.txt,
the list of 'dnnest train --features'.
"""
import json
import os
import re
import sys

# What others wrote, shown as it is.
FOREIGN = {"record", "data", "training", "residuals", "bounds", "metrics"}
# Objects whose members other pages name: metadata keys, and the stages of a step.
OPEN = ("spec", "breakdown_ms")
# Of 'dnnest train': objects with a member per run.
PER_RUN = {"devices", "constants"}


def names_in_open(value):
    if isinstance(value, list):
        return set().union(*map(names_in_open, value))
    if isinstance(value, dict):
        names = [set(value.get(key) or ()) for key in OPEN]
        return set().union(*names, *map(names_in_open, value.values()))
    return set()


def unknown(value, name, known, features):
    if isinstance(value, list):
        for item in value:
            yield from unknown(item, name, known, features)
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key not in known:
            yield key
        if key == "by":  # the table names the groups
            item = {k: list(groups.values()) for k, groups in item.items()}
        if key == "lengths":  # a member per feature, and two more
            yield from sorted(set(item) - features - known)
        elif name == "train" and key == "users":  # by user and application
            yield from unknown([list(own.values()) for own in item.values()], name, known,
                               features)
        elif name == "train" and isinstance(item, dict) and key in PER_RUN:
            yield from unknown(list(item.values()), name, known, features)
        elif key not in FOREIGN:
            yield from unknown(item, name, known, features)


def main(page, folder, *names):
    with open(page, encoding="utf-8") as file:
        chapter = re.search(r"^# JSON$(.*?)^# ", file.read(), re.M | re.S).group(1)
    known = set(re.findall(r"[*_]([a-z0-9_]+)[*_]", chapter)) | {"name"}
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
        for key in unknown(document, name, known, features):
            print("dnnest.1 does not name", key, "of", name)


main(*sys.argv[1:])
