#!/bin/bash
# versions.t - one header has the differences of Slurm's versions, and compiles for all
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The headers of one version of Slurm are installed. The plugins are compiled with them once
# unchanged, and once for each other version with only the number changed. That compiles every
# branch of versions.h, but not with the headers of that version. tests/live/matrix compiles
# with the headers of the versions that distributions have.

. "$(dirname "$0")/lib.sh"
. "$top/tests/live/lib/versions.sh"

readonly HEADER=plugin/submit/versions.h
# A job_submit plugin contains the number of the headers that it was built with.
readonly BEARER=plugin/submit/job_submit_dnnest.c
readonly BEARS='const uint32_t plugin_version = SLURM_VERSION_NUMBER;'

# mentions FILE...: uses of the version of Slurm in code
mentions() {
    local file
    for file in "$@"; do
        bare_c "$file" | grep -nE 'SLURM_(VERSION_(NUM|MAJOR|MINOR|MICRO|NUMBER|STRING)|MAJOR|MINOR|MICRO)\b' |
            sed "s|^|$file:|"
    done
}

mapfile -t files < <(c_files "${OURS[@]}" tests | grep -vx "$HEADER")
is "only $HEADER uses the version of Slurm" \
    "$(mentions "${files[@]}" | grep -vxE "$BEARER:[0-9]+:$BEARS" |
        grep -vE ':[0-9]+: *assert_int_equal \(\*version, SLURM_VERSION_NUMBER\);$')" ''

like 'a file that uses the version of Slurm is detected' "$(mentions "$HEADER")" 'SLURM_VERSION_NUM'

mapfile -t versions < <(awk '{ print $1 }' <<<"$SLURM_VERSIONS")
like 'README.md names the oldest and the newest version' "$(<"$top/README.md")" \
    "${versions[0]} to ${versions[-1]}[^0-9]"

# --- compiling -----------------------------------------------------------------------

config=${abs_top_builddir:-$top}/config.status
# value NAME: of a variable of the build
value() {
    sed -n "s/^S\[\"$1\"\]=\"\(.*\)\"\$/\1/p" "$config" | head -1
}
if [[ ! -e $config || $(value DN_SLURM_VERSION) = no ]]; then
    skip 'the plugins compile for every version' 'built without Slurm'
    done_testing
    exit
fi

mkdir "$work/slurm"
folders=(plugin/submit plugin/spank)
if [[ -n $(value CMOCKA_LIBS) ]]; then folders+=(tests/plugin); fi
real=$(value DN_SLURM_VERSION)
read -ra cc <<<"$(value CC) $(value SLURM_CPPFLAGS) $(value JSON_C_CFLAGS)"

# compiles [NUMBER]: the files that include Slurm's headers, as if these were that version's
compiles() {
    local file include=()
    if (($# > 0)); then
        printf '#include_next <slurm/slurm_version.h>\n#undef SLURM_VERSION_NUMBER\n%s\n' \
            "#define SLURM_VERSION_NUMBER $1" >"$work/slurm/slurm_version.h"
        include=(-I"$work")
    fi
    for file in $(c_files "${folders[@]}"); do
        [[ $file = *.c ]] || continue
        grep -q 'include [<"]slurm/\|include "\(submit/\|stand_in\)' "$top/$file" || continue
        "${cc[@]}" "${include[@]}" -std=gnu11 -fsyntax-only -Wall -Wextra -Wno-unused-parameter -Werror \
            -D_GNU_SOURCE -DPACKAGE_VERSION='"0"' -DDN_SLURM_VERSION='"0"' -DDNNEST_PYTHON_DIR='"/"' \
            -I"${abs_top_builddir:-$top}" -I"$top" -I"$top/model" -I"$top/plugin" -I"$top/tests/unit" \
            -I"$top/tests/plugin" -I"$top/tests/fuzz" "$top/$file" || return 1
    done
}

ok "the plugins and their tests compile with the headers of Slurm $real" compiles
for version in "${versions[@]}"; do
    if [[ $real = "$version".* ]]; then continue; fi
    major=${version%.*} minor=${version#*.}
    ok "the plugins and their tests compile with headers that call themselves $version" \
        compiles "$((10#$major << 16 | 10#$minor << 8))"
done
not_ok 'the plugins do not compile with headers that call themselves 21.08' compiles "$((21 << 16 | 8 << 8))"
done_testing
