#!/bin/bash
# 0131-dnnestd.t - the command lines of dnnestd and dnnest-guard, and how they end without a cluster
#
# SPDX-License-Identifier: GPL-2.0-or-later

without_python=yes
. "$(dirname "$0")/lib.sh"
dnnestd=${DNNEST%/*}/dnnestd
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built (no libslurm)'; fi

# Neither a cluster of this machine nor a service manager may change the tests.
export SLURM_CONF=$work/absent/slurm.conf
unset NOTIFY_SOCKET JOURNAL_STREAM
base="DataDir=$work"
printf '%s\n' "$base" "StateDir=$work/state" >>"$work/site.conf"

program=$dnnestd
# daemon TITLE CODE STDOUT-REGEX STDERR-REGEX ARGUMENT...
daemon() {
    local title=$1 want=$2 out_regex=$3 err_regex=$4 problem=
    shift 4
    code=0
    timeout 180 "$program" "$@" >"$work/out" 2>"$work/err" || code=$?
    out=$(<"$work/out")
    err=$(<"$work/err")
    [[ $code = "$want" ]] || problem="exit code $code, expected $want"
    [[ $out =~ $out_regex ]] || problem+=" stdout does not match $out_regex"
    [[ $err =~ $err_regex ]] || problem+=" stderr does not match $err_regex"
    verdict "$title"
}

daemon 'help names the tasks' 0 '^usage: dnnestd.*  watch .*  steer ' '^$' --help
daemon 'the version is printed' 0 '^dnnestd [0-9]+\.[0-9]+' '^$' --version
daemon 'an unknown option is a usage error' 2 '^$' 'unrecognized option' --nonsense
daemon 'an option without its argument is a usage error' 2 '^$' 'requires an argument' --conf
daemon 'an unknown task is a usage error' 2 '^$' "task 'watsch': expected one of" watsch
daemon 'two tasks are a usage error' 2 '^$' "argument 'steer': expected one task" watch steer
daemon '--once needs a task' 2 '^$' 'expected one for --once' --once
daemon '--out needs a task' 2 '^$' 'expected one for --once' --out=x
daemon '--dry-run needs a task' 2 '^$' 'expected one for --once' --dry-run

daemon '--since belongs to collect --once' 2 '^$' 'collect --once' watch --once --since=5
daemon '--db belongs to collect --once' 2 '^$' 'collect --once' collect --db=x
daemon 'a time that is none is a usage error' 2 '^$' "--since 'soon'" collect --once --since=soon

for task in '' watch collect; do
    once=${task:+--once}
    # shellcheck disable=SC2086  # none or one word
    daemon "dnnestd $task: an absent dnnest.conf is named" 3 '^$' 'absent\.conf' $task $once \
        --conf="$work/absent.conf"
    printf '%s\n' "$base" 'Mode=wild' >"$work/wild.conf"
    # shellcheck disable=SC2086
    daemon "dnnestd $task: a wrong dnnest.conf is named with its line" 3 '^$' \
        'wild\.conf: line 2: Mode' $task $once --conf="$work/wild.conf"
    # shellcheck disable=SC2086
    daemon "dnnestd $task: an absent slurm.conf is named" 3 '^$' 'slurm\.conf' $task $once \
        --conf="$work/site.conf"
    is "dnnestd $task: that takes one line" "$(wc -l <"$work/err")" 1
done
printf '%s\n' "$base" 'GuardInterval=0' >"$work/zero.conf"
daemon 'an interval of 0 is refused' 3 '^$' 'GuardInterval' --conf="$work/zero.conf"
printf '%s\n' "$base" 'WatchInterval=3601' >"$work/long.conf"
daemon 'an interval of more than an hour is refused' 3 '^$' 'WatchInterval' --conf="$work/long.conf"

program=${DNNEST%/*}/dnnest-guard
daemon 'help of the guard names its options' 0 '^usage: dnnest-guard.*  --restore ' '^$' --help
daemon 'the version of the guard is printed' 0 '^dnnest-guard [0-9]+\.[0-9]+' '^$' --version
daemon 'a word is a usage error' 2 '^$' "argument 'guard': expected options only" guard
daemon '--if-silent needs --restore' 2 '^$' 'expected --restore' --if-silent
daemon '--dry-run needs an end' 2 '^$' 'expected --once or --restore' --dry-run
for options in '' --once --restore '--restore --if-silent'; do
    # shellcheck disable=SC2086
    daemon "dnnest-guard $options: a wrong dnnest.conf does not end it, an absent slurm.conf does" \
        3 '^$' 'wild\.conf: line 2: Mode.*slurm\.conf' $options --conf="$work/wild.conf"
done

done_testing
