# shellcheck shell=bash
# lib.sh - what the tests of the command line share, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
#   dn COMMAND ARGUMENT...     dnnest, or dnnest-dev for its commands, and its import with
#                              --onnx, with the catalogue and data sets of the tree, the
#                              site of $work/site.conf and the bundle $bundle (none)
#   gives TITLE CODE REGEX ARGUMENT...    dn exits with CODE and stdout matches
#   refuses TITLE CODE REGEX ARGUMENT...  dn exits with CODE, stdout is empty, stderr is
#                                         one message that matches
#   less TITLE A B             A < B, two Python expressions
#   value EXPRESSION [FILE [STATEMENTS]]  prints a Python expression over the JSON 'd' of FILE,
#                                         or of stdin, after these statements
#   holds TITLE EXPRESSION FILE [STATEMENTS]  the same is true
#   moves TITLE OPTION...      dn advise moves the job of the array 'job' to the twin
#   stays TITLE REASON OPTION...  dn advise keeps its type, for that reason
#   write_snapshot FILE TIME ROW...  of a cluster with Slurm 24.11, as it was then
#   fill STORE < TABLE         puts a table of finished jobs into a store
#   under_valgrind ENDING [OPTION]...  DNNEST, with that ending, runs under valgrind from then on;
#                              fails where there is none, or the build has sanitizers
#   agrees SIDECAR SPEC        prints where predictions of the two differ (tests/import)
#   whole_page FILE            the page FILE, drawn by Chromium, has no fault (look.py)
#   json TITLE EXPRESSION ARGUMENT...     dn --json prints JSON, for which the Python
#                                         expression over 'd' is true
#   documented TITLE COMMAND ARGUMENT...  its page names every member that dn --json prints
#   write_helps ENDING         of DNNEST with that ending: commands.txt, a line per command with
#                              its summary, and the help of each as help-COMMAND.txt, in $work;
#                              those of dnnest-dev begin with dev-
#
# $work is a new directory that is deleted at the end. It has copies of the trusted files,
# since a checkout may be writable by a group: "${trusted[@]}" are options that name them. A test
# that needs no Python sets without_python.

set -uo pipefail

