#!/bin/bash
# probe.t - probes on a real Slurm, by an ordinary user: a sweep, and a job that is a probe
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every task runs a real training with PyTorch on the CPU. The nodes of the cluster are all
# this machine, so that tasks disturb one another. The test checks that each of them
# measures and keeps its record, not the values.

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
readonly PYTHON=${DNNEST_PYTHON:-/usr/bin/python3}
live_begin probe job_submit_dnnest
if ! "$PYTHON" -c 'import torch' 2>/dev/null; then skip_all "$PYTHON has no torch"; fi

# Files that the user may read, and only root may write.
hook=$dir/share/dnnest/probe
mkdir -p "$dir/bin" "$dir/lib" "$hook" "$dir/share/dnnest/python"
live_hardware
real=$(realpath "$dnnest")
if [[ -x ${real%/*}/.libs/dnnest ]]; then real=${real%/*}/.libs/dnnest; fi
install -m 755 "$real" "$dir/lib/dnnest"
install -m 755 "$(readlink -f "${dnnest}-dev")" "$dir/lib/dnnest-dev"
install -m 644 "$top/cli/probe/hook/sitecustomize.py" "$hook/"
install -m 644 "$top/python/"*.py "$dir/share/dnnest/python/"
install -m 644 "$top/tests/cli/tiny.py" "$dir/"
cat >"$dir/etc/dnnest.conf" <<END
HardwareDir=$dir/etc/hardware
Datasets=$dir/etc/datasets.conf
Bundle=$dir/etc/bundle
Mode=enforce
ProbeDir=$hook
END
# The command as installed, except its configuration: beside the hook's prefix.
ln -s dnnest "$dir/bin/dnnest-dev"
cat >"$dir/bin/dnnest" <<END
#!/bin/bash
exec "$dir/lib/\${0##*/}" "\$1" --conf "$dir/etc/dnnest.conf" --hardware "$dir/etc/hardware" \\
    --datasets "$dir/etc/datasets.conf" "\${@:2}"
END
chmod 755 "$dir/bin/dnnest"

live_start --no-accounting --plugin-dir "$plugin_dir"

probe() {
    cluster_as_user env OMP_NUM_THREADS=1 "$dir/bin/dnnest" probe --conf "$dir/etc/dnnest.conf" \
        --hardware "$dir/etc/hardware" --datasets "$dir/etc/datasets.conf" \
        --hook "$hook" --record "$dir/home/rows.db" --steps 20 --warmup 3 --seconds 300 "$@"
}
spec='params=10.5k,flops=6.5M,activations=90k,steps=300,optimizer=momentum,app=tiny'
sweep=(--sweep batch=8,16,32 --sbatch=--partition=gpu --sbatch=--cpus-per-task=1
    --sbatch="--output=$dir/home/task-%a.out" "$spec" --
    "$PYTHON" "$dir/tiny.py" 300 '{batch}')

probe "${sweep[@]}" >"$dir/script" 2>"$dir/said"
is 'the script is printed without a message' "$(<"$dir/said")" ''
is 'the script has a task for every value' "$(grep -c '^#SBATCH --array=0-2$' "$dir/script")" 1
ok 'the script has no error of syntax' bash -n "$dir/script"

printed=$(probe --submit "${sweep[@]}" 2>&1)
like '--submit passes the script to sbatch' "$printed" '^Submitted batch job [0-9]+$'
job=${printed##* }
array_done() { [[ -z $(squeue -h -j "$job") ]]; }
ok 'all tasks end' cluster_until 600 array_done
for task in 0 1 2; do
    like "task $task has measured" "$(cat "$dir/home/task-$task.out")" \
        '[0-9]+ steps after [0-9]+ of warm-up, on cpu:'
done
# The file may be visible only after the end of the jobs.
records() { cluster_as_user "$dir/bin/dnnest-dev" records "$@" "$dir/home/rows.db"; }
rows_there() { records --csv >"$dir/rows.csv" && [[ $(wc -l <"$dir/rows.csv") = 4 ]]; }
ok 'there is a record of each task' cluster_until 180 rows_there
is 'every task had its own batch, in the metadata' \
    "$(python3 -c '
import csv, re, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
print(sorted(int(re.search("batch=([0-9]+)", row["spec"])[1]) for row in rows),
      {(row["gpu"], row["group"], row["source"]) for row in rows},
      all(float(row["step_ms"]) > 0 for row in rows), sorted(row["job"] for row in rows) ==
      ["%s_%d" % (sys.argv[2], i) for i in range(3)])
' "$dir/rows.csv" "$job")" "[8, 16, 32] {('cpu', 'tiny', 'probe')} True True"
gone() { [[ -z $(cluster_pids python3) ]]; }
ok 'no program of a task is left' cluster_until 180 gone

cluster_as_user "$dir/bin/dnnest-dev" evaluate --conf "$dir/etc/dnnest.conf" \
    --hardware "$dir/etc/hardware" --datasets "$dir/etc/datasets.conf" --json \
    "$dir/home/rows.db" >"$dir/judged"
is 'evaluate reads what was collected' \
    "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["predicted"])' \
        "$dir/judged")" 3

# --- a job that is a probe of itself ----------------------------------------------------

cat >"$dir/job.sh" <<END
#!/bin/bash
#DNNEST $spec,batch=16,probe=1
export OMP_NUM_THREADS=1
"$PYTHON" "$dir/tiny.py" 300 16
echo "the script goes on: \$?"
sbatch --parsable --partition=gpu --output="$dir/home/child.out" "$dir/child.sh"
END
cat >"$dir/child.sh" <<END
#!/bin/bash
env | grep -c '^DNNEST_JOB_PROBE_'
echo "child: \${PYTHONPATH%%:*}"
END
sed -i 's/,batch=16,probe=1/ batch=16 probe=1/; /^#DNNEST/s/,/ /g' "$dir/job.sh"
job=$(cluster_as_user env PYTHONPATH=/my/lib sbatch --parsable --partition=gpu --time=30 \
    --cpus-per-task=1 --output="$dir/home/job.out" "$dir/job.sh" 2>"$dir/said")
like 'the user gets a message about the probe' "$(<"$dir/said")" \
    '^sbatch: dnnest: the job is a probe: its training with PyTorch ends after the first steps'
is 'the limit of a probe is not changed' "$(cluster_job_field "$job" TimeLimit)" 00:30:00
child_done() { array_done && [[ -s $dir/home/child.out ]]; }
ok 'the probe and the job that it submits end' cluster_until 600 child_done
out=$(<"$dir/home/job.out")
like 'the training of a probe was measured' \
    "$out" '[0-9]+ steps after [0-9]+ of warm-up, on cpu:'
like 'the line to submit is in the output of a probe' "$out" \
    'sbatch --cpus-per-task=[0-9]+ --time=.* --comment=dnnest:probe=0,.*app=tiny.* job.sh'
like 'the script of a probe continues after its training' "$out" 'the script goes on: 0'
unlike() { if [[ $2 =~ $3 ]]; then fail "$1"; diag "$2"; else pass "$1"; fi; }
unlike 'the training of a probe did not run to its end' "$out" 'steps 300'
kept() { cluster_as_user "$dir/bin/dnnest-dev" records --csv >"$dir/kept.csv" && [[ $(wc -l <"$dir/kept.csv") = 2 ]]; }
ok 'the record is in the store of the user' cluster_until 180 kept
like 'the record has the number of the job' "$(tail -1 "$dir/kept.csv")" ",$job,"
like 'a job that a probe submits is no probe' "$(<"$dir/home/child.out")" $'^0\nchild: '
ok 'no program of the job is left' cluster_until 180 gone

printed=$(probe --submit --sweep batch=8 --sbatch=--partition=none "$spec" -- true 2>&1) && code=0 ||
    code=$?
like 'sbatch reports what it refuses' "$code $printed" '^1 .*[Ii]nvalid partition'
done_testing
