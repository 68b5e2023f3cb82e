# shellcheck shell=bash
# shellcheck disable=SC2154  # top and work are the caller's
# build.sh - a build from a clean copy of the tree, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The caller sets 'top', the tree, and 'work', a separate directory; the copy is in $work/src,
# and the build directories are beside it.

readonly WORDS_OF_FAILURE='(^|[^a-z_-])(error|fatal|failed|sanitizer|undefined reference|\*\*\*)([^a-z_-]|$)'

# The comment at the head of the script, from its usage on.
print_usage() {
    sed -n '/^# usage/,/^$/s/^# \{0,1\}//p' "$0"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# at_end COMMAND: when the script ends, also by a signal
at_end() {
    # shellcheck disable=SC2064  # COMMAND is that of now
    trap "$1" EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# The time of what is made is that of the sources.
take_their_time() {
    SOURCE_DATE_EPOCH=$(sh "$top/packaging/lib/source-date" "$top")
    export SOURCE_DATE_EPOCH
}

# step NAME COMMAND...: runs COMMAND, in this process if it is a function, with its output in a
# log; shows the log only if it fails. Its temporary files are below $work, since those of perl
# and of the compiler remain after a Ctrl-C.
step() {
    local name=$1 log started=$SECONDS
    shift
    log=$work/$name.out
    if TMPDIR=$work "$@" >"$log" 2>&1 </dev/null; then
        printf 'done  %s (%d s)\n' "$name" $((SECONDS - started))
        return
    fi
    printf 'FAIL  %s (%d s)\n' "$name" $((SECONDS - started))
    show "$log"
    return 1
}

# The failures in a log, indented, so that no line of it looks like the last line of the
# caller. Output is often truncated, so this is short. The failures come before the end of
# the log, which may be unrelated.
show() {
    {
        failures "$1"
        printf '... the last lines of %d:\n' "$(wc -l <"$1")"
        tail -n 15 "$1"
    } | cut -c 1-300 | sed 's/^/  | /'
}

# The failed tests of a TAP log, each with the comments after it and with the lines before it
# that are not TAP (cmocka, sanitizers). If there are none, lines that look like errors of a
# compiler or a daemon.
failures() {
    awk -v most=25 '
        function put(line) { if (lines++ < most) print line }
        # Only a few lines of each test, so that the next ones are shown too.
        /^not ok([ \t]|$)/ && toupper($0) !~ /#[ \t]*TODO/ {
            for (i = before > 3 ? before - 3 : 0; i < before; i++) put(held[i])
            put($0); room = 6; before = 0; next }
        /^(not )?ok([ \t]|$)/ || /^1\.\./ { room = 0; before = 0; next }
        /^Bail out!/ { put($0) }
        /^#/ { if (room-- > 0) put($0); next }
        { held[before++] = $0; room = 0 }
        END { if (lines > most) printf "... and %d lines more of failures\n", lines - most }
    ' "$1" | { grep . || grep -Ein -m 15 "$WORDS_OF_FAILURE" "$1" || true; }
}

# Files that git tracks or would add, with their times; without git, all files except those
# that builds make.
copy_tree() {
    local files=$work/files
    mkdir "$work/src"
    if ! git -c safe.directory="$top" -C "$top" ls-files -coz --exclude-standard \
        >"$files" 2>/dev/null || [[ ! -s $files ]]; then
        tar -C "$top" --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.lo' \
            --exclude=./config.status --exclude=./Makefile -cf - . | tar -C "$work/src" -xf -
        return
    fi
    # A deleted file may still be in git's index.
    while IFS= read -r -d '' file; do
        if [[ -e $top/$file || -L $top/$file ]]; then printf '%s\0' "$file"; fi
    done <"$files" | tar -C "$top" --null --no-recursion -T - -cf - |
        tar -C "$work/src" --no-same-owner -xf -
}

# configure_tree NAME OPTION...: in $work/NAME; the caller stays in its directory. configure and
# libtool are large shell scripts, which dash runs in two thirds of the time that bash needs.
configure_tree() (
    name=$1
    shift
    shell=$(command -v dash || command -v bash) || return 1
    cd "$work/src" && { [[ -x configure ]] || autoreconf -i; } && mkdir "../$name" &&
        cd "../$name" && CONFIG_SHELL=$shell "$shell" ../src/configure --enable-werror "$@"
)

build_tree() {
    make -C "$work/$1" -j"$(nproc)"
}