top=${abs_top_srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
DNNEST=$(realpath "${DNNEST:-./dnnest}")
. "$top/tests/live/lib/tap.sh"

if [[ ! ${without_python-} ]] && ! command -v python3 >/dev/null; then
    skip_all 'python3 is not installed'
fi
if [[ ! -x $DNNEST ]]; then
    echo "Bail out! $DNNEST is missing"
    exit 1
fi

work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
umask 022
cp -R "$top/etc/hardware" "$top/etc/zoo" "$top/etc/datasets.conf" "$top/etc/dnnest.conf" "$work"
chmod -R u+rwX,go-w "$work"
# shellcheck disable=SC2034  # used by files that source this
n_devices=$(cat "$work"/hardware/*.conf | grep '^Arch=' | grep -vc cpu) # but the CPU

trusted=(--conf "$work/site.conf" --hardware "$work/hardware" --datasets "$work/datasets.conf"
    --model none)

# Two gres types of one device. The twin costs less, so the decision does not depend on the
# calibration of the predictor.
cat > "$work/site.conf" <<'CONF'
Mode=enforce MinConfidence=0 EvidenceTime=words
Gpu Type=a100 Device=a100_sxm4_40gb Cost=4 PerNode=8 Nodes=9 NodeCpus=256 NodeMemory=1000000 Partitions=gpu
Gpu Type=twin Device=a100_sxm4_40gb Cost=1 PerNode=8 Nodes=9 NodeCpus=256 NodeMemory=1000000 Partitions=gpu
CONF
# That cluster, idle, and with what jobs move to the twin.
{
    echo 'Cluster Version=1 Name=c Time=1800000000 Slurm=2205 SoftTimeMin=no Enforces=no'
    for type in a100 twin; do
        echo "Group Type=$type Gpus=8 Cpus=256 Memory=1000000 Features=$type" \
            'Partitions=gpu Nodes=9 Up=9 Idle=0,0,0,0,0,0,0,0,9'
    done
    echo 'Wait Type=a100 Feature=a100 Gpu=0 Node=0 Nodes=0'
    echo 'Wait Type=twin Feature=twin Gpu=0 Node=0 Nodes=0'
    echo 'Partition Name=gpu Default=yes Up=yes'
    echo 'End Rows=5'
} > "$work/idle"
# shellcheck disable=SC2034  # used by files that source this
moving=(--snapshot="$work/idle" --set=GpuType=choose --set=Objective=cost)

# A run that is short, needs no loader and fits anywhere.
# shellcheck disable=SC2034  # used by files that source this
short='model=resnet50,batch=8,precision=fp16,optimizer=sgd,steps=100,input=synthetic'

# What 'dnnest-dev import' runs, of the tree, and with what
export DNNEST_IMPORT_DIR=$top/import
export PYTHON3=${PYTHON3:-/usr/bin/python3}

# A table has a line per row, except in the tests of narrow ones.
export COLUMNS=250

# A bundle installed on this machine must not change the tests. Empty: the bundle of the
# configuration.
bundle=none

# make_bundle DIR: the small bundle of tests/unit, whose numbers are known.
make_bundle() {
    mkdir "$1" && "${abs_top_builddir:-.}/tests/unit/make_bundle" "$1"
}

write_helps() {
    local command to=$work/${1:+dev-}
    "$DNNEST${1-}" --help | sed -n 's/^  \([a-z]*  *.*\)/\1/p' >"${to}commands.txt"
    while read -r command _; do
        "$DNNEST${1-}" "$command" --help >"${to}help-$command.txt"
    done <"${to}commands.txt"
}

# program_of COMMAND ARGUMENT...
program_of() {
    case "$*" in
        evaluate* | train* | jobs* | hardware* | bench*) echo "$DNNEST-dev" ;;
        import*--onnx*) echo "$DNNEST-dev" ;;
        *) echo "$DNNEST" ;;
    esac
}

dn() {
    local conf=$work/site.conf datasets=(--datasets="$work/datasets.conf")
    # 'zoo --datasets=FILE' lists the data sets of the file alone.
    if [[ $1 = zoo ]]; then
        { cat "$conf"; echo "Datasets=$work/datasets.conf"; } >"$work/zoo-site.conf"
        conf=$work/zoo-site.conf datasets=()
    fi
    "$(program_of "$@")" "$1" --conf "$conf" --hardware "$work/hardware" \
        "${datasets[@]}" --zoo "$work/zoo" ${bundle:+--model "$bundle"} "${@:2}"
}

value() {
    "$PYTHON3" -c 'import json, math, sys
with open(sys.argv[2], encoding="utf-8") as file:
    d = json.load(file)
exec(sys.argv[3])
print(eval("(" + sys.argv[1] + ")"))' "$1" "${2-/dev/stdin}" "${3-}" 2>&1
}

holds() {
    local said
    said=$(value "bool($2)" "${@:3}")
    is "$1" "$said" True
    [[ $said = True ]] || diag "not true: $2"
}

# shellcheck disable=SC2154  # 'job' is that of the test
moves() {
    json "$1" 'd["decision"]["gpu"] == "twin"' advise "${job[@]}" "${@:2}"
}

stays() {
    json "$1" "d['decision']['gpu'] is None and any('''$2''' in r for r in d['reasons'])" \
        advise "${job[@]}" "${@:3}"
}

write_snapshot() {
    printf '%s\n' "Cluster Version=1 Name=c Time=$2 Slurm=2411 SoftTimeMin=no Enforces=yes" \
        "${@:3}" "End Rows=$(($# - 2))" >"$1"
}

fill() {
    cat >"$work/table.csv"
    dn jobs "$work/table.csv" --db="$1" >/dev/null
}

under_valgrind() {
    local real=$DNNEST$1
    command -v valgrind >/dev/null && ! grep -q __asan_init "$DNNEST" || return
    if [[ -x ${real%/*}/.libs/${real##*/} ]]; then real=${real%/*}/.libs/${real##*/}; fi
    DNNEST=$work/valgrind
    printf '#!/bin/sh\nexec valgrind -q %s --leak-check=full --error-exitcode=99 "%s" "$@"\n' \
        "${*:2}" "$real" >"$DNNEST$1"
    chmod +x "$DNNEST$1"
}

