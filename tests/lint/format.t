#!/bin/bash
# format.t - C is formatted by .clang-format
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# Other versions of the tool break some lines differently.
readonly VERSION=14

command -v clang-format >/dev/null || skip_all 'clang-format is not installed'
[[ $(clang-format --version) =~ version\ $VERSION\. ]] \
    || skip_all "not version $VERSION of clang-format"
[[ -e $top/.clang-format ]] || skip_all 'no .clang-format'

cd "$top" || exit
for folder in "${OURS[@]}" tests; do
    is "files of $folder/ are formatted" "$(c_files $folder \
        | xargs -r clang-format --dry-run 2>&1 | grep -E 'warning|error' | cut -d: -f1 | uniq -c)" ''
done
done_testing
