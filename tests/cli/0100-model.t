#!/bin/bash
# 0100-model.t - bundles: show, verify
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bundle.sh"

new_bundle a

# Options and arguments
refuses 'an action must be named' 2 'missing' model
refuses 'an unknown action is named with the known actions' 2 \
    "'install' is unknown, expected show or verify" model install x
refuses 'where Bundle is none there is no bundle to show' 1 'Bundle=none' model show

# Show
gives 'a bundle is shown' 0 'name +a.*files +[1-9].*not tuned' model show "$work/a"
bundle=$work/a
gives 'the bundle in use is shown' 0 "bundle +$work/a" model show
bundle=none
json 'JSON has what is shown of a bundle' \
    'd["name"] == "a" and d["manifest"]["dnnest_bundle"] == 2 and d["site"] is None
     and len(d["manifest"]["features"]["names"]) > 40 and "step.trees" in str(d["manifest"]["files"])
     and set(d) == {"dir", "name", "id", "manifest", "site"}' model show "$work/a"
new_bundle rich
change "$work/rich" 'm["data"] = {"rows": 4812}'
change "$work/rich" 'm["data"] = {"\x1b[2J": 1}'
try model show --json "$work/rich"
not_ok 'no escape sequence of a manifest reaches the terminal' grep -q $'\x1b' "$work/out"

# Verify; tests/unit/bundle.c has wrong manifests
gives 'a whole bundle is verified' 0 ': ok \(a, [0-9]+ files\)' model verify "$work/a"
json 'JSON has the bundle that was verified' \
    'd["name"] == "a" and len(d["id"]) == 64' model verify "$work/a"
damage() {
    local title=$1 regex=$2 command=$3
    rm -rf "$work/bad"
    new_bundle bad
    (cd "$work/bad" && eval "$command")
    refuses "$title" 4 "bad.*$regex" model verify "$work/bad"
}
damage 'a changed byte is found' 'step.trees: ' \
    "printf X | dd of=step.trees bs=1 seek=100 conv=notrunc status=none"
damage 'a shorter file is found' 'step.trees: ' 'truncate -s 50 step.trees'
damage 'a missing file is found' 'step.trees: ' 'rm step.trees'
damage 'a link is no file' 'step.trees: ' 'mv step.trees ../s.json; ln -s ../s.json step.trees'
damage 'a FIFO is no file' 'step.trees: ' 'rm step.trees; mkfifo step.trees'
damage 'a file that others may write is not trusted' 'step.trees: .*writable' \
    'chmod 666 step.trees'
done_testing
