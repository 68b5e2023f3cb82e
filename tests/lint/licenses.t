#!/bin/bash
# licenses.t - every file names its licence, in a line of its own or in REUSE.toml
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'

# A build in the tree mixes its files with ours, and only git can tell them apart.
if [[ ! -e $top/.git && -e $top/config.status ]]; then skip_all 'built in the tree'; fi

readonly OURS_IS='GPL-2[.]0-or-later'
# These belong to autoconf, automake and libtool, and LICENSE to its authors.
readonly FOREIGN='^(LICENSE|configure|Makefile[.]in|aclocal[.]m4|packaging/build-aux/.*|packaging/m4/(libtool|lt.*)[.]m4)$'


licences() {
    python3 "$top/packaging/lib/licenses.py" "$1"
}

licences "$top" >"$work/all"
like 'the files of the tree are found' "$(cut -f 1 "$work/all" | grep -c '[.][ch]$')" '^[0-9]{3,}$'
is 'every file names its licence' "$(awk -F '\t' '$2 == "-" { print $1 }' "$work/all")" ''
is 'no file of dnnest names another licence than the others' \
    "$(awk -F '\t' -v foreign="$FOREIGN" -v ours="^$OURS_IS\$" \
        '$1 !~ foreign && $2 !~ ours && $2 != "-" { print $1 ": " $2 }' "$work/all")" ''
like 'LICENSE is the text of that licence' "$(head -n 2 "$top/LICENSE" | xargs)" \
    'GNU GENERAL PUBLIC LICENSE Version 2'
is 'every pattern of REUSE.toml matches a file, or one that autoreconf makes' \
    "$(python3 - "$top" "$work/all" <<'PYTHON'
import re
import sys

sys.path.insert(0, sys.argv[1] + "/packaging/lib")
sys.dont_write_bytecode = True
import licenses

with open(sys.argv[2], encoding="utf-8") as file:
    names = [line.split("\t")[0] for line in file]
made = ["configure", "aclocal.m4", "Makefile.in", "packaging/build-aux/install-sh",
        "packaging/build-aux/config.guess", "packaging/build-aux/config.sub",
        "packaging/build-aux/ltmain.sh", "packaging/m4/libtool.m4", "packaging/m4/ltsugar.m4"]
for match, _ in licenses.annotations(sys.argv[1]):
    if not any(match.match(name) for name in names + made):
        print(match.pattern)
PYTHON
)" ''

# A small tree shows that a file without a licence is found.
mkdir -p "$work/tree/data/deep"
cat >"$work/tree/REUSE.toml" <<'END'
# SPDX-License-Identifier: GPL-2.0-or-later
[[annotations]]
path = ["data/**", "*.txt"]
SPDX-License-Identifier = "CC0-1.0"

[[annotations]]
path = [
    "data/own.txt",
]
SPDX-License-Identifier = "MIT"
END
cd "$work/tree" || exit
echo '# SPDX-License-Identifier: GPL-2.0-or-later' >script
echo 'a text about SPDX-License-Identifier: GPL-2.0-or-later' >mention
touch data/deep/table data/own.txt top.txt data/deep/note
mkdir other && touch other/below.txt
is 'a line counts before REUSE.toml, the last pattern before others, and a mention does not count' \
    "$(licences "$work/tree" | tr '\t' ' ')" 'REUSE.toml GPL-2.0-or-later
data/deep/note CC0-1.0
data/deep/table CC0-1.0
data/own.txt MIT
mention -
other/below.txt -
script GPL-2.0-or-later
top.txt CC0-1.0'
done_testing
