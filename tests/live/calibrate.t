#!/bin/bash
# calibrate.t - every GPU type of a real Slurm is measured by a job and gets its entry
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# There is no GPU: a stand-in replaces 'dnnest-dev bench gpu' and returns recorded kernels
# (learn/data). All other parts are real.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
unset DNNEST_DEV
live_begin calibrate
command -v python3 >/dev/null || skip_all 'python3 is not installed'
[[ -x $build/dnnest-dev ]] || skip_all 'dnnest-dev is not built'
readonly LIMIT_S=240 # for all jobs, which take seconds on an idle machine

# Jobs run as an ordinary user, who may not read a checkout of root.
chmod 755 "$dir"
mkdir "$dir/bin" "$dir/lib" "$dir/recorded" "$dir/conf"
cp -R "$share/hardware" "$share/bundle" "$share/datasets.conf" "$dir/conf"
chmod -R u+rwX,go-w,go+rX "$dir/conf"
cp "$top/packaging/slurm/calibrate" "$top"/bench/*.py "$dir/bin"
cp "$(readlink -f "$build/dnnest")" "$dir/bin/dnnest"
cp "$(readlink -f "$build/dnnest-dev")" "$dir/bin/real-dev"
"$top/tests/bench/kernels-to-samples" v100_pcie_32gb >"$dir/recorded/v100.csv"
"$top/tests/bench/kernels-to-samples" a100_pcie_40gb >"$dir/recorded/a100.csv"
cat >"$dir/conf/dnnest.conf" <<END
DataDir=$dir/conf
Gpu Type=a100 Device=a100_pcie_40gb
Gpu Type=v100 Device=v100_pcie_32gb
END
# Kernels in the file are not written again; the real program would not measure them.
cat >"$dir/bin/dnnest-dev" <<END
#!/bin/bash
export DNNEST_BENCH_DIR='$dir/bin'
if [[ "\$1 \$2" != 'bench gpu' ]]; then exec '$dir/bin/real-dev' "\$@"; fi
shift
samples=\${2#--samples=}
from='$dir'/recorded/\${samples##*/}
echo "\$SLURM_JOB_NODELIST \$SLURM_JOB_ID \$*" >>"\${samples%.csv}.calls"
if [[ -e '$dir/broken' ]]; then echo 'dnnest-dev: device 0: no device' >&2; exit 4; fi
[[ -e \$samples ]] || head -n 100 "\$from" >"\$samples"
tail -n +\$((\$(wc -l <"\$samples") + 1)) "\$from" >>"\$samples"
END
chmod 755 "$dir"/bin/*

live_start --no-accounting
install -d -o "$CLUSTER_USER" "$dir/out"

calibrate() {
    cluster_as_user timeout "$LIMIT_S" env PATH="$dir/bin:$PATH" \
        CALIBRATE_HARDWARE="$dir/conf/hardware" calibrate "$@"
}

status=0
calibrate --quick --wait --conf="$dir/conf/dnnest.conf" "$dir/out" >"$dir/said" 2>&1 || status=$?
is 'every type is measured' "$status" 0
if ((status != 0)); then diag "$(cat "$dir/said" "$dir"/out/*.out)"; fi
is 'there is a job per type' "$(grep -cE '^(a100|v100): job [0-9]+$' "$dir/said")" 2
is 'the entries are named at the end' "$(grep '\.conf$' "$dir/said" | sed 's|.*/||' | xargs)" \
    'a100_pcie_40gb.conf v100_pcie_32gb.conf'
like 'an entry has what was measured' "$(<"$dir/out/site/v100_pcie_32gb.conf")" \
    $'Device=v100_pcie_32gb\n.*LinearFp32=1\.[0-9]+e\+13'
like 'each type is measured on a separate node' \
    "$(cat "$dir/out/v100.calls" "$dir/out/a100.calls")" '^v[12] .*a[12] '
like 'the loaders of the node become lines of dnnest.conf' "$(<"$dir/out/a100.conf")" \
    'CoreTokens=[0-9.e+]+'
job=$(sed -n 's/^v100: job //p' "$dir/said")
like 'the job has all GPUs of its node' "$(scontrol show job -o "$job")" 'gpu:v100:4'

cp -R "$dir/out/site" "$dir/conf/hardware/site"
chown -R 0:0 "$dir/conf/hardware/site"
like 'the catalogue takes the entries' \
    "$("$dir/bin/dnnest-dev" hardware --conf "$dir/conf/dnnest.conf" \
    --sources v100_pcie_32gb)" "LinearFp32 .*site/v100_pcie_32gb\.conf"

before=$(sha256sum <"$dir/out/v100.csv")
status=0
calibrate --quick --wait --type=v100 --one --conf="$dir/conf/dnnest.conf" "$dir/out" \
    >"$dir/again" 2>&1 || status=$?
is 'calibrate may be called again for one type' "$status $(grep -c ': job ' "$dir/again")" '0 1'
is 'earlier entries are kept when calibrate is called again' \
    "$(sha256sum <"$dir/out/v100.csv")" "$before"
job=$(sed -n 's/^v100: job //p' "$dir/again")
like 'with --one a job has one GPU' "$(scontrol show job -o "$job")" 'gpu:v100:1'

touch "$dir/broken"
install -d -o "$CLUSTER_USER" "$dir/out2"
status=0
calibrate --quick --wait --type=a100 --conf="$dir/conf/dnnest.conf" "$dir/out2" \
    >"$dir/failed" 2>&1 || status=$?
is 'a GPU that cannot be measured is a failure' "$status" 1
like 'a GPU that cannot be measured is named' "$(<"$dir/failed")" 'a100 was not measured: see '
like 'the output of the job says why a GPU cannot be measured' \
    "$(<"$dir/out2/a100.out")" 'no device'
like 'the loaders are measured where a GPU cannot be' "$(<"$dir/out2/a100.conf")" 'CoreBytes='
is 'a GPU that cannot be measured gets no entry' "$(ls "$dir/out2/site")" ''

rm "$dir/broken"
install -d -o "$CLUSTER_USER" "$dir/out3"
cat >"$dir/bin/squeue" <<END
#!/bin/bash
if mkdir '$dir/out3/asked' 2>/dev/null; then exit 1; fi
exec '$(command -v squeue)' "\$@"
END
chmod 755 "$dir/bin/squeue"
status=0
calibrate --quick --wait --type=a100 --one --conf="$dir/conf/dnnest.conf" "$dir/out3" \
    >"$dir/waited" 2>&1 || status=$?
is 'a job is waited for although slurmctld does not answer once' \
    "$status $(ls -d "$dir/out3/asked")" "0 $dir/out3/asked"
rm "$dir/bin/squeue"

status=0
calibrate --type=h900 "$dir/out2" >"$dir/none" 2>&1 || status=$?
is 'a type that the cluster does not have is an error' "$status" 1
status=0
calibrate >"$dir/none" 2>&1 || status=$?
like 'a directory is needed' "$status $(<"$dir/none")" '^2 calibrate: DIR: missing'
like 'help is printed' "$(calibrate --help)" '^usage: calibrate'

cluster_stop
gone() { [[ -z $(cluster_pids) ]]; }
ok 'nothing of the cluster is left' cluster_until 180 gone
done_testing
