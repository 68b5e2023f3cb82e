#!/bin/bash
# submit.t - the plugin in a real slurmctld, seen by an ordinary user
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs of which only the request is checked are submitted held; the others run. The expected
# job without the plugin is not written here: the same submissions are made to the same
# controller without it, and compared.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin submit job_submit_dnnest

readonly WORK='batch=64,epochs=20,dataset=imagenet'
readonly JOB="dnnest:$LIVE_KEYS"
readonly A100=(--gres=gpu:a100:4 -c 80 -t 1-0)

# --- helpers -------------------------------------------------------------------------

write_conf() {
    live_conf "$LIVE_MOVES" "$@"
}



# use_conf LINE...: set dnnest.conf, and wait until the plugin has read it. Up to 23.02 the
# first job after a reconfiguration causes that.
use_conf() {
    local from
    from=$(wc -l <"$dir/log/slurmctld.log")
    write_conf "$@"
    cluster_reconfigure
    held --comment=dnnest:off
    cluster_until 180 read_since "$from"
}
read_since() {
    tail -n "+$(($1 + 1))" "$dir/log/slurmctld.log" |
        grep -qE 'job_submit/dnnest: .*(dnnest.conf: |model bundle)'
}
use_mode() {
    use_conf "Mode=$1"
}

# Jobs that carry no metadata.
readonly -a PLAIN=(
    '--gres=gpu:a100:4 -c 80 -t 1-0'
    '--gpus=a100:4 -n 4 -c 20 --mem-per-cpu=2000 -t 90'
    '--gpus-per-node=2 -N 2 --comment=ticket:4711'
    '--gpus-per-task=v100:1 -n 4 --mem=1000'
    '--gres=gpu:a100:2 --comment=dnnest:off -c 12 -t 5'
    '-N 1 --exclusive --time-min=10 -t 60'
    '-n 8 --array=1-10%2 --cpus-per-gpu=4 --gpus=2'
    '--comment=model=resnet50,batch=64'
)

show_plain_jobs() {
    local options
    for options in "${PLAIN[@]}"; do
        # shellcheck disable=SC2086  # one word per option
        held $options
        printf '== %s: %s\n%s\n' "$options" "$said" "$(shown "$job")"
    done
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
write_conf Mode=enforce

live_start --plugin-dir "$plugin_dir"
live_see for-all
like 'the log says what was loaded' "$(logged)" 'mode enforce, 2 GPU types, [0-9]+ devices, .*model bundle default'

cat >"$dir/home/job.sh" <<'END'
#!/bin/sh
srun sh -c 'echo "step on $SLURMD_NODENAME with $SLURM_CPUS_PER_TASK CPUs"'
END

# --- a job is moved and runs ---------------------------------------------------------

# Every way to request four a100, each with another way to request memory; then the memory
# in MB of the request (the cluster has DefMemPerCPU=5000), and the GPU type that it runs
# on: a job that requests all memory of a node keeps its type.
forms=(
    '--gres=gpu:a100:4|-c 80 --mem=300000|300000M|v100'
    '--gpus=a100:4|-N 1 -c 80 --mem-per-cpu=4000|320000M|v100'
    '--gpus-per-node=a100:4|-c 80|400000M|v100'
    '--gpus-per-task=a100:1|-N 1 -n 4 -c 20|400000M|v100'
    '--gres=gpu:a100:4|-n 1 -c 80 --mem=0|512000M|a100'
)
ids=()
for form in "${forms[@]}"; do
    IFS='|' read -r gpu options _ type <<<"$form"
    moves=", gpu a100:4 -> $type:4 \\([0-9.]+x the time, [0-9.]+x the cost\\)"
    if [[ $type = a100 ]]; then moves=; fi
    # shellcheck disable=SC2086
    live_sbatch $gpu $options -t 1-0 --comment="$JOB" -o out-%j job.sh
    ids+=("$job")
    is "a user who requests $gpu $options gets one line" "$(grep -c . <<<"$said")" 1
    like "the line for $gpu $options says what changed and how to opt out" "$said" \
        "^sbatch: dnnest: time 1-00:00:00 -> [0-9:]+$moves, -c [28]0 -> [0-9]+ .*opt out"
done

# The allocation of a job; 'TRES' became 'AllocTRES' in 23.11.
tres_of() {
    cluster_job_field "$1" AllocTRES || cluster_job_field "$1" TRES
}

# In one unit, for any unit of scontrol.
in_mb() {
    awk '{ u = substr($1, length($1)); v = $1 + 0
           if (u == "G") v *= 1024; if (u == "T") v *= 1048576; printf "%dM\n", v }' <<<"$1"
}

