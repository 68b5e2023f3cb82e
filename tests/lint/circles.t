#!/bin/bash
# circles.t - no file of a folder calls one that calls it back, directly or through others
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two files that need each other cannot be read or tested separately. The calls of a file are
# read from the built objects: the undefined symbols and the files that define them.

. "$(dirname "$0")/lib.sh"
if ! command -v nm >/dev/null; then skip_all 'nm is not installed'; fi

# The global symbols of every object whose source is in the tree: "SOURCE TYPE SYMBOL".
symbols() {
    (cd "$build" && find "${OURS[@]}" -name '*.o' -exec nm -A -g -P {} + 2>/dev/null) \
        | sed -E 's|^(.*/)([^/:]*-)?([^/:]*)\.o: ([^ ]+) ([^ ]+).*|\1\3.c \5 \4|; s|/\.libs/|/|' \
        | LC_ALL=C sort -u \
        | awk -v top="$top/" '
            !($1 in here) {
                here[$1] = (getline line < (top $1)) >= 0
                close (top $1)
            }
            here[$1]'
}

# Arrows between the files, "FROM TO" a line.
arrows() {
    symbols | awk '
        $3 == "main" { next }
        $2 == "U" { from[++n] = $1; wants[n] = $3; next }
        { home[$3] = $1 }
        END {
            for (i = 1; i <= n; i++)
                if (wants[i] in home && home[wants[i]] != from[i])
                    print from[i], home[wants[i]]
        }' | LC_ALL=C sort -u
}

# Of the arrows on standard input, those on a circle or between two: the arrows that are left
# when files that call none of the rest, or that none of the rest calls, are removed.
circles() {
    awk '
        { from[NR] = $1; to[NR] = $2 }
        END {
            do {
                left = 0
                delete out
                delete into
                for (i = 1; i <= NR; i++)
                    if (from[i]) { out[from[i]] = 1; into[to[i]] = 1 }
                for (i = 1; i <= NR; i++)
                    if (from[i] && (!(to[i] in out) || !(from[i] in into))) {
                        from[i] = ""
                        left = 1
                    }
            } while (left)
            for (i = 1; i <= NR; i++) if (from[i]) print from[i], to[i]
        }'
}

all=$(arrows)
ok 'the objects of the build show arrows' test "$(wc -l <<< "$all")" -gt 100
is 'a circle of two is found' "$(printf 'a b\nb a\nb c\nd a\n' | circles)" $'a b\nb a'
is 'a circle of three is found' "$(printf 'a b\nb c\nc a\nc d\n' | circles)" \
    $'a b\nb c\nc a'
is 'no file calls one that calls it back' "$(circles <<< "$all" | head -n 20)" ''

# --- the order in which a room lists its files ---------------------------------------

# listed HEADER: the C files that the first comment of a room's header lists, in order.
listed() {
    local dir=${1%/*}
    sed -nE '/\*\//q; s|^ \*     ([a-z_]+\.c) .*|\1|p' "$top/$1" | sed "s|^|$dir/|"
}

order=$(listed model/predict/predict.h)
is 'predict.h lists the files of its room' "$(LC_ALL=C sort <<< "$order")" \
    "$(c_files model/predict | grep '\.c$')"
is 'a file of model/predict calls only those that predict.h lists above it' \
    "$(awk -v order="$order" '
        BEGIN { n = split(order, list, "\n"); for (i = 1; i <= n; i++) at[list[i]] = i }
        $1 in at && $2 in at && at[$1] < at[$2]' <<< "$all")" ''
done_testing
