#!/bin/bash
# frozen.t - a job that trains adapters of a large network keeps the GPU that can hold it,
# in a real Slurm with the shipped bundle
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The sidecar is that of a LLaMA of 7 billion parameters in 16 bits: three blocks that the
# exporter wrote, the middle one counted 30 times, with 2 bytes per frozen weight. It has
# 12.6 GiB of frozen weights and 16 MiB of adapters. A V100 of 16 GiB is four times cheaper. Without the frozen weights the same job fits it, and moves there.

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin frozen job_submit_dnnest spank_dnnest

readonly ZOO='model=llama_7b,seq_len=256,precision=half,optimizer=adamw,trainable=0.001'
readonly WORK='input=synthetic,steps=20000'

# --- helpers -------------------------------------------------------------------------

submit() {
    live_sbatch -H --gres=gpu:a100:1 -c 8 -t 5-0 "$@"
    diag "$said"
}

# A file of the user's.
give() {
    install -o "$CLUSTER_USER" -m 644 /dev/stdin "$dir/home/$1"
}

# The GPU type, and the verdict on record.
decided() {
    [[ $(cluster_job_field "$job" AdminComment) =~ \"verdict\":\"([a-z]+)\" ]] || true
    echo "$(cluster_job_field "$job" TresPerNode)" "${BASH_REMATCH[1]-none}"
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
echo 'optional spank_dnnest.so' >"$dir/etc/plugstack.conf"
# By the features that the nodes have; no dnnestd runs.
live_conf Mode=enforce
sed -i -E -e 's/Type=(.100)/& ByFeature=\1/' "$dir/etc/dnnest.conf"
chmod -R u=rwX,go=rX "$dir/etc"

live_start --plugin-dir "$plugin_dir" --no-accounting --no-nodes
give lora.json <"$top/tests/data/torch/lora_7b.json"
sed -E 's/,"frozen(_bytes)?":[0-9]+//g' "$top/tests/data/torch/lora_7b.json" |
    give adapters.json
printf '#!/bin/sh\n#DNNEST %s\nsrun hostname\n' "$WORK" | give job.sh

# --- jobs ----------------------------------------------------------------------------

submit --dnnest=lora.json job.sh
like 'a job with frozen weights keeps its a100' "$(decided)" 'gpu:a100:1 +change$'

submit --dnnest=adapters.json job.sh
like 'without these weights it could also run on the v100' "$(decided)" 'gpu:1 +change$'

submit --dnnest="$ZOO,batch=4" job.sh
like 'a network of the zoo keeps it, of which a share learns' "$(decided)" \
    'gpu:a100:1 +change$'
submit --dnnest="$ZOO,batch=4,$WORK,layers=4" job.sh
like 'with four layers it could also run on the v100' "$(decided)" 'gpu:1 +change$'
done_testing
