# shellcheck shell=bash
# lib.sh - shared by the checks of the tree, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later

set -uo pipefail

top=${abs_top_srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
. "$top/tests/live/lib/tap.sh"
# shellcheck disable=SC2034  # used by files that source this
build=${abs_top_builddir:-$top}
# A new directory, which is deleted at the end.
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT

# The folders with our C files, in the order in which they may include one another.
# shellcheck disable=SC2034  # used by files that source this
readonly OURS=(model host plugin learn jobs import cli dev daemon bench)

# The C files below the named folders, one per line.
c_files() {
    (cd "$top" && find "$@" -name '*.[ch]' | LC_ALL=C sort)
}

# A C file without its comments, strings and characters; lines keep their numbers.
bare_c() {
    awk '
    {
        out = ""
        line = $0
        while (line != "") {
            if (comment) {
                end = index(line, "*/")
                if (!end) { line = ""; break }
                line = substr(line, end + 2)
                comment = 0
            } else if (match(line, /\/\*|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)+\047/)) {
                out = out substr(line, 1, RSTART - 1)
                if (substr(line, RSTART, 2) == "/*") {
                    comment = 1
                    line = substr(line, RSTART + 2)
                } else {
                    out = out "S"
                    line = substr(line, RSTART + RLENGTH)
                }
            } else {
                out = out line
                line = ""
            }
        }
        print out
    }' "$top/$1"
}
