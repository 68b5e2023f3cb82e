#!/bin/bash
# 0055-bench.t - dnnest-dev bench: samples, entries of the catalogue, loaders
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

bench="$DNNEST-dev bench"
export DNNEST_BENCH_DIR=$top/bench

# The functions of lib.sh run 'dn'.
dn() { $bench "$@"; }
gives 'help is printed' 0 'Usage: dnnest-dev bench ' --help
gives 'the version is printed' 0 '^dnnest-dev [0-9]' --version
refuses 'a command is needed' 2 'missing'
refuses 'an unknown command is named' 2 "'cpu' is unknown" cpu
refuses 'an unknown option is named' 2 'gpus' gpu --gpus
refuses 'an option of another command is refused' 2 'gpu: --images is not taken' \
    gpu --images=x
refuses 'a number out of range is refused' 2 '--cores: 0 out of range' host --cores=0
refuses 'samples are needed' 2 'missing' entry
refuses 'host refuses the name of a file' 2 "unexpected argument 'x'" host x

# --- entries, from recorded kernels ----------------------------------------------------

head=$(printf 'op,precision,pass,shape,devices,flops,bytes,seconds,spread,runs\n.')
head=${head%.}
"$top/tests/bench/kernels-to-samples" t4_16gb > "$work/t4.csv"
gives 'an entry is made of recorded kernels' 0 \
    $'Device=t4_16gb\n.*LinearFp32=3\..*\n.*ConvFp32=5\..*\n.*Stream=2\.' \
    entry --hardware "$work/hardware" --device t4_16gb "$work/t4.csv"
mkdir "$work/hardware/site"
gives 'an entry is written to a file of its device' 0 "^$work/hardware/site/t4_16gb.conf\$" \
    entry --hardware "$work/hardware" --device T4_16GB --out "$work/hardware/site/t4_16gb.conf" \
    "$work/t4.csv"
sources() {
    "$DNNEST-dev" hardware --hardware "$work/hardware" --datasets "$work/datasets.conf" \
        --conf "$work/site.conf" --sources "$@"
}
like 'the catalogue names the file that a value is from' "$(sources t4_16gb)" \
    "LinearFp32 +3\.[0-9]+e\+12 +$work/hardware/site/t4_16gb.conf"
like 'values that were not measured are from the data sheet' "$(sources t4_16gb)" \
    "Fp32 +8\.1e\+12 +$work/hardware/t4_16gb.conf"
is 'JSON names the file that a value is from' "$(sources --json t4_16gb | python3 -c '
import json, sys
device = json.load(sys.stdin)["devices"][0]
print({x["key"]: x["file"].split("/")[-2] for x in device["sources"]
       if x["key"] in ("Tdp", "Stream")}, device["fp32_flops"])')" \
    "{'Tdp': 'hardware', 'Stream': 'site'} 8100000000000"
