#!/bin/bash
# history.t - decisions by the runs of an application, on a real slurmctld
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The file of histories is written here, as dnnestd would; the plugin finds it in StateDir.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin history job_submit_dnnest

readonly B=(-H --gres=gpu:a100:2 -c 16 -t 2-0 -o /dev/null)

# --- helpers -------------------------------------------------------------------------

use() {
    printf '%s\n' Mode=enforce StartChanges=0 "DataDir=$dir/etc" \
        Bundle=none "StateDir=$dir/state" DecisionTime=1000 TimeLimit=limit "$@" \
        'Gpu Type=a100 Device=a100_sxm4_40gb PerNode=4 NodeCpus=96 NodeMemory=512000 Cost=3' \
        'Gpu Type=v100 Device=v100_sxm2_16gb PerNode=4 NodeCpus=96 NodeMemory=512000 Cost=1' \
        >"$dir/etc/dnnest.new"
    mv "$dir/etc/dnnest.new" "$dir/etc/dnnest.conf"
    if [[ -e $dir/run ]]; then
        cluster_reconfigure
        live_looked
    fi
}

# script MODEL SEED FOLDER NOTE: a batch script
script() {
    printf '%s\n' '#!/bin/bash' "#SBATCH -J $2" "# $4" "cd /scratch/$3" \
        "torchrun --nproc_per_node=2 /home/me/$3/train.py --model $1 --seed $2 --out /tmp/$3"
}

# submit SCRIPT [OPTION...]: sets 'job', 'said', 'minutes', 'record', 'cpus'
submit() {
    local file=$dir/home/job.sh
    printf '%s\n' "$1" >"$file"
    shift
    job=$(cluster_as_user sbatch --parsable "${B[@]}" "$@" job.sh 2>"$dir/said") || job=
    said=$(<"$dir/said")
    record=$(scontrol show job "${job:-0}" | sed -n 's/^ *AdminComment=//p')
    minutes=$(cluster_job_field "${job:-0}" TimeLimit)
    cpus=$(cluster_job_field "${job:-0}" NumCPUs)
    scancel "${job:-0}"
}
# member NAME: of the record
member() { jq -r ".$1" <<<"$record"; }

