#!/bin/bash
# 0055-bench.t - dnnest-dev bench: samples, entries of the catalogue, loaders
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

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
    "Fp32 +8\.1T +$work/hardware/t4_16gb.conf"
is 'JSON names the file that a value is from' "$(sources --json t4_16gb | value '
    {x["key"]: x["file"].split("/")[-2] for x in d["devices"][0]["sources"]
     if x["key"] in ("Tdp", "Stream")}, d["devices"][0]["fp32_flops"]')" \
    "({'Tdp': 'hardware', 'Stream': 'site'}, 8100000000000)"
step() {
    "$DNNEST" predict --json --hardware "$1" --datasets "$work/datasets.conf" --model none --zoo "$work/zoo" \
        --conf "$work/site.conf" --gpu t4_16gb \
        "model=vgg16,batch=32,precision=fp32,optimizer=sgd,steps=10,input=synthetic" \
        | value 'd["candidates"][0]["step_ms"]["p50"]'
}
mkdir "$work/sheet"
cp "$work"/hardware/*.conf "$work/sheet"
sed -i '/^Linear\|^Conv\|^Stream/d' "$work"/sheet/*.conf
like 'a prediction takes measured values in place of the data sheet' \
    "$(python3 -c "print(1.2 < $(step "$work/hardware") / $(step "$work/sheet") < 2)")" True

# --- a device that the catalogue does not have ------------------------------------------

# made_up: samples of a device that reaches known rates, on a machine that is busy at times
made_up() {
    python3 - <<'END'
print("op,precision,pass,shape,devices,flops,bytes,seconds,spread,runs")
for fact in ("gpu=NVIDIA A100-SXM4-40GB", "driver=CUDA 12.4\x01", "capability=8.0", "sms=108",
             "memory=42505273344", "tdp_w=400"):
    print("fact,,,%s,,,,,," % fact)

def put(op, precision, shape, i, rate, half, flops=True, devices=1):
    work = 1e8 * 4**i
    print("%s,%s,forward,%s,%d,%g,%g,%.9g,0,9" % (
        op, precision, shape, devices, work if flops else 0,
        0 if flops else work / (1.5 if op == "allreduce" else 1),
        (work + half) / rate * (3 if i == 5 else 1)))

for i in range(8):
    put("gemm", "fp32", "m1", i, 15e12, 1e9)
    put("gemm", "bf16", "m1", i, 200e12, 4e9)
    put("conv", "fp32", "n8 k3 s1", i, 14e12, 3e9)
    put("conv", "fp32", "n8 k1 s1", i, 1e12, 0)   # of other kinds
    put("conv", "bf16", "n8 k3 s2", i, 1e12, 0)
    put("elementwise", "fp32", "add", i, 1300e9, 1e6, False)
    put("h2d", "", "n", i, 22e9, 1e5, False)
    put("allreduce", "fp32", "n", i, 200e9, 200e9 * 5e-5, False, 4)
for steps, seconds in ((32, 42e-6), (256, 714e-6)):
    print("rnn,fp32,forward,lstm n16 h64 t%d,1,37,0,%g,0,9" % (steps, seconds))
print("launch,,,empty,1,0,0,2.5e-6,0,9")
END
}
# about KEY VALUE: is the value of the entry that, within three percent?
about() {
    local value
    value=$(sed -n "s/^$1=//p" "$work/entry.conf")
    ok "the entry has $1=$2" \
        awk -v a="${value:-0}" -v b="$2" 'BEGIN { exit !(a > 0.97 * b && a < 1.03 * b) }'
}
made_up > "$work/new.csv"
$bench entry --hardware "$work/hardware" --device brand_new "$work/new.csv" > "$work/entry.conf"
like 'a new device gets a data sheet' "$(< "$work/entry.conf")" \
    $'Device=brand_new\n#.*\nVendor=nvidia\nArch=ampere\nMemory=42505273344\nTdp=400\nSms=108\n'
like 'control characters of a fact are blanks' "$(< "$work/entry.conf")" 'driver CUDA 12.4 *'
about LinearFp32 15e12
about LinearBf16 200e12
about ConvFp32 14e12
about Stream 1300e9
about PcieBandwidth 22e9
about Ring 200e9
about Recurrence 3e-6
is 'kernels of other kinds and precisions have no rate' \
    "$(grep -c '^ConvBf16\|^LinearFp16' "$work/entry.conf")" 0
cp -R "$work/hardware" "$work/grown"
cp "$work/entry.conf" "$work/grown/site"
like 'the catalogue takes the entry' "$("$DNNEST-dev" hardware --hardware "$work/grown" \
    --datasets "$work/datasets.conf" --conf "$work/site.conf" brand_new)" 'brand_new'
awk -F, -v OFS=, '$1 == "gemm" { $7 = 1e9 * $8 * 1300 } 1' "$work/new.csv" > "$work/bound.csv"
refuses 'products bound by the memory do not count' 4 "'brand_new' is not in the catalogue" \
    entry --hardware "$work/hardware" --device brand_new "$work/bound.csv"

# --- hostile samples and catalogues ----------------------------------------------------

refuses 'a missing file is named' 4 'none.csv: .*No such file' \
    entry --hardware "$work/hardware" "$work/none.csv"
long=$(printf '0123456789%.0s' {1..11})
while IFS='|' read -r row says; do
    printf '%s%s\n' "$head" "$row" > "$work/bad.csv"
    refuses "a sample is refused with its line: $says" 4 "bad.csv: line 2: $says" \
        entry --hardware "$work/hardware" --device t4_16gb "$work/bad.csv"
done <<END
gem,fp32,forward,m1,1,1,1,1,0,1|op: 'gem' is unknown
,fp32,forward,m1,1,1,1,1,0,1|op is empty
gemm,fp64,forward,m1,1,1,1,1,0,1|precision: 'fp64' is unknown
gemm,fp32,up,m1,1,1,1,1,0,1|pass: 'up' is unknown
gemm,fp32,forward,m1,-1,1,1,1,0,1|devices: -1 out of range
gemm,fp32,forward,m1,1,nan,1,1,0,1|flops: 'nan' is not a number
gemm,fp32,forward,m1,1,1,1e30,1,0,1|bytes: 1e30 out of range
gemm,fp32,forward,m1,1,1,1,0,0,1|seconds: 0 is not the time
gemm,fp32,forward,m1,1,1,1,,0,1|seconds: 0 is not the time
fact,,,alone,,,,,,|shape: 'alone' is not a fact
gemm,fp32,forward,$long,1,1,1,1,0,1|shape: longer
a,b,c,d,e,f,g,h,i,j,k|more cells than columns
"gemm|unexpected end of data
END
printf 'a,b\n1,2\n' > "$work/bad.csv"
refuses 'a missing column is named' 4 "line 2: column 'op' is missing" \
    entry --hardware "$work/hardware" --device t4_16gb "$work/bad.csv"
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