agrees() {
    DNNEST=$DNNEST "$top/tests/import/check-agrees" "$@" "${trusted[@]}" --zoo "$work/zoo" 2>&1
}

less() { is "$1" "$(python3 -c "print('' if $2 < $3 else '$2 is not less than $3')")" ''; }

# Run dn and keep its output and exit code: $out, $err, $code.
try() {
    code=0
    dn "$@" >"$work/out" 2>"$work/err" || code=$?
    out=$(tr -d '\0' <"$work/out")
    err=$(cat "$work/err")
}

# Report a test. It fails if 'problem' is not empty.
verdict() {
    if [[ -z $problem ]]; then
        pass "$1"
        return
    fi
    fail "$1"
    diag "$problem"
    diag "stdout: ${out:0:600}"
    diag "stderr: ${err:0:600}"
}

whole_page() {
    local name problem title
    name=$(basename "$1" .html)
    title="the page is whole in a browser, light, dark and narrow: $name"
    if ! command -v chromium >/dev/null; then
        skip "$title" 'no chromium'
        return
    fi
    problem=$(python3 "$top/tests/report/look.py" "$1" "${DNNEST_PICTURES:-$work/pictures}" \
        "$name" 2>&1) || problem=${problem:-failed}
    verdict "$title"
}

gives() {
    local title=$1 want=$2 regex=$3 problem=
    shift 3
    try "$@"
    [[ $code = "$want" ]] || problem="exit code $code, expected $want"
    [[ $out =~ $regex ]] || problem+=" stdout does not match $regex"
    verdict "$title"
}

refuses() {
    local title=$1 want=$2 regex=$3 problem=
    shift 3
    try "$@"
    [[ $code = "$want" ]] || problem="exit code $code, expected $want"
    [[ -z $out ]] || problem+=' stdout is not empty'
    [[ $err =~ ^dnnest(-dev)?:\  && $(wc -l <"$work/err") = 1 ]] \
        || problem+=' stderr is not one message'
    [[ $err =~ $regex ]] || problem+=" stderr does not match $regex"
    verdict "$title"
}

json() {
    local title=$1 expression=$2 problem=
    shift 2
    try "$1" --json "${@:2}"
    problem=$(python3 - "$work/out" "$expression" 2>&1 <<'PYTHON'
import json
import sys

def strict(text):
    raise ValueError("not JSON: " + text)

number = lambda x: isinstance(x, (int, float)) and not isinstance(x, bool)
try:
    with open(sys.argv[1], encoding="utf-8") as file:
        d = json.load(file, parse_constant=strict)
    if not eval("(" + sys.argv[2] + ")"):
        print("not true:", sys.argv[2])
except Exception as error:
    print(type(error).__name__, error)
PYTHON
    ) || problem=${problem:-python failed}
    verdict "$title"
}

documented() {
    local title=$1 command=$2 problem=
    shift 2
    try "$command" --json "$@"
    cp "$work/out" "$work/documented.json"
    problem=$(python3 "$top/tests/cli/members.py" "$top/cli/pages" "$command" "$work" \
        documented 2>&1) || problem=${problem:-python failed}
    verdict "$title"
}

# need_onnx: skip all, if 'dnnest-dev import' has no package onnx
need_onnx() {
    "$DNNEST-dev" import --onnx "$top/tests/data/onnx/small.onnx" 2>&1 >"$work/needed" \
        | grep 'package onnx is needed' >/dev/null && skip_all 'python3-onnx is not installed'
    rm -f "$work/needed"
}