for i in "${!forms[@]}"; do
    IFS='|' read -r gpu options memory type <<<"${forms[i]}"
    job=${ids[i]}
    ok "the job of $gpu $options completes" cluster_wait_job "$job" COMPLETED 180
    like "the job of $gpu $options runs on a $type node, with its srun" \
        "$(<"$dir/home/out-$job")" "step on ${type:0:1}[12] with"
    tres=$(tres_of "$job")
    like "the job of $gpu $options has $type and no other GPU" "$tres" "gres/gpu:$type=4\$"
    [[ $tres =~ cpu=([0-9]+),mem=([^,]+) ]] || true
    is "the job of $gpu $options has all its memory" "$(in_mb "${BASH_REMATCH[2]}")" "$memory"
    ok "the job of $gpu $options has fewer CPUs" test "${BASH_REMATCH[1]}" -lt 80
    like "the job of $gpu $options has a lower time limit" \
        "$(cluster_job_field "$job" TimeLimit)" '^[0-9:]+$'
done
finished=${ids[0]}

is "no srun complained" "$(cat "$dir"/home/out-* | grep -v '^step on' || true)" ''

# --- a job that must not move --------------------------------------------------------

mark
held "${A100[@]}" --comment="dnnest:model=resnet50,precision=bf16,$WORK"
like 'a bf16 job stays on the a100' "$(cluster_job_field "$job" TresPerNode)" 'gpu:a100:4 *$'
like 'the log says why a bf16 job stays' "$(logged)" 'not v100: cannot run this precision'

mark
held "${A100[@]}" --comment="dnnest:model=resnet50,precision=fp16,batch=384,epochs=20,dataset=imagenet"
like 'a job that needs more than 16 GB stays on the a100' \
    "$(cluster_job_field "$job" TresPerNode)" 'gpu:a100:4 *$'
like 'the log says why a job that needs more than 16 GB stays' \
    "$(logged)" 'not v100: may need [0-9]+ GiB'

held "${A100[@]}" -w a1 --comment="$JOB"
like 'a job that names its node keeps its type' "$(cluster_job_field "$job" TresPerNode)" 'gpu:a100:4 *$'

held -t 1-0 -c 80 --gres=gpu:a100:4 --comment="$JOB" --exclusive
like 'a job that requests whole nodes keeps its CPUs' "$(cluster_job_field "$job" CPUs/Task)" '^80$'

held "${A100[@]}" --comment="$JOB" --array=1-4%2
is 'a job array moves as a whole' "$(cluster_job_field "$job" Features)" v100

held "${A100[@]}" --comment="$JOB" : --gres=gpu:a100:2 -c 40
is 'a heterogeneous job keeps its time' "$(cluster_job_field "$job" TimeLimit | head -1)" '1-00:00:00'
is 'a heterogeneous job keeps its CPUs' "$(cluster_job_field "$job" CPUs/Task | head -1)" 80
like 'a heterogeneous job keeps its GPU types' \
    "$(scontrol show job "$job" | grep TresPerNode)" 'a100:4.*a100:2'

mark
seq 20 | xargs -P 10 -I@ setpriv --reuid="$CLUSTER_USER" --clear-groups --regid="$(id -g "$CLUSTER_USER")" \
    sbatch -Q -H --chdir="$dir/home" "${A100[@]}" --comment="$JOB" "$dir/home/job.sh" 2>/dev/null
is 'twenty parallel submissions are all served' "$(logged | grep -c 'verdict=change')" 20

# --- time only -----------------------------------------------------------------------