# know APP RUNS UNIT SECONDS WORK [KEY=VALUE...]: what was learned of the user's application
know() {
    local key
    key=$(key_of "$1")
    printf '%s\n' "History Version=1 Time=$(date +%s) ByAccount=no" 'Type Name=a100' \
        "App Key=$key Type=0 Gpus=2 Unit=$3 Freedom=10 Runs=$2 Last=1 Time=$(($4 * 1000000)) Sigma=50000 Longest=$(($4 * $5 * 1050)) ${*:6} WorkMin=$5 WorkMax=$5" \
        'End Rows=1' >"$dir/state/history.new"
    mv "$dir/state/history.new" "$dir/state/history"
    live_looked
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
use
mkdir -m 755 "$dir/state"
live_start --plugin-dir "$plugin_dir"
first=$(script resnet50 1 run1 'a note')
again=$(script resnet50 77 run2 'another note, and longer')
other=$(script vgg16 1 run1 'a note')

# --- dnnest:auto ---------------------------------------------------------------------

submit "$first" --comment=dnnest:auto
is 'a job without history keeps its limit' "$minutes" 2-00:00:00
is 'the record has the verdict and its work' "$(member verdict) $(member unit) $(member work)" 'abstain run 1'
like 'the record says why' "$(member why)" 'few_runs.*0.*2.*a100'
app=$(member app)
like 'the application is a fingerprint' "$app" '^fp:[0-9a-f]{16}$'
submit "$again" --comment=dnnest:auto
is 'another comment, seed and folder are the same application' "$(member app)" "$app"
submit "$other" --comment=dnnest:auto
ok 'another network is another one' test "$(member app)" != "$app"

know "$app" 1 run 5400 1
submit "$first" --comment=dnnest:auto
is 'one run is not enough' "$minutes" 2-00:00:00
know "$app" 7 run 5400 1 Cores=2000 Memory=9000
submit "$first" --comment=dnnest:auto
is 'the limit follows seven runs' "$minutes" 01:55:00
like 'the user is told' "$said" 'time 2-00:00:00 -> 01:55:00.*likely 1h30m by 7 of your runs'
is 'the CPUs follow those that were busy' "$cpus" 6
is 'the record has what the guard needs' \
    "$(member 'pred | "\(.train_s) \(.hist) \(.p95_s > 5400 and .p99_s > .p95_s)"')" '5400 7 true'
submit "$again" --comment=dnnest:auto
is 'the history holds for another comment, seed and folder' "$minutes" 01:55:00
submit "$other" --comment=dnnest:auto
is 'the history does not hold for another network' "$minutes" 2-00:00:00
submit "$first" --comment=dnnest:auto --gres=gpu:a100:4
is 'the history does not hold for another number of GPUs' "$minutes" 2-00:00:00
submit "$first" --comment=dnnest:auto --gres=gpu:v100:2
is 'the history does not hold for another type' "$minutes" 2-00:00:00
submit "$first"
is 'a job that says nothing is left alone' "$record" ''
submit "$first" --comment=dnnest:off
is 'a job that opts out keeps its limit' "$minutes" 2-00:00:00

# --- OptIn=history -------------------------------------------------------------------

use OptIn=history
submit "$first"
is 'OptIn=history: the limit of a job without metadata follows its runs' "$minutes" 01:55:00
is 'nothing else of it is changed' "$cpus" 16
submit "$other"
is 'one that has not run before keeps its limit' "$minutes $(member verdict)" '2-00:00:00 abstain'
like 'one that has not run before is remembered' "$(member app)" '^fp:'
use OptIn=history Record=anonymous
submit "$first"
is 'a fingerprint is anonymous' "$minutes $(member app)" "01:55:00 $app"

# --- app= ----------------------------------------------------------------------------

use
submit "$first" --comment=dnnest:app=mine,epochs=10
is 'app= names the application, epochs= its work' \
    "$(member app) $(member unit) $(member work)" 'mine epochs 10'
know mine 4 epochs 600 9
submit "$other" --comment=dnnest:app=mine,epochs=9
is 'the limit follows the time of an epoch' "$minutes" 01:55:00
submit "$other" --comment=dnnest:app=mine,epochs=18
is 'twice the epochs get twice the limit' "$minutes" 03:50:00
submit "$other" --comment=dnnest:app=mine,epochs=1000
is 'the work of a hundred runs is not known' "$minutes" 2-00:00:00
use Record=anonymous
submit "$first" --comment=dnnest:app=mine,epochs=10
like 'anonymous records have no name' "$(member app)" '^fp:'
use

# --- with a model --------------------------------------------------------------------

readonly M='dnnest:model=resnet50,batch=128,precision=fp16,epochs=3,dataset=imagenet,app=rn'
submit "$first" --comment="$M"
base=$(member pred.base_s)
is 'the work of a described network is the predicted time' \
    "$(member unit) $(member work)" "predicted $base"
use GpuType=keep
submit "$first" --comment="$M"
base=$(member pred.base_s)
before=$(member pred.train_s)
key=$(key_of rn)
printf '%s\n' "History Version=1 Time=$(date +%s) ByAccount=no" 'Type Name=a100' \
    "App Key=$key Type=0 Gpus=2 Unit=predicted Freedom=10 Runs=5 Last=1 Time=2000000 Sigma=50000 Longest=1000 WorkMin=$base WorkMax=$base" \
    'End Rows=1' >"$dir/state/history"
live_looked
submit "$first" --comment="$M"
now=$(member pred.train_s)
ok 'what was predicted is corrected by a factor of two' \
    test $((now - 2 * before)) -ge -1 -a $((now - 2 * before)) -le 1
is 'what it was stays in the record' "$(member pred.base_s)" "$base"
like 'the user is told that it is by runs' "$said" 'resnet50, 3 epochs: likely .* by 5 of your runs'

# --- broken files --------------------------------------------------------------------

mark
sed -i 's/Runs=5/Runs=x/' "$dir/state/history"
live_looked
submit "$first" --comment="$M"
is 'a broken file is not used' "$(member pred.train_s)" "$before"
like 'the log says why a file is not used' "$(logged)" "history: line 3: Runs: 'x' is not a whole number, .*: decisions do not use it"
rm "$dir/state/history"

done_testing
