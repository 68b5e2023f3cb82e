# shellcheck shell=bash
# shellcheck disable=SC2154  # top and work are the caller's
# build.sh - a build from a clean copy of the tree, to be sourced
#
# The caller sets 'top', the tree, and 'work', a directory of its own; the copy is made in
# $work/src and built in directories beside it.

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

# A log, indented, so that no line of it can be taken for the last line of ours.
show() {
    local lines
    lines=$(wc -l <"$1")
    if ((lines > 400)); then
        printf '  | ... the last 400 of %d lines\n' "$lines"
    fi
    tail -n 400 "$1" | sed 's/^/  | /'
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