for command in srun 'salloc srun'; do
    # shellcheck disable=SC2016,SC2086  # the job's shell expands
    out=$(cluster_as_user ${command%% *} "${A100[@]}" --comment="$JOB" ${command#"${command%% *}"} \
        sh -c 'echo "on $SLURMD_NODENAME $(scontrol show job "$SLURM_JOB_ID")"' 2>"$dir/said") || out=failed
    like "${command%% *} runs on the requested GPUs" "$out" '^on a[12]'
    like "${command%% *} has the requested CPUs" "$out" 'NumCPUs=80'
    like "${command%% *} has a lower time limit" "$out" 'TimeLimit=[0-9]+:'
    like "${command%% *} reports the lower time limit to the user" \
        "$(<"$dir/said")" 'dnnest: time 1-00:00:00 -> [0-9:]+ \('
done

# --- metadata that cannot be understood ----------------------------------------------

held "${A100[@]}"
plain_a100=$(shown "$job")
long=$(printf 'x%.0s' {1..900})
garbage=(
    "dnnest:colour=red|unknown key 'colour'"
    "dnnest:model=nosuchnet,batch=64|'nosuchnet'"
    'dnnest:model=resnet50,precision=fp16|batch: missing'
    'dnnest:model=resnet50,batch=-4|-4 out of range'
    'dnnest:@/etc/shadow|sidecar'
    "dnnest:model=$long|longer than"
    $'dnnest:model=\e[31m\a|not a name'
    $'dnnest:model=resnet50,batch=6\xc3|batch'
)
for case in "${garbage[@]}"; do
    comment=${case%|*} expected=${case##*|}
    printf -v title '%q' "$comment"
    mark
    held "${A100[@]}" --comment="$comment"
    is "${title:0:60} does not change the job" "$(shown "$job")" "$plain_a100"
    like "${title:0:60} is reported to the user" \
        "$said" "^sbatch: dnnest: .*$expected.*; job submitted as written\$"
    is "${title:0:60} is reported in one printable line" \
        "$(tr -d '\n' <<<"$said" | LC_ALL=C tr -d ' -~')" ''
    is "${title:0:60} has one line in the log" "$(logged | grep -c 'job unchanged')" 1
done

# Slurm itself refuses comments above 1 KiB; the plugin gets them before that.
held "${A100[@]}" --comment="$JOB $(printf 'x%.0s' {1..100000})"
ok 'a comment of 100 KB does not hurt the controller' scontrol ping

# --- jobs that are not changed -------------------------------------------------------

mark
with_plugin=$(show_plain_jobs)
is 'jobs without metadata leave no trace in the log' "$(logged)" ''

use_mode observe
held "${A100[@]}" --comment="$JOB"
is 'observe changes nothing' "$(shown "$job")" "$plain_a100"
is 'observe says nothing' "$said" ''
like 'observe records the decision' "$(cluster_job_field "$job" AdminComment)" \
    '^\{"dnnest":1,"version":"[0-9.]+","mode":"observe","verdict":"change",'

use_mode advise
held "${A100[@]}" --comment="$JOB"
is 'advise changes nothing' "$(shown "$job")" "$plain_a100"
like 'advise reports to the user what would be enough' \
    "$said" '^sbatch: dnnest: would suffice: .*job unchanged\)$'

# --- accounting ----------------------------------------------------------------------

record=$(cluster_job_field "$finished" AdminComment)
ok 'the record is shorter than 1 KiB' test "${#record}" -lt 1024
like 'the record holds the original request' "$record" \
    '"req":\{"time_s":86400,"by_gres":1,"gpu":"a100","gpus":4,"nodes":1,"tasks":1,"cpus_per_task":80,"mem_mb":300000\}'
if command -v python3 >/dev/null; then
    ok 'the record is JSON' python3 -c 'import json,sys; json.loads(sys.argv[1])' "$record"
else
    skip 'the record is JSON' 'no python3'
fi
in_sacct() {
    sacct -n -X -P -j "$finished" -o AdminComment | grep -qxF "$record"
}
ok 'the record reaches sacct' cluster_until 180 in_sacct

# --- a broken configuration ----------------------------------------------------------

mark
write_conf Mode=sideways
ok 'slurmctld starts with a broken dnnest.conf' live_restart
held "${A100[@]}" --comment="$JOB"
is 'a slurmctld started with a broken dnnest.conf changes no job' \
    "$(shown "$job")" "$plain_a100"
is 'a slurmctld started with a broken dnnest.conf sends the user no message' "$said" ''
is 'a broken dnnest.conf is logged once' "$(logged | grep -cE 'dnnest.conf: line [0-9]+: .*sideways')" 1

rm "$dir/etc/dnnest.conf"
ok 'slurmctld starts without dnnest.conf' live_restart
held "${A100[@]}" --comment="$JOB"
is 'without dnnest.conf jobs are not changed' "$(shown "$job")" "$plain_a100"
is 'one line of the log says that dnnest.conf is missing' \
    "$(logged | grep -c 'not found: jobs are not changed')" 1

write_conf Mode=enforce
sed -i '/^SlurmctldParameters=/d' "$SLURM_CONF"
echo 'SlurmctldParameters=dnnest_mode=observe' >>"$SLURM_CONF"
ok 'slurmctld starts again with a sound dnnest.conf' cluster_restart_ctld
held "${A100[@]}" --comment="$JOB"
is 'SlurmctldParameters=dnnest_mode=observe overrides dnnest.conf' "$said" ''
like 'SlurmctldParameters=dnnest_mode=observe is in the record' \
    "$(cluster_job_field "$job" AdminComment)" '"mode":"observe"'

# --- the same without the plugin -----------------------------------------------------

sed -i '/^JobSubmitPlugins=/d' "$SLURM_CONF"
ok 'slurmctld starts without the plugin' cluster_restart_ctld
is 'jobs without metadata are what they are without the plugin' \
    "$(diff <(echo "$with_plugin") <(show_plain_jobs) || true)" ''

live_end
