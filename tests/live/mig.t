#!/bin/bash
# mig.t - gres types that begin with a digit, and slices (MIG), on a real cluster
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The GPUs are files, as slurmd needs no more. v1 v2 have slices "1g.10gb", a1 a2 GPUs of type
# "3090"; the features of these nodes are still v100 and a100.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin mig job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built (without libslurm)'; fi
CLUSTER_TYPES=(1g.10gb 3090)

readonly JOB="dnnest:$LIVE_KEYS"

live_hardware
printf '%s\n' "HardwareDir=$dir/etc/hardware" "ZooDir=$dir/etc/zoo" Bundle=none \
    "Datasets=$dir/etc/datasets.conf" >"$dir/etc/dnnest.conf"
live_start --plugin-dir "$plugin_dir" --no-accounting
cat >"$dir/home/job.sh" <<'END'
#!/bin/sh
srun sh -c 'echo "step on $SLURMD_NODENAME"'
END

# --- the cluster ---------------------------------------------------------------------

snapshot=$("$dnnestd" watch --once --out=- --conf="$dir/etc/dnnest.conf" 2>"$dir/said")
is 'slices are groups of nodes, as other types' "$(grep -oE '^Group Type=[^ ]* Gpus=4' <<<"$snapshot")" \
    $'Group Type=1g.10gb Gpus=4\nGroup Type=3090 Gpus=4'
lines=$("$dnnest" config --conf "$dir/etc/dnnest.conf" --discover=- <<<"$snapshot")
like 'of a slice it is said which devices it may be of' "$lines" \
    '# 1g.10gb: .*a100_sxm4_80gb_1g.10gb.*\? assumed .*check; a slice'
lines=$(sed -E 's/(Type=1g.10gb Device=)[^ ]*/\1a100_sxm4_80gb_1g.10gb/' <<<"$lines")
is 'discovered lines have the devices of both types' "$(grep -oE '^Gpu Type=[^ ]* Device=[^ ]*' <<<"$lines")" \
    $'Gpu Type=1g.10gb Device=a100_sxm4_80gb_1g.10gb\nGpu Type=3090 Device=rtx_3090_24gb'

# The lines as they are, and a price: a slice costs less.
{
    printf '%s\n' Mode=enforce EvidenceTime=words StartChanges=0 MaxSlowdown=9 "HardwareDir=$dir/etc/hardware" \
        "ZooDir=$dir/etc/zoo" "Datasets=$dir/etc/datasets.conf DecisionTime=1000" "Bundle=$dir/etc/bundle" \
        "StateDir=$dir/seen SnapshotAge=3600"
    sed 's/^Gpu .*=1g.10gb .*/& Cost=1/; s/^Gpu .*=3090 .*/& Cost=2/' <<<"$lines"
} >"$dir/etc/dnnest.new"
mv "$dir/etc/dnnest.new" "$dir/etc/dnnest.conf"
ok 'the configuration is right' "$dnnest" config --check --conf "$dir/etc/dnnest.conf"
live_restart
cluster_until 60 _cluster_nodes_idle
live_see

# --- jobs ----------------------------------------------------------------------------

# asked TITLE FEATURES TRES OPTION...: what a held job asks for, in the spelling of 22.05
asked() {
    local title=$1 features=$2 tres=$3
    shift 3
    live_need -H -t 12:00:00 -c 16 --mem=64000 "$@" job.sh
    is "$title" "$(cluster_job_field "$job" Features) $(
        scontrol show job -o "$job" | tr ' ' '\n' | sed -nE 's|gres/gpu|gres:gpu|; s/^Tres(PerNode|PerJob)=//p')" \
        "$features $tres"
    like "$title: its limit" "$(cluster_job_field "$job" TimeLimit)" "${limit:-^0}"
}
asked 'a job on a slice is open to the type that holds it, too' v100 gres:gpu:1 \
    --gres=gpu:1g.10gb:1 --comment="$JOB"
asked 'a job on a type of digits is open to the slice' a100 gres:gpu:1 --gres=gpu:3090:1 --comment="$JOB"
like 'the record has both types' "$(cluster_job_field "$job" AdminComment)" '"open":.*1g\.10gb'
asked 'of --gpus, too' a100 gres:gpu:1 --gpus=3090:1 --comment="$JOB"
asked 'a job of several GPUs keeps its type' '(null)' gres:gpu:3090:2 --gres=gpu:3090:2 --comment="$JOB"
limit='^12:00:00$' asked 'a job on several slices stays as it is' '(null)' gres:gpu:1g.10gb:2 \
    --gres=gpu:1g.10gb:2 --comment="$JOB"
asked 'a job that a slice does not hold moves' '(null)' gres:gpu:3090:1 \
    --gres=gpu:1g.10gb:1 --comment="${JOB/batch=2/batch=40}"
like 'the user of the job that moves is told' "$said" 'needs about [0-9]+ GiB of GPU memory, 1g\.10gb has 9; moved to 3090'
asked 'an untyped job of several GPUs is decided, too' '(null)' gres:gpu:2 --gres=gpu:2 --comment="$JOB"

for gpu in 1g.10gb 3090; do
    live_need -t 1-0 -c 16 --mem=64000 --gres="gpu:$gpu:1" --comment="$JOB" -o "out-$gpu" job.sh
    cluster_wait_job "$job" COMPLETED 180
    like "a job on $gpu runs, with its steps" "$(<"$dir/home/out-$gpu")" '^step on [av][12]$'
done
live_end
