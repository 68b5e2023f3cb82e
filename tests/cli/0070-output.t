#!/bin/bash
# 0070-output.t - output to full disks and closed pipes, and memory errors
#
# SPDX-License-Identifier: GPL-2.0-or-later

without_python=yes
. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=64,precision=fp16

lost() {
    local title=$1
    code=0
    shift
    "$@" 2>"$work/err" || code=$?
    is "$title gives exit code 5" "$code" 5
    like "$title is named" "$(cat "$work/err")" '^dnnest: write error'
}
if [[ -c /dev/full ]]; then
    full() { dn "$@" > /dev/full; }
    lost 'a full disk under a table' full predict $spec
    lost 'a full disk under JSON' full predict --json $spec
    lost 'a full disk under help' full predict --help
else
    skip 'a full disk gives exit code 5' 'no /dev/full'
fi
closed() { dn "$@" >&-; }
lost 'a closed stdout' closed predict $spec

# More than a pipe holds, to a reader that exits immediately, as head does.
pipe() { { dn "$@" 2>"$work/err"; echo $? >"$work/code"; } | true; }
pipe predict --all --json --cpu-curve=1k $spec
is 'a reader that has read enough is no error' "$(cat "$work/code"):$(cat "$work/err")" 0:

dn predict --json $spec > "$work/a"
dn predict --json $spec > "$work/b"
ok 'the same command has the same output, byte for byte' cmp "$work/a" "$work/b"
is 'the output is ASCII' "$(LC_ALL=C tr -d '\11\12\40-\176' < "$work/a" | wc -c)" 0
is 'no line ends in a blank' "$(dn predict $spec | grep -c ' $')" 0
is 'a successful command prints nothing on stderr' "$(dn predict $spec 2>&1 >/dev/null)" ''

if under_valgrind ''; then
    printf '#!/bin/sh\n#SBATCH -G a100:4 -c 8 -t 1-0\n#DNNEST %s\n' "$short" > "$work/job.sh"
    ok 'predict has no memory error' dn predict --json $spec
    ok 'explain has no memory error' dn explain --gpu t4_16gb $spec
    ok 'the CPU curve has no memory error' dn predict --cpu-curve $spec
    ok 'advise has no memory error' dn advise "$work/job.sh"
    ok 'check has no memory error' dn check "$work/job.sh"
    ok 'config has no memory error' dn config --json
    try predict model=resnet50,batch=-4
    is 'an error causes no memory error' "$code" 2
else
    skip 'commands have no memory error' 'no valgrind, or built with sanitizers'
fi
done_testing