step() {
    "$DNNEST" predict --json --hardware "$1" --datasets "$work/datasets.conf" --model none \
        --conf "$work/site.conf" --gpu t4_16gb \
        "model=vgg16,batch=32,precision=fp32,optimizer=sgd,steps=10,input=synthetic" \
        | python3 -c 'import json, sys
print(json.load(sys.stdin)["candidates"][0]["step_ms"]["p50"])'
}
mkdir "$work/sheet"
cp "$work"/hardware/*.conf "$work/sheet"
like 'a prediction takes measured values in place of the data sheet' \
    "$(python3 -c "print(1.2 < $(step "$work/hardware") / $(step "$work/sheet") < 2)")" True

# --- hostile samples and catalogues ----------------------------------------------------

refuses 'a missing file is named' 4 'none.csv: .*No such file' \
    entry --hardware "$work/hardware" "$work/none.csv"
printf '%sgem,fp32,forward,m1,1,1,1,1,0,1\n' "$head" > "$work/bad.csv"
refuses 'a wrong sample is named with its line' 4 "bad.csv: line 2: op: 'gem' is unknown" \
    entry --hardware "$work/hardware" "$work/bad.csv"
head -c 300000 /dev/urandom > "$work/noise.csv"
refuses 'noise is refused' 4 'noise.csv' entry --hardware "$work/hardware" "$work/noise.csv"
head -c 2000000 /dev/zero > "$work/large.csv"
refuses 'a large file is refused' 4 'large.csv' \
    entry --hardware "$work/hardware" "$work/large.csv"
printf '%s' "$head" > "$work/empty.csv"
refuses 'samples of no GPU are refused' 4 'the samples do not name their GPU' \
    entry --hardware "$work/hardware" "$work/empty.csv"
refuses 'too few samples make no entry' 4 'no kernel of a device' \
    entry --hardware "$work/hardware" --device t4_16gb "$work/empty.csv"
refuses 'a name that is no file name is refused' 4 'is not a device name' \
    entry --hardware "$work/hardware" --device ../x --out "$work" "$work/t4.csv"
printf '%sfact,,,gpu=NVIDIA A100,,,,,,\n' "$head" > "$work/a100.csv"
refuses 'a GPU that may be several is not guessed' 4 'a100_[a-z0-9_]*, a100_.*--device' \
    entry --hardware "$work/hardware" "$work/a100.csv"
refuses 'samples of two GPUs make no entry' 4 "samples of 'NVIDIA A100', others are of" \
    entry --hardware "$work/hardware" --device t4_16gb "$work/t4.csv" "$work/a100.csv"
chmod g+w "$work/hardware/site"
refuses 'a folder of the site that others may write is not trusted' 3 \
    'hardware/site: writable by group' entry --hardware "$work/hardware" "$work/t4.csv"
chmod g-w "$work/hardware/site"
printf 'Device=t4_16gb\nStream=fast\n' > "$work/hardware/site/wrong.conf"
like 'a wrong file of the site is named with its line' "$(sources t4_16gb 2>&1)" \
    "site/wrong.conf: line 2: Stream: 'fast' is not a number"
rm "$work/hardware/site/wrong.conf"
mv "$work/hardware/site" "$work/elsewhere"
ln -s "$work/elsewhere" "$work/hardware/site"
like 'a link in place of the folder is not followed' "$(sources t4_16gb 2>&1)" \
    'hardware/site: cannot be opened as a directory'

# --- loaders, measured here ------------------------------------------------------------

try host --quick --cores=1 --samples="$work/host.csv"
is 'the loaders of this machine are measured' "$code" 0
like 'the number of samples is reported' "$err" 'host.csv: [34] samples in all'
gives 'samples of a host become lines of dnnest.conf' 0 \
    $'CoreTokens=[0-9.e+]+\nCoreBytes=[0-9.e+]+' \
    conf "$work/host.csv"
$bench conf "$work/host.csv" > "$work/lines.conf"
ok 'dnnest config accepts the lines made of samples' \
    "$DNNEST" config --check "$work/lines.conf" \
    --hardware "$work/sheet" --datasets "$work/datasets.conf" --model none
before=$(sha256sum < "$work/host.csv")
$bench host --quick --cores=1 --samples="$work/host.csv" 2>/dev/null
is 'measured samples are not measured again' "$(sha256sum < "$work/host.csv")" "$before"
lines=$(wc -l < "$work/host.csv")
truncate -s -5 "$work/host.csv"
$bench host --quick --cores=1 --samples="$work/host.csv" 2>/dev/null
is 'a row that was cut off is measured again' "$(wc -l < "$work/host.csv")" "$lines"
is 'no other row is measured again' "$(cut -d , -f 1 "$work/host.csv" | sort | uniq -d)" ''
sed -i 's/processor=.*/processor=Z80,,,,,,/' "$work/host.csv"
refuses 'samples of another machine are not mixed' 4 "has samples of processor 'Z80'" \
    host --quick --samples="$work/host.csv"
printf 'a table of something else\n' > "$work/other.csv"
refuses 'another file is not appended to' 4 'other.csv: not a samples file of dnnest-bench' \
    host --quick --samples="$work/other.csv"
is 'another file is unchanged' "$(< "$work/other.csv")" 'a table of something else'
refuses 'a directory is no file' 4 "$work: " host --samples="$work"
(
    flock -n 9 || exit 1
    $bench host --quick --samples="$work/busy.csv" 2>&1
) 9> "$work/busy.csv" > "$work/said"
like 'a file that another process writes to is unchanged' "$(< "$work/said")" \
    'another dnnest-bench writes to it'
if python3 -c 'import numpy, PIL' 2>/dev/null; then
    mkdir "$work/pictures"
    refuses 'a folder without pictures is named' 4 'pictures: has no file' \
        host --quick --cores=1 --images="$work/pictures" --samples="$work/new.csv"
    printf 'no picture' > "$work/pictures/a.jpg"
    refuses 'a broken picture ends the measuring' 4 'jpeg: a sample cannot be loaded' \
        host --quick --cores=1 --images="$work/pictures" --samples="$work/new.csv"
fi

# --- GPUs ------------------------------------------------------------------------------

if [[ ! -e /dev/nvidiactl ]]; then
    try gpu --samples="$work/gpu.csv"
    like 'without PyTorch or a GPU a message states this' "$code $err" \
        '^(1 PyTorch is not installed|4 device 0: PyTorch finds no GPU)'
    is 'without PyTorch or a GPU there is only one message' "$(wc -l <<< "$err")" 1
    refuses 'a number of no device is refused' 2 '--device: ' gpu --device=x
fi
done_testing
