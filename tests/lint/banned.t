#!/bin/bash
# banned.t - functions that the core must not call
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# model/ is pure: no environment, clock, file, output or exit, and no function that uses the
# locale or may write past the end of a buffer.

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
plan_later

# name: why
banned='getenv secure_getenv setenv: the environment
time clock clock_gettime gettimeofday localtime gmtime: the clock
rand srand random drand48: chance
open openat fopen read write close unlink stat opendir: files
socket connect fork system popen execve dlopen: the world
printf fprintf vprintf puts putchar fputs perror syslog: output
strtok setlocale: hidden state
atoi atol atof strtod strtof strtol strtoul sscanf: numbers by the locale, or unchecked
sprintf vsprintf strcpy strcat strncat gets alloca: writing past an end
abort exit _exit assert raise kill longjmp: the end of the controller
pthread_create sleep usleep nanosleep: waiting'

files=$(c_files model)
while IFS=: read -r names why; do
    pattern="(^|[^A-Za-z0-9_.>])(${names// /|}) *\\("
    found=
    for file in $files; do
        lines=$(bare_c "$file" | grep -nE "$pattern") && found+="$file:$lines"$'\n'
    done
    is "model/ does not call ${names// /, } ($why )" "$found" ''
done <<< "$banned"

found=
for file in $files; do
    lines=$(bare_c "$file" | grep -nE '(^|[^A-Za-z0-9_])goto ') && found+="$file:$lines"$'\n'
done
is 'model/ uses no goto' "$found" ''

# The check itself must find such calls.
printf '/* exit (1) */ "abort ()" \nx = exit(2);\n' > "${TMPDIR:-/tmp}/banned.$$.c"
is 'comments and strings are not calls, calls are' \
    "$(top=/; bare_c "${TMPDIR:-/tmp}/banned.$$.c" | grep -nE '(abort|exit) *\(')" '2:x = exit(2);'
rm -f "${TMPDIR:-/tmp}/banned.$$.c"
done_testing
