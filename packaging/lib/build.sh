# shellcheck shell=bash
# shellcheck disable=SC2154  # top and work are the caller's
# build.sh - a build from a clean copy of the tree, to be sourced
#
# The caller sets 'top', the tree, and 'work', a directory of its own; the copy is made in
# $work/src and built in directories beside it.

readonly WORDS_OF_FAILURE='(^|[^a-z_-])(error|fatal|failed|sanitizer|undefined reference|\*\*\*)([^a-z_-]|$)'

# Runs COMMAND with its output in a log; shows that log only where it fails. Its temporary
# files are below $work: perl's and the compiler's outlive a Ctrl-C.
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

# What a log says of a failure, indented, so that no line of it can be taken for the last
# line of ours. Output is often cut short on its way to the reader: so this is short, and
# what failed stands before the end of the log, which may have nothing to do with it.
show() {
    {
        failures "$1"
        printf '... the last lines of %d:\n' "$(wc -l <"$1")"
        tail -n 15 "$1"
    } | cut -c 1-300 | sed 's/^/  | /'
}

# The tests of a TAP log that failed, each with its comments, which follow it, and with what
# is no TAP just before it (cmocka, sanitizers). Where there are none, lines that look like
# a compiler's or a daemon's last words.
failures() {
    awk -v most=25 '
        function put(line) { if (lines++ < most) print line }
        # More than a few lines of one test would hide the next one.
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

# What git knows or would add, with its times; without git, all but what builds make.
copy_tree() {
    local files=$work/files
    mkdir "$work/src"
    if ! git -c safe.directory="$top" -C "$top" ls-files -coz --exclude-standard \
        >"$files" 2>/dev/null || [[ ! -s $files ]]; then
        tar -C "$top" --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.lo' \
            --exclude=./config.status --exclude=./Makefile -cf - . | tar -C "$work/src" -xf -
        return
    fi
    # A file may be deleted and git not told yet.
    while IFS= read -r -d '' file; do
        if [[ -e $top/$file || -L $top/$file ]]; then printf '%s\0' "$file"; fi
    done <"$files" | tar -C "$top" --null --no-recursion -T - -cf - |
        tar -C "$work/src" --no-same-owner -xf -
}

# configure_tree NAME OPTION...: in $work/NAME
configure_tree() {
    local name=$1
    shift
    cd "$work/src" && { [[ -x configure ]] || autoreconf -i; } &&
        mkdir "../$name" && cd "../$name" && ../src/configure --enable-werror "$@"
}

build_tree() {
    make -C "$work/$1" -j"$(nproc)"
}
