#!/bin/bash
# trust.t - a user whose jobs need more than they say loses the short limits, others do not
#
# The limits of both users follow GuardedQuantile at first. Four jobs of one user then run
# beyond their limits, and dnnestd extends them. The limits of that user follow TimeQuantile
# from then on; those of the other user stay as they are.

set -euo pipefail

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
dnnestd=${DNNESTD:-$build/dnnestd}
live_begin trust job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built'; fi

readonly KEYS='model=resnet50,batch=64,precision=fp16,input=synthetic,gpus=1'
readonly LIKELY_S=50
readonly HONEST=games

as_honest() {
    CLUSTER_USER=$HONEST cluster_as_user "$@"
}

# submit_as COMMAND SECONDS: prints the id of a job that runs so long
submit_as() {
    "$1" sbatch --parsable --gres=gpu:v100:1 -c 1 --mem=100 -t 30 -o /dev/null -D /tmp \
        --comment="dnnest:$KEYS,steps=$steps" --wrap "exec sleep $2" 2>"$dir/said"
}
limit_of() {
    cluster_job_field "$1" TimeLimit
}

live_hardware
live_conf Mode=enforce GpuType=keep Cpus=keep TimeMin=00:01:00 TimeMargin=0 \
    GuardedQuantile=0.5 "StateDir=$dir/dnnestd" GuardInterval=2 WatchInterval=2
mkdir -p "$dir/dnnestd"
chmod -R go-w "$dir/etc" "$dir/dnnestd"
if ! cluster_start "$dir" --plugin-dir "$plugin_dir" --no-accounting; then
    fail 'slurmctld starts with the plugin'
    done_testing
    exit 1
fi
steps=$("$dnnest" predict --conf "$dir/etc/dnnest.conf" --json --gpu v100_sxm2_16gb \
    "$KEYS,steps=100000" | jq "$LIKELY_S * 100000 / .candidates[0].train_s.p50 | floor")

job=$(submit_as cluster_as_user 5)
cautious=$(limit_of "$job")
isnt_short() { [[ $1 != 00:01:00 ]]; }
ok 'without a guard the limit is that of TimeQuantile' isnt_short "$cautious"

_cluster_spawn dnnestd "$dnnestd" -D --conf="$dir/etc/dnnest.conf"
# The plugin looks at its files every two seconds, twice.
ok 'dnnestd writes its heartbeat' cluster_until 20 test -s "$dir/dnnestd/guard"
guarded() {
    job=$(submit_as "$1" 5)
    [[ $(limit_of "$job") = 00:01:00 ]]
}
ok 'with a guard the limit is that of GuardedQuantile' cluster_until 15 guarded cluster_as_user
like 'the user is told that it is extended' "$(<"$dir/said")" 'extended up to 00:30:00 if needed'
ok 'that of another user is, too' guarded as_honest

for _ in 1 2 3 4; do jobs+=("$(submit_as cluster_as_user 75)"); done
for job in "${jobs[@]}"; do
    ok "job $job, which needs more, is extended and ends by itself" \
        cluster_wait_job "$job" COMPLETED 120
done
distrusted() {
    job=$(submit_as cluster_as_user 5)
    [[ $(limit_of "$job") = "$cautious" ]]
}
ok 'after four such jobs the limit of that user is that of TimeQuantile again' \
    cluster_until 20 distrusted
ok 'that of the other user is still that of GuardedQuantile' guarded as_honest

_cluster_end dnnestd
lapsed() {
    job=$(submit_as as_honest 5)
    [[ $(limit_of "$job") = "$cautious" ]]
}
ok 'without a fresh heartbeat it is that of TimeQuantile for all' cluster_until 30 lapsed
done_testing
