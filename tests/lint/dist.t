#!/bin/bash
# dist.t - the tarball has every file of the tree, and the version is in one place
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip_all 'python3 is not installed'
# A build in the tree mixes its files with ours, and only git can tell them apart.
if [[ ! -e $top/.git && -e $top/config.status ]]; then skip_all 'built in the tree'; fi

readonly MADE='configure|aclocal[.]m4|Makefile[.]in|packaging/m4/l.*|packaging/build-aux/.*|packaging/rpm/dnnest[.]spec'
version=$(sed -n 's/^AC_INIT(\[dnnest\], \[\(.*\)\])$/\1/p' "$top/configure.ac")

# The files of the tree; without git all of them, also what autoreconf has made.
python3 "$top/packaging/lib/licenses.py" "$top" | cut -f 1 >"$work/tree"

# The files that 'make dist' packs: those of a folder are all in it.
packed() {
    env -u MAKEFLAGS -u MFLAGS make -s -C "$build" Makefile >/dev/null 2>&1
    env -u MAKEFLAGS -u MFLAGS make -s --no-print-directory -C "$build" list-dist | sed "s|^$top/||; s|^\(\.\./\)*\($(basename "$top")/\)\?||; s|^\./||" |
        while read -r name; do
            if [[ -d $top/$name ]]; then
                grep "^$name/" "$work/tree"
            else
                echo "$name"
            fi
        done
}

if [[ -e $build/Makefile ]]; then
    LC_ALL=C sort -u -o "$work/tree" "$work/tree"
    packed | LC_ALL=C sort -u >"$work/packed"
    is "the tarball has every file of the tree" "$(LC_ALL=C comm -23 "$work/tree" "$work/packed")" ''
    is 'every file of the tarball exists' "$(while read -r name; do
        [[ -e $top/$name || -e $build/$name ]] || echo "$name"
    done <"$work/packed")" ''
    is 'the tarball has no other file but those that autoreconf and configure make' \
        "$(LC_ALL=C comm -13 "$work/tree" "$work/packed" | grep -vxE "$MADE")" ''
else
    skip 'the tarball has every file of the tree' 'not configured'
fi

# --- the version ---------------------------------------------------------------------

like 'configure.ac has the version' "$version" '^[0-9]+[.][0-9]+[.][0-9]+$'
like 'the first release of NEWS is this version' \
    "$(grep -m 1 '^dnnest [0-9]' "$top/NEWS")" "^dnnest ${version//./[.]}( |\$)"
# A commit with the tag of a version is a release.
# released TAGS HEADING: what is wrong with it
released() {
    local tag
    for tag in $1; do
        [[ $tag = "v$version" ]] || echo "$tag, and the version is $version"
        [[ $2 =~ ^dnnest\ [0-9.]+\ \(20[0-9]{2}-[01][0-9]-[0-3][0-9]\)$ ]] || echo "$tag: no date: $2"
    done
}
tags=
if [[ -e $top/.git ]]; then
    tags=$(git -c safe.directory='*' -C "$top" tag --points-at HEAD 2>/dev/null | grep '^v[0-9]')
fi
is 'a tag is that of the version, and NEWS has the date' \
    "$(released "$tags" "$(grep -m 1 '^dnnest [0-9]' "$top/NEWS")")" ''
is 'a tag of another version, and one without a date are found' "$(released v9 'dnnest 9 (in work)')" \
    "v9, and the version is $version
v9: no date: dnnest 9 (in work)"
is 'a release is not found wrong' "$(released "v$version" "dnnest $version (2027-01-31)")" ''
# NEWS names it as the title of its chapter. Inputs of tests have foreign numbers.
is 'only configure.ac and NEWS have the version' \
    "$(cd "$top" && grep -v '^tests/data/\|^tests/fuzz/\|^learn/\|^etc/bundle/' \
        "$work/tree" | grep -vxE "$MADE" |
        tr '\n' '\0' | xargs -0 grep -lE "(^|[^0-9.])${version//./[.]}([^0-9.]|\$)" --)" 'NEWS
configure.ac'
if [[ -x ${DNNEST-} ]]; then
    is 'dnnest prints it' "$("$DNNEST" --version)" "dnnest $version"
fi
if [[ -x $build/dnnestd ]]; then
    is 'dnnestd prints it' "$("$build/dnnestd" --version)" "dnnestd $version"
fi
page=$build/cli/pages/dnnest.1
if [[ -e $page ]]; then
    like 'the pages have it' "$(grep '^[.]TH' "$page")" "\"dnnest ${version//./[.]}\""
fi
done_testing
