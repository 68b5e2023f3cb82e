#!/bin/bash
# 0001-usage.t - help, version, and wrong command lines
#
# SPDX-License-Identifier: GPL-2.0-or-later

without_python=yes
. "$(dirname "$0")/lib.sh"

commands=$("$DNNEST" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')

for option in -h --help; do
    like "dnnest $option lists the commands" "$("$DNNEST" $option)" '  predict .*  config '
    for command in $commands; do
        like "dnnest $command $option begins with the usage" "$("$DNNEST" "$command" $option)" \
            "^Usage: dnnest $command "
    done
done
is 'dnnest help is dnnest --help' "$("$DNNEST" help)" "$("$DNNEST" --help)"
for command in $commands; do
    is "dnnest help $command is dnnest $command --help" "$("$DNNEST" help "$command")" \
        "$("$DNNEST" "$command" --help)"
    is "the help of $command fits 100 columns" \
        "$("$DNNEST" "$command" --help | grep -E '.{101}')" ''
done
is 'the help of dnnest fits a screen of 24 lines' \
    "$("$DNNEST" --help | awk 'length > 80 || NR > 24')" ''
for option in -V --version; do
    like "dnnest $option prints the version" "$("$DNNEST" $option)" '^dnnest [0-9]+\.[0-9]+'
    for command in $commands; do
        is "dnnest $command $option prints the version of dnnest" \
            "$("$DNNEST" "$command" $option)" \
            "$("$DNNEST" --version)"
    done
done
for command in $commands; do
    like "dnnest $command has --json" "$("$DNNEST" "$command" --help)" ' --json '
    # advise takes the command line of sbatch, not all of whose options it knows.
    [[ $command = advise ]] \
        || refuses "dnnest $command refuses an unknown option" 2 "option '--nonsense'" \
            "$command" --nonsense
done

usage() {
    local title=$1 regex=$2
    shift 2
    code=0
    out=$("$DNNEST" "$@" 2>"$work/err") || code=$?
    err=$(cat "$work/err")
    is "$title, with exit code 2" "$code" 2
    is "$title, with nothing on stdout" "$out" ''
    like "$title, with a message" "$err" "$regex"
}
usage 'a missing command is a usage error' "^dnnest: .*--help"
usage 'an unknown command is a usage error' "unknown command 'predikt', near: predict" predikt
usage 'an unknown command with a control character is shown without it' \
    "unknown command 'a\?b'" $'a\x1bb'
usage 'help of an unknown command is a usage error' "unknown command 'predikt', near: predict" \
    help predikt
usage 'help is of one command' "unexpected argument 'check'" help predict check

refuses 'a missing argument is named' 2 'SPEC is missing.*dnnest predict --help' predict
refuses 'an argument too many is named' 2 "unexpected argument 'two'" completion gpus two
is 'blanks may separate keys, and stand around =' \
    "$(dn predict model=resnet50 bs = 8 amp 2>&1)" \
    "$(dn predict model=resnet50,batch=8,precision=fp16 2>&1)"
is 'every wrong pair has a line' \
    "$(dn check model=gpt2,batc=4,precision=fp17,foo=1 2>&1 | grep -c '^dnnest: column')" 3
is 'a key that is passed over is named' \
    "$(dn predict model=resnet50,batch=8,lr=0.1,seed=3 2>&1 \
        | grep -c 'note: the prediction does not use lr, seed')" 1
for command in predict explain check; do
    name=$command
    [[ $command != explain ]] || name='explain --gpu=a100'
    # shellcheck disable=SC2086
    refuses "$command names a sidecar that is missing, with exit code 4" 4 \
        'none.json: No such file' $name "$work/none.json"
done
refuses 'an option without its argument is named' 2 'option --gpu needs an argument' predict --gpu
refuses 'an option with an argument too many is named' 2 'option --json takes no argument' \
    predict --json=yes
done_testing
