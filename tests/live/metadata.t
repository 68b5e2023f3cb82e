#!/bin/bash
# metadata.t - what users get wrong in their metadata, and what they are told
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs are submitted held to a real controller with the shipped bundle; nothing runs.

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin metadata job_submit_dnnest

readonly RUN='batch=64,precision=fp16,optimizer=momentum,epochs=3,dataset=imagenet'
readonly A100=(--gres=gpu:a100:1 -c 16 --mem=64G -t 5-0)

# --- helpers -------------------------------------------------------------------------

submit() {
    live_sbatch -H "${A100[@]}" "$@"
}

# The time limit, the CPUs and the GPUs of the job.
request() {
    local field
    for field in TimeLimit NumCPUs TresPerNode; do cluster_job_field "$job" "$field"; done
}

# kept TITLE: the job is as one that opts out.
kept() {
    is "$1" "$(request)" "$asked"
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
cp -R "$top/etc/bundle" "$dir/etc/bundle"
chmod -R u+rwX,go-w "$dir/etc"
live_conf Mode=enforce "Bundle=$dir/etc/bundle"
live_start --plugin-dir "$plugin_dir" --no-nodes
like 'the shipped bundle is in use' "$(logged)" 'model bundle default'

printf '#!/bin/sh\nsrun python train.py\n' >"$dir/home/job.sh"

# --- keys that a network does not read -----------------------------------------------

submit --comment=dnnest:off job.sh
asked=$(request)
like 'the request of a job is seen' "$asked" '5-00:00:00.*16.*a100'

submit --comment="dnnest:model=resnet50,$RUN" job.sh
like 'a job whose keys are all read is rewritten' "$said" '^sbatch: dnnest: time 5-00:00:00 -> '

submit --comment="dnnest:model=transformer,layers=12,${RUN/64/4},experts=64,top_k=2" job.sh
like 'the user is told which keys the network does not read' "$said" \
    'dnnest: .*keys experts=, top_k= are not read by transformer'
kept 'a job of keys that the network does not read is not changed'

# --- metadata that are not found -----------------------------------------------------

submit --comment="'dnnest:model=resnet50,$RUN'" job.sh
is 'the user is told of inner quotes, in one line' "$said" "sbatch: dnnest: warning: metadata \
ignored: the comment has a quote before 'dnnest:'; write --comment=dnnest:... without inner quotes"
kept 'a job whose metadata are in inner quotes is not changed'

submit --comment='ticket:4711 see dnnest page' job.sh
is 'a comment that only mentions dnnest has no line' "$said" ''

# --- networks of the site ------------------------------------------------------------

readonly DETECT='batch=4,precision=fp16,optimizer=momentum,epochs=3,samples=20000'
submit --comment="dnnest:model=ours,$DETECT" job.sh
like 'an unknown name is named' "$said" "model: 'ours' is not in the zoo"
kept 'a job of an unknown network is not changed'

submit --comment="dnnest:model=fasterrcnn_resnet50_fpn,$DETECT" job.sh
shipped=$(request)
ok 'a network that is a shipped file is decided on' test "$shipped" != "$asked"
mkdir "$dir/etc/dnnest.zoo.d"
install -m 644 "$dir/etc/zoo/fasterrcnn_resnet50_fpn.json" "$dir/etc/dnnest.zoo.d/ours.json"
live_looked
submit --comment="dnnest:model=ours,$DETECT" job.sh
is 'a file of the site is decided on like the shipped one, without a restart' "$(request)" "$shipped"
like 'the zoo lists it' "$(cluster_as_user "$dnnest" zoo --conf "$dir/etc/dnnest.conf" ours)" 'ours'

chown "$CLUSTER_USER" "$dir/etc/dnnest.zoo.d/ours.json"
live_looked
submit --comment="dnnest:model=ours,$DETECT" job.sh
kept 'a file that a user owns is not believed'
like 'the log says whose it is' "$(logged)" 'ours\.json: owned by uid'
rm -r "$dir/etc/dnnest.zoo.d"

# --- silence -------------------------------------------------------------------------

live_conf Mode=enforce Message=never "Bundle=$dir/etc/bundle"
cluster_restart_ctld
submit --comment="'dnnest:model=resnet50,$RUN'" job.sh
is 'Message=never is silent about ignored metadata, too' "$said" ''
like 'the log has them' "$(logged)" 'metadata ignored: the comment has a quote'
done_testing
