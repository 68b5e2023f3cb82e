#!/bin/bash
# exports.t - the symbols of the built plugin: what it shows slurmctld, what it wants
#
# slurmctld shows some 750 symbols of its own to every plugin, so ours are hidden; and a
# function that is missing in the daemon would be a crash at the first job. What may be
# wanted is listed here one by one: a new name is a question to answer (does it block,
# allocate without bound, end the process, ask the network?), not a line to add.

set -euo pipefail

top=${abs_top_srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
plugin=${DNNEST_PLUGIN:-${abs_top_builddir:-$top}/.libs/job_submit_dnnest.so}
# shellcheck source=tests/live/lib/tap.sh
. "$top/tests/live/lib/tap.sh"

# Of slurmctld. No other function of Slurm may be called with its locks held.
readonly SLURM='slurm_conf slurm_error slurm_get_extra_conf_path slurm_info slurm_xcalloc slurm_xfree'

# Memory, strings, numbers.
readonly LIBC='calloc free malloc realloc reallocarray
memchr memcmp memcpy memmem memmove memset strchr strcmp strdup strerror strlen strncmp
strndup strnlen strrchr strstr snprintf vsnprintf qsort bsearch __errno_location
abs llabs lround'
readonly LIBM='cbrt ceil exp exp2 expm1 fabs floor fmax fmin fmod ldexp log log1p log2 log10 lrint
llrint llround nearbyint pow round sqrt trunc'
# plugin/conf/load.c and plugin/submit/state.c, at start and at a reconfiguration only.
readonly FILES='access close closedir dirfd fdopendir fstat geteuid open open64 openat openat64
read readdir readdir64'
readonly THREADS='clock_gettime time pthread_mutex_lock pthread_mutex_unlock'
# Made by the compiler: hardening, clean-up at unload, sanitizers.
readonly COMPILER='__cxa_finalize __gmon_start__ _ITM_deregisterTMCloneTable
_ITM_registerTMCloneTable __stack_chk_fail __memcpy_chk __memset_chk __snprintf_chk
__vsnprintf_chk __strcpy_chk __read_chk'

plan_later
if [[ ! -e $plugin ]]; then skip_all 'the plugin is not built (--without-slurm)'; fi
for tool in nm readelf; do
    if ! command -v "$tool" >/dev/null; then skip_all "$tool is not installed"; fi
done

names() { nm -D "$1" "$plugin" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u; }

is 'the plugin shows the contract and nothing else' "$(names --defined-only | xargs)" \
    "$(sort "$top/plugin/submit/job_submit_dnnest.sym" | xargs)"

# shellcheck disable=SC2086  # one word per name
allowed=$(printf '%s\n' $SLURM $LIBC $LIBM $FILES $THREADS $COMPILER | sort -u)
unknown=$(comm -23 <(names --undefined-only | grep -Ev '^(json_object_|json_tokener_|json_type_to_name$)') \
    <(echo "$allowed"))
if grep -q '__asan\|__ubsan' <(names --undefined-only); then
    skip 'the plugin wants nothing but what is listed' 'built with sanitizers'
else
    is 'the plugin wants nothing but what is listed' "${unknown//$'\n'/ }" ''
fi

for name in $SLURM; do
    like "slurmctld's $name is used" "$(names --undefined-only)" "(^|"$'\n'")$name(\$|"$'\n'")"
done

needed=$(readelf -d "$plugin" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
not_ok 'no second libslurm is dragged into slurmctld' grep -q slurm <<<"$needed"
like 'missing functions are found when the plugin is loaded' "$(readelf -d "$plugin")" 'BIND_NOW'
not_ok 'the stack is not executable' bash -c "readelf -lW '$plugin' | grep GNU_STACK | grep -q E"

done_testing
