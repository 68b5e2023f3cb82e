# shellcheck shell=bash
# bundle.sh - model bundles for tests, to be sourced behind lib.sh
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
#   new_bundle NAME          $work/NAME: the small bundle of tests/unit, called NAME
#   change DIR PYTHON        change the manifest 'm' of a bundle in place

# shellcheck disable=SC2154  # work is lib.sh's
make_bundle=${abs_top_builddir:-$top}/tests/unit/make_bundle

new_bundle() {
    mkdir "$work/$1"
    "$make_bundle" "$work/$1"
    chmod -R u+rwX,go-w "$work/$1"
    change "$work/$1" "m['name'] = '$1'"
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
