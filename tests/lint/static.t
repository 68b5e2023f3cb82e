#!/bin/bash
# static.t - nothing that gcc's analyzer, clang-tidy or cppcheck finds in the sources
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Each version of the tools has other findings and other false positives, so only one of each
# is used: that of Debian 12. A false positive is marked in place, with its reason:
#
#   gcc         a comment on or above the line that is named, with the option's name in it
#   clang-tidy  NOLINT; checks that are off, and why, are in .clang-tidy
#   cppcheck    cppcheck-suppress; checks that are off are listed below
#
# A file is checked again only if it changes, after preprocessing, or if this script, the
# configuration of the tools or the compiler's flags change: a first run takes minutes, others
# seconds. One build is enough, since the code is the same with sanitizers.

. "$(dirname "$0")/lib.sh"

flags_file=$build/tests/lint/compile_flags.txt
if [[ ${DNNEST_SANITIZERS-} = yes ]]; then skip_all 'checked in the build without sanitizers'; fi
if [[ ! -e $flags_file ]]; then skip_all "no $flags_file: run by 'make check'"; fi

cd "$build" || exit
mapfile -t flags <"$flags_file"
clean=$build/tests/lint/static.clean # a file for each that has been found clean
mkdir -p "$clean"
n_jobs=$(nproc)

# usable COMMAND VERSION: is it installed in that version? Prints why not.
usable() {
    if ! command -v "$1" >/dev/null; then
        echo "$1 is not installed"
    elif ! "$1" --version 2>/dev/null | grep -qE "(^| )$2(\.|\$)"; then
        echo "not version $2 of $1"
    else
        return 0
    fi
    return 1
}

# Findings of gcc, except those next to a comment that names the option.
unexcused() {
    local file line rest option
    while IFS=: read -r file line rest; do
        option=${rest##*\[-W}
        option=${option%%]*}
        if ! sed -n "$((line > 1 ? line - 1 : 1)),${line}p" "$file" | grep -qF -- "-W$option"; then
            echo "$file:$line:$rest"
        fi
    done < <(grep -E '^[^ :]+:[0-9]+:[0-9]+: (warning|error):')
}

look_gcc() { # -O2: inlined, so that it sees most of what a function calls
    gcc "${flags[@]}" -O2 -fanalyzer -c -o /dev/null "$1" 2>&1 | unexcused
}

look_clang_tidy() { # five times the depth takes half as long again; gcc looks deeper
    clang-tidy --quiet "$1" -- "${flags[@]}" \
        -Xclang -analyzer-config -Xclang max-nodes=10000 2>/dev/null |
        grep -E '^[^ ].*: (warning|error): '
}

# look TOOL FILE: prints findings
look() {
    local stamp found
    stamp=$clean/$1-$({
        gcc "${flags[@]}" -E -C "$2"
        declare -f unexcused "look_$1"
        cat "$flags_file" "$top/.clang-tidy" "$(dirname "$2")/.clang-tidy" 2>/dev/null
    } | sha256sum | cut -c 1-32)
    if [[ -e $stamp ]]; then return; fi
    found=$("look_$1" "$2")
    if [[ -z $found ]]; then : >"$stamp"; else printf '%s\n' "$found"; fi
}

# The C files that are part of this build.
sources() {
    local without='^$'
    if [[ " ${flags[*]} " != *' -DHAVE_SLURM_SLURM_H=1 '* ]]; then without='^plugin/s'; fi
    c_files "${OURS[@]}" | grep '\.c$' | grep -vE "$without"
}

# look_all TOOL: the same for every file, as many in parallel as there are processors
look_all() {
    local file
    for file in $(sources); do
        while (($(jobs -pr | wc -l) >= n_jobs)); do wait -n; done
        look "$1" "$top/$file" &
    done
    wait
}

# memleak, resourceLeak: does not know __attribute__ ((cleanup)); gcc's analyzer does.
# readdirCalled, getpwuidCalled: for the command, which has one thread; for code that
#   slurmctld loads, clang-tidy and exports.t check this.
# shadowFunction, unusedStructMember, variableScope: matters of style; ours differs.
# The two macros are from headers that it does not get.
look_cppcheck() { # FILE..., beside those of the tree
    local known=()
    mapfile -t known < <(printf '%s\n' "${flags[@]}" | grep '^-[ID]' | grep -v ' ')
    mkdir -p "$clean/cppcheck"
    cppcheck -q -j "$n_jobs" --cppcheck-build-dir="$clean/cppcheck" --std=c11 \
        --enable=warning,portability,performance,style --inline-suppr \
        --suppress=memleak --suppress=resourceLeak --suppress=readdirCalled \
        --suppress=getpwuidCalled \
        --suppress=shadowFunction --suppress=unusedStructMember --suppress=variableScope \
        --suppress='*:generated/*' --library=posix --library=gnu \
        -D__GNUC__=12 '-DSPANK_PLUGIN(a,b)=' \
        --template='{file}:{line}: {message} [{id}]' \
        "${known[@]}" "${OURS[@]/#/$top/}" "$@" 2>&1
}

# report TITLE FINDINGS: on a failure, all of them
report() {
    is "$1" "$(sort -u <<<"${2//"$top/"/}")" ''
}

if why=$(usable gcc 12); then
    report "gcc's analyzer finds nothing" "$(look_all gcc)"
else
    skip "gcc's analyzer finds nothing" "$why"
fi
if why=$(usable clang-tidy 14); then
    report 'clang-tidy finds nothing' "$(look_all clang_tidy)"
else
    skip 'clang-tidy finds nothing' "$why"
fi
if why=$(usable cppcheck 2.10); then
    report 'cppcheck finds nothing' "$(look_cppcheck)"
else
    skip 'cppcheck finds nothing' "$why"
fi

# The checks themselves must find errors.
cp "$top/.clang-tidy" "$work/"
cat >"$work/bad.c" <<'END'
#include <stdlib.h>
#include <string.h>
int first (int n);
int first (int n)
{
    char *text = malloc (8);
    int value;

    memset (text, 0, 8);
    free (text);
    return n > 0 ? text[0] : value;
}
END
if usable gcc 12 >/dev/null; then
    like 'gcc sees a use after free' "$(look_gcc "$work/bad.c")" 'use-after-free'
    sed 's|^ *return.*|/* -Wanalyzer-use-after-free: as an example */\n&|' "$work/bad.c" >"$work/excused.c"
    found=$(look_gcc "$work/excused.c")
    not_ok 'a comment excuses a use after free' grep -q 'analyzer-use-after' <<<"$found"
    like 'a comment excuses one finding only' "$found" 'Wanalyzer-use-of-uninitialized'
fi
if usable clang-tidy 14 >/dev/null; then
    like 'clang-tidy sees a value that was never set' "$(look_clang_tidy "$work/bad.c")" \
        'clang-analyzer-core'
fi
if usable cppcheck 2.10 >/dev/null; then
    like 'cppcheck sees a value that was never set' "$(look_cppcheck "$work/bad.c")" 'uninitvar'
fi
done_testing
