#!/bin/bash
# versions.t - one header knows where the versions of Slurm differ, and suits all of them
#
# The headers of one Slurm are at hand. They are compiled against once as they are, and
# then once for each other version with nothing but the number changed: that takes every
# branch of versions.h, but it does not tell what another version's headers hold. Those
# that a distribution has are compiled against by tests/live/matrix.

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/live/lib/versions.sh
. "$top/tests/live/lib/versions.sh"
plan_later

readonly HEADER=plugin/submit/versions.h
# A job_submit plugin bears the number of the headers that it was built with.
readonly BEARER=plugin/submit/job_submit_dnnest.c
readonly BEARS='const uint32_t plugin_version = SLURM_VERSION_NUMBER;'

# mentions FILE...: of the version of Slurm, in code
mentions() {
    local file
    for file in "$@"; do
        bare_c "$file" | grep -nE 'SLURM_(VERSION_(NUM|MAJOR|MINOR|MICRO|NUMBER|STRING)|MAJOR|MINOR|MICRO)\b' |
            sed "s|^|$file:|"
    done
}

mapfile -t files < <(c_files "${OURS[@]}" tests | grep -vx "$HEADER")
is "only $HEADER asks for the version of Slurm" \
    "$(mentions "${files[@]}" | grep -vxE "$BEARER:[0-9]+:$BEARS" |
        grep -vE ':[0-9]+: *assert_int_equal \(\*version, SLURM_VERSION_NUMBER\);$')" ''

like 'a file that asks for the version of Slurm is seen' "$(mentions "$HEADER")" 'SLURM_VERSION_NUM'

mapfile -t versions < <(awk '{ print $1 }' <<<"$SLURM_VERSIONS")
for file in README.md "$HEADER"; do
    like "$file names the oldest and the newest version" "$(<"$top/$file")" \
        "${versions[0]} to ${versions[-1]}[^0-9]"
done

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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/slurm"
folders=(plugin/submit plugin/spank)
if [[ -n $(value CMOCKA_LIBS) ]]; then folders+=(tests/plugin); fi
real=$(value DN_SLURM_VERSION)
read -ra cc <<<"$(value CC) $(value SLURM_CPPFLAGS) $(value JSON_C_CFLAGS)"

# compiles [NUMBER]: the files that know Slurm, as if these headers were that version's
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
        "${cc[@]}" "${include[@]}" -std=gnu11 -fsyntax-only -Wall -Wextra -Werror \
            -D_GNU_SOURCE -DPACKAGE_VERSION='"0"' -DDN_SLURM_VERSION='"0"' \
            -I"${abs_top_builddir:-$top}" -I"$top" -I"$top/model" -I"$top/plugin" -I"$top/tests/unit" \
            -I"$top/tests/plugin" "$top/$file" || return 1
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
