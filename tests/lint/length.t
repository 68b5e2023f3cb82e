#!/bin/bash
# length.t - functions fit a screen
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

readonly LINES_MAX=60

# A function begins with a '{' alone in the first column and ends with a '}' there.
long=
for file in $(c_files "${OURS[@]}" tests); do
    long+=$(awk -v max=$LINES_MAX -v file="$file" '
        /^[A-Za-z].*\(/ { name = $0; start = NR }
        /^\{$/ { open = NR }
        /^\}$/ && open {
            if (NR - start + 1 > max)
                printf "%s:%d: %d lines: %s\n", file, start, NR - start + 1, name
            open = 0
        }' "$top/$file")
done
is "no function is longer than $LINES_MAX lines" "$long" ''

wide=
for file in $(c_files "${OURS[@]}"); do
    wide+=$(awk -v file="$file" 'length($0) > 88 { print file ":" NR }' "$top/$file")
done
is 'no line is longer than 88 characters' "$wide" ''

is 'no C file has a tab or a blank at the end of a line' \
    "$(cd "$top" && for file in $(c_files "${OURS[@]}" tests); do
        grep -nE $'\t| $' "$file" | sed "s|^|$file:|"
    done)" ''
is 'every C file begins with its own name' \
    "$(cd "$top" && for file in $(c_files "${OURS[@]}" tests); do
        [[ $(head -1 "$file") = "/* ${file##*/} - "* ]] || echo "$file"
    done)" ''
done_testing
