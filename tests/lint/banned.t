#!/bin/bash
# banned.t - functions that the core must not call
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# model/ is pure: no environment, clock, file, output or exit, and no function that uses the
# locale or may write past the end of a buffer.

. "$(dirname "$0")/lib.sh"

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

# calls NAME...: of 'FILE:LINE:CODE' on standard input, those with a call of such a function
calls() {
    local names="$*"
    grep -E "^[^:]*:[0-9]+:(.*[^A-Za-z0-9_.>])?(${names// /|}) *\\("
}

code=$(for file in $(c_files model); do bare_c "$file" | awk -v at="$file" '{ print at ":" NR ":" $0 }'; done)
while IFS=: read -r names why; do
    read -ra names <<<"$names"
    is "model/ does not call ${names[*]} ($why )" "$(calls "${names[@]}" <<<"$code")" ''
done <<< "$banned"

is 'model/ uses no goto' "$(grep -E '^[^:]*:[0-9]+:(.*[^A-Za-z0-9_])?goto ' <<<"$code")" ''

# The check itself must find such calls.
sample=$work/sample
printf '/* exit (1) */ "abort ()" \nx = exit(2);\n' >"$sample"
is 'comments and strings are not calls, calls are' \
    "$(top=/; bare_c "$sample" | sed 's/^/a.c:2:/' | calls abort exit)" 'a.c:2:x = exit(2);'
done_testing
