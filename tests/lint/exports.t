#!/bin/bash
# exports.t - the symbols of the built plugins: those exported and those imported
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# slurmctld exports about 750 symbols to every plugin, sbatch a global 'opt', so ours are
# hidden. A function that is missing in the host would crash it at the first job. The symbols
# that may be imported are listed here one by one. Before a name is added, check whether it
# blocks, allocates without bound, ends the process or uses the network.

set -euo pipefail

top=${abs_top_srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
libs=${DNNEST_PLUGIN_DIR:-${abs_top_builddir:-$top}/.libs}
. "$top/tests/live/lib/tap.sh"

# Of slurmctld. No other function of Slurm may be called with its locks held.
readonly SLURMCTLD='default_part_name slurm_conf slurm_error slurm_get_extra_conf_path slurm_info slurm_xcalloc slurm_xfree'
# Of sbatch, salloc, srun, slurmstepd and slurmd.
readonly CLIENT='slurm_error spank_context spank_getenv
spank_job_control_setenv spank_option_register spank_setenv spank_strerror'

# Memory, strings, numbers.
readonly LIBC='calloc free malloc realloc reallocarray
memchr memrchr memcmp memcpy memmem memmove memset strcasestr strchr strchrnul strcmp strcspn strdup strerror_r strlen strncmp
strndup strnlen strpbrk strrchr strspn strstr snprintf vsnprintf qsort bsearch __errno_location
abs llabs lround strtoull'
readonly LIBM='cbrt ceil erf exp exp2 expm1 fabs floor fmax fmaxf fmin fmod hypot
ldexp log log1p log2 log10 lrint llrint llround nearbyint pow round sqrt trunc'
# host/load.c, host/trust.c, host/watch.c and plugin/submit/state.c, and plugin/trace, which
# writes: on the plugin's own thread only.
readonly LOAD='access closedir dirfd fdopendir geteuid openat openat64 opendir readdir readdir64
fstatat fstatat64 readlinkat'
readonly TRACE='fchmod ftruncate ftruncate64 gmtime_r lstat lstat64 rename unlink write'
# host/people.c, on the same thread: may query a server, as slurmctld itself does for its
# users and groups when it starts.
readonly PEOPLE='getgrnam_r getpwnam_r'
# host/files.c: a file of the user; syscall is openat2. In slurmctld only with
# SidecarDir=, and never one that could block.
readonly FILES='close fstat lseek lseek64 open open64 pread pread64 __pread_chk read syscall'
readonly THREADS='clock_gettime time pthread_mutex_lock pthread_mutex_trylock
pthread_mutex_unlock'
# All in memory: json-c's own files and descriptors are banned.
readonly JSON='json_object_array_add json_object_array_get_idx json_object_array_length
json_object_free_userdata json_object_set_serializer json_object_userdata_to_json_string
json_object_get json_object_get_boolean json_object_get_double json_object_get_int64
json_object_get_object json_object_get_string json_object_get_string_len
json_object_get_type json_object_is_type json_object_iter_begin json_object_iter_end
json_object_iter_equal json_object_iter_next json_object_iter_peek_name
json_object_iter_peek_value json_object_new_array json_object_new_boolean
json_object_new_double json_object_new_double_s json_object_new_int
json_object_new_int64 json_object_new_object json_object_new_string
json_object_object_add json_object_object_del json_object_object_get_ex json_object_put
json_object_to_json_string json_object_to_json_string_ext json_tokener_error_desc
json_tokener_free json_tokener_get_error json_tokener_get_parse_end json_tokener_new_ex
json_tokener_parse_ex json_tokener_set_flags json_type_to_name'
# plugin/submit/keeper.c: that thread. Submissions wait for it a tenth of a second at most,
# once per reconfiguration. It is joined only after it has said that it ends.
readonly KEEPER='__cxa_atexit getpid sigfillset pthread_attr_destroy pthread_attr_init
pthread_attr_setstacksize pthread_join pthread_cond_broadcast pthread_cond_init pthread_cond_signal
pthread_cond_timedwait pthread_condattr_destroy pthread_condattr_init
pthread_condattr_setclock pthread_create pthread_detach pthread_self pthread_setname_np
pthread_sigmask'
# On the client: what an outer job left in the environment, and --dnnest=help; whose file it is.
readonly USER='geteuid getenv setenv unsetenv exit printf putchar puts __printf_chk'
# Added by the compiler: hardening, clean-up at unload, sanitizers.
readonly COMPILER='__cxa_finalize __gmon_start__ _ITM_deregisterTMCloneTable
_ITM_registerTMCloneTable __stack_chk_fail __memcpy_chk __memmove_chk __memset_chk __snprintf_chk
__vsnprintf_chk __strcpy_chk __read_chk'

# Functions that job_submit_dnnest must never import, so that no list above may have them: in
# slurmctld they block, end or change the whole process, use the network, the name service or
# the locale, are not thread-safe, may write past the end of a buffer, or write files.
# Functions for the plugin's own thread only have their lists above.
readonly BANNED='system popen fork vfork execve execvp execl posix_spawn posix_spawnp dlopen
getpwnam getpwuid getpwuid_r getgrnam getgrgid getgrgid_r getaddrinfo gethostbyname
socket connect bind listen accept send recv sendto recvfrom poll select epoll_wait
sleep usleep nanosleep clock_nanosleep pthread_cond_wait sem_wait
flock lockf mkfifo kill raise signal sigaction alarm setitimer
exit _exit _Exit quick_exit abort __assert_fail longjmp atexit
setenv putenv unsetenv getenv secure_getenv setlocale strtok strtod strtof atof localtime
gets strcpy strcat sprintf vsprintf alloca printf puts putchar fputs perror syslog
fopen fdopen fwrite mkdir chmod chown symlink link json_object_from_file json_object_to_file
json_object_from_fd json_object_to_fd strerror
XGBGetLastError XGBoosterCreate XGBoosterFree XGBoosterSetParam XGBoosterLoadModel
XGBoosterLoadModelFromBuffer XGBoosterPredict XGBoosterPredictFromDense XGBoosterSaveModel
XGDMatrixCreateFromFile XGDMatrixCreateFromMat XGBRegisterLogCallback
slurm_xmalloc slurm_xstrdup slurm_load_jobs slurm_load_node slurm_update_job slurm_fatal'

for tool in nm readelf ldd; do
    if ! command -v "$tool" >/dev/null; then skip_all "$tool is not installed"; fi
done

# glibc since 2.38 calls strtoull __isoc23_strtoull.
names() {
    nm -D "$1" "$plugin" | awk '{ sub(/@.*/, "", $NF); sub(/^__isoc23_/, "", $NF); print $NF }' |
        sort -u
}

# check_plugin NAME SYM-FILE HOST-NAMES OTHER-NAMES
check_plugin() {
    local name=$1 host=$3 allowed unknown needed symbol
    plugin=$libs/$name.so
    if [[ ! -e $plugin ]]; then
        skip "the symbols of $name" 'the plugin is not built (--without-slurm)'
        return
    fi
    is "$name exports only the contract" "$(names --defined-only | xargs)" \
        "$(sort "$top/$2" | xargs)"

    # shellcheck disable=SC2086  # one word per name
    allowed=$(printf '%s\n' $host $LIBC $LIBM $JSON $FILES $COMPILER $4 | sort -u)
    unknown=$(comm -23 <(names --undefined-only) <(echo "$allowed"))
    if grep -q '__asan\|__ubsan' <(names --undefined-only); then
        skip "$name imports only listed symbols" 'built with sanitizers'
    else
        is "$name imports only listed symbols" "${unknown//$'\n'/ }" ''
    fi
    # Other versions of json-c need not have them: the plugin could not be loaded.
    is "$name imports no private symbol of json-c" \
        "$(readelf --dyn-syms -W "$plugin" | grep -o '[a-z_]*@*JSONC_PRIVATE' | xargs)" ''
    for symbol in $host; do
        like "$symbol of its host is used by $name" "$(names --undefined-only)" \
            "(^|"$'\n'")$symbol(\$|"$'\n'")"
    done

    needed=$(readelf -d "$plugin" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    not_ok "$name loads no second libslurm into its host" grep -q slurm <<<"$needed"
    like "missing functions are found when $name is loaded" "$(readelf -d "$plugin")" 'BIND_NOW'
    not_ok "$name needs no executable stack" \
        bash -c "readelf -lW '$plugin' | grep GNU_STACK | grep -q E"
}

# shellcheck disable=SC2086  # one word per name
is 'no list has a function that could harm slurmctld' "$(comm -12 \
    <(printf '%s\n' $BANNED | sort -u) \
    <(printf '%s\n' $SLURMCTLD $LIBC $LIBM $JSON $LOAD $TRACE $PEOPLE $FILES $THREADS \
        $KEEPER $COMPILER | sort -u) | xargs)" ''

check_plugin job_submit_dnnest plugin/submit/job_submit_dnnest.sym "$SLURMCTLD" \
    "$LOAD $TRACE $PEOPLE $THREADS $KEEPER"
check_plugin spank_dnnest plugin/spank/spank_dnnest.sym "$CLIENT" "$USER"

# --- only what it reaches ----------------------------------------------------------------

# unreached PLUGIN OBJECT...: the objects of which PLUGIN has no function and no table. The
# linker leaves out each function that the entry points do not reach.
unreached() {
    local so=$1
    shift
    awk 'NR == FNR { has[$3] = 1; next }
        /:$/ { object = $1; next }
        NF == 3 { if (!(object in all)) { all[object] = 1 } if ($3 in has) reached[object] = 1 }
        END { for (object in all) if (!(object in reached)) print object }' \
        <(nm "$so" 2>/dev/null) <(nm -g --defined-only "$@") | sort | xargs
}
if [[ ! -e $libs/job_submit_dnnest.so ]]; then
    skip 'slurmctld loads no object that it does not call' 'the plugin is not built'
elif ! grep -q ' dn_advise$' <(nm "$libs/job_submit_dnnest.so" 2>/dev/null); then
    skip 'slurmctld loads no object that it does not call' 'the plugin is stripped'
else
    is 'slurmctld loads no object that it does not call' \
        "$(unreached "$libs/job_submit_dnnest.so" "$libs"/libdnnest{_core,_host}.a)" ''
    not_ok 'sbatch loads no network' \
        grep -q ' dn_graph_build$' <(nm "$libs/spank_dnnest.so")
fi

# --- libraries -------------------------------------------------------------------------

# loads FILE: the libraries that it loads, directly or through others, without the loader,
# what the kernel maps and sanitizers.
loads() {
    ldd "$1" | awk '{ print $1 }' | sed 's|.*/||' |
        grep -Ev '^(linux-vdso|linux-gate|ld-linux|ld64|lib(a|l|t|ub)san)[.-]' |
        { if grep -q '__asan\|__ubsan\|__tsan' <(nm -D "$1"); then
            # of which the sanitizers are made
            grep -Ev '^(libgcc_s|libstdc\+\+|libdl|librt|libpthread)\.so'
        else cat; fi; } | sed 's/\.so.*//' | sort | xargs
}
for name in job_submit_dnnest spank_dnnest; do
    if [[ ! -e $libs/$name.so ]]; then continue; fi
    is "$name loads libc, libm and json-c, and no other library" \
        "$(loads "$libs/$name.so")" 'libc libjson-c libm'
done

done_testing
