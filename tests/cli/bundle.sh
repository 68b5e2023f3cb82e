# shellcheck shell=bash
# bundle.sh - model bundles for tests, to be sourced behind lib.sh
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
#   new_bundle NAME          $work/NAME: the small bundle of tests/unit, called NAME
#   make_mock NAME           one that only looks like a bundle, of known content
#   change DIR PYTHON        change the manifest 'm' of a bundle in place
#   model ARGUMENT...        dnnest model with --dir=$place
#   listing                  what stands in and beside the place
#   current                  the name of the bundle in force, verified

# shellcheck disable=SC2034,SC2154  # work is lib.sh's, place is used by those that source
place=$work/var/dnnest/model
make_bundle=${abs_top_builddir:-$top}/tests/unit/make_bundle
mkdir "$work/var"

new_bundle() {
    mkdir "$work/$1"
    "$make_bundle" "$work/$1"
    chmod -R u+rwX,go-w "$work/$1"
    change "$work/$1" "m['name'] = '$1'"
}

make_mock() {
    python3 - "$work/$1" "$1" <<'PYTHON'
import hashlib
import json
import os
import sys

path, name = sys.argv[1:]
files = {"step.trees": "dnntrees " + name + " ".join(map(str, range(2000))),
         "site.json": json.dumps({"dnnest_site": 3, "runs": 37,
                                  "constants": {"launch_s": {"value": 4e-05}},
                                  "devices": {"t4_16gb": {"scale": 1.1}},
                                  "history": {"applications": {"mine": []}}})}
os.mkdir(path)
for file, text in files.items():
    with open(path + "/" + file, "w", encoding="utf-8") as out:
        out.write(text)
manifest = {
    "dnnest_bundle": 2, "name": name,
    "features": {"version": 3, "names": ["a", "b"]},
    "data": {"rows": 4812, "models": 140, "sources": 9, "gpus": 24,
             "files": [{"name": "training_runs.csv", "rows": 4812, "sha256": "00" * 32}]},
    "training": {"seed": 1},
    "residuals": {"step": {"file": "step.trees", "shrink": 0.5, "limit": 1}},
    "bounds": {"levels": [0.5, 0.95], "step": {"all": [0, 1.7], "groups": {"conv": [0, 1.6]}}},
    "metrics": {"step": {"median_ape": 0.113}},
    "files": {file: {"bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
              for file, text in files.items()}}
with open(path + "/manifest.json", "w", encoding="utf-8") as out:
    json.dump(manifest, out, indent=1)
PYTHON
}

change() {
    python3 - "$1/manifest.json" "$2" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    m = json.load(file)
exec(sys.argv[2])
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(m, file)
PYTHON
}

listing() { (cd "$work/var/dnnest" 2>/dev/null && find . | LC_ALL=C sort); }

current() {
    dn model --dir "$place" --json verify 2>&1 | python3 -c \
        'import json, sys; print(json.load(sys.stdin)["name"])' 2>&1 | tail -1
}

slots() {
    dn model --dir "$place" --json list 2>&1 | python3 -c '
import json, sys
print(*[s["slot"] + "=" + (s["name"] or "damaged") for s in json.load(sys.stdin)["slots"]])' 2>&1 |
        tail -1
}
