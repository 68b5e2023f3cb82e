#!/bin/bash
# exports.t - the symbols of the built plugins: what they show their host, what they want
#
# slurmctld shows some 750 symbols of its own to every plugin, sbatch a global 'opt', so
# ours are hidden; and a function that is missing in the host would be a crash at the
# first job. What may be wanted is listed here one by one: a new name is a question to
# answer (does it block, allocate without bound, end the process, ask the network?), not a
# line to add.

set -euo pipefail

top=${abs_top_srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
libs=${DNNEST_PLUGIN_DIR:-${abs_top_builddir:-$top}/.libs}
# shellcheck source=tests/live/lib/tap.sh
. "$top/tests/live/lib/tap.sh"

# Of slurmctld. No other function of Slurm may be called with its locks held.
readonly SLURMCTLD='default_part_name slurm_conf slurm_error slurm_get_extra_conf_path slurm_info slurm_xcalloc slurm_xfree'
# Of sbatch, salloc, srun, slurmstepd and slurmd.
readonly CLIENT='slurm_error spank_context spank_job_control_setenv spank_option_register spank_strerror'

# Memory, strings, numbers.
readonly LIBC='calloc free malloc realloc reallocarray
memchr memcmp memcpy memmem memmove memset strchr strcmp strcspn strdup strerror strlen strncmp
strndup strnlen strrchr strstr snprintf vsnprintf qsort bsearch __errno_location
abs llabs lround'
readonly LIBM='cbrt ceil exp exp2 expm1 fabs floor fmax fmin fmod ldexp log log1p log2 log10 lrint
llrint llround nearbyint pow round sqrt trunc'
# plugin/conf/load.c and plugin/submit/state.c, at start and at a reconfiguration only.
readonly LOAD='access closedir dirfd fdopendir geteuid openat openat64 readdir readdir64'
# plugin/conf/people.c: may ask a server, as slurmctld itself does for its users and groups
# when it starts. Only then: state.c gives a submission no way to get there.
readonly PEOPLE='getgrnam_r getpwnam_r'
# plugin/conf/files.c: a file of the user; syscall is openat2. In slurmctld only with
# SidecarDir=, and never one that could block.
readonly FILES='close fstat open open64 read syscall'
readonly THREADS='clock_gettime time pthread_mutex_lock pthread_mutex_unlock'
# model/predict/residual.c: one booster, read at the same times, and one prediction per job,
# by one thread.
readonly XGBOOST='XGBGetLastError XGBoosterBoostedRounds XGBoosterCreate XGBoosterFree
XGBoosterLoadModelFromBuffer XGBoosterPredictFromDense XGBoosterSetParam'
# On the client: what an outer job left in the environment, and --dnnest=help.
readonly USER='getenv unsetenv exit printf putchar puts __printf_chk'
# Made by the compiler: hardening, clean-up at unload, sanitizers.
readonly COMPILER='__cxa_finalize __gmon_start__ _ITM_deregisterTMCloneTable
_ITM_registerTMCloneTable __stack_chk_fail __memcpy_chk __memset_chk __snprintf_chk
__vsnprintf_chk __strcpy_chk __read_chk'

plan_later
for tool in nm readelf; do
    if ! command -v "$tool" >/dev/null; then skip_all "$tool is not installed"; fi
done

names() { nm -D "$1" "$plugin" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u; }

# check_plugin NAME SYM-FILE HOST-NAMES OTHER-NAMES
check_plugin() {
    local name=$1 host=$3 allowed unknown needed symbol
    plugin=$libs/$name.so
    if [[ ! -e $plugin ]]; then
        skip "the symbols of $name" 'the plugin is not built (--without-slurm)'
        return
    fi
    is "$name shows the contract and nothing else" "$(names --defined-only | xargs)" \
        "$(sort "$top/$2" | xargs)"

    # shellcheck disable=SC2086  # one word per name
    allowed=$(printf '%s\n' $host $LIBC $LIBM $FILES $COMPILER $4 | sort -u)
    unknown=$(comm -23 \
        <(names --undefined-only | grep -Ev '^(json_object_|json_tokener_|json_type_to_name$)') \
        <(echo "$allowed"))
    if grep -q '__asan\|__ubsan' <(names --undefined-only); then
        skip "$name wants nothing but what is listed" 'built with sanitizers'
    else
        is "$name wants nothing but what is listed" "${unknown//$'\n'/ }" ''
    fi
    for symbol in $host; do
        like "$symbol of its host is used by $name" "$(names --undefined-only)" \
            "(^|"$'\n'")$symbol(\$|"$'\n'")"
    done

    needed=$(readelf -d "$plugin" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    not_ok "$name drags no second libslurm into its host" grep -q slurm <<<"$needed"
    like "missing functions are found when $name is loaded" "$(readelf -d "$plugin")" 'BIND_NOW'
    not_ok "$name needs no executable stack" \
        bash -c "readelf -lW '$plugin' | grep GNU_STACK | grep -q E"
}

check_plugin job_submit_dnnest plugin/submit/job_submit_dnnest.sym "$SLURMCTLD" \
    "$LOAD $PEOPLE $THREADS $XGBOOST"
check_plugin spank_dnnest plugin/spank/spank_dnnest.sym "$CLIENT" "$USER"
if [[ -e $libs/spank_dnnest.so ]]; then
    needed=$(readelf -d "$libs/spank_dnnest.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -Ev '^(libjson-c|libm|libc|libasan|libubsan)\.so' || true)
    is 'every sbatch loads json-c for it, and no other library' "$needed" ''
fi

done_testing
