#!/bin/bash
# policy.t - which rules apply to which jobs, in a real slurmctld, for an ordinary user
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The expected job without dnnest is not written here: the same request without a
# description shows it.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin policy job_submit_dnnest

readonly JOB="dnnest:$LIVE_KEYS"
readonly A100=(--gres=gpu:a100:4 -c 80 -t 1-0 --mem=300000)
readonly V100=(--gres=gpu:v100:4 -t 1-0 --mem=300000)
group=$(id -gn "$CLUSTER_USER")

# --- helpers -------------------------------------------------------------------------

live_partitions=gpu,debug
write_conf() {
    live_conf "$LIVE_MOVES" Mode=enforce "$@"
}

# Start a controller with these lines in its dnnest.conf, and mark its log.
use() {
    write_conf "$@"
    conf_lines=$(wc -l <"$dir/etc/dnnest.conf")
    if ! live_restart; then
        fail 'slurmctld starts again'
        exit 1
    fi
}

# The mode and the verdict on record of a held job.
judged() {
    held "$@"
    [[ $(cluster_job_field "$job" AdminComment) =~ \"mode\":\"([a-z]+)\",\"verdict\":\"([a-z]+)\" ]] || true
    echo "${BASH_REMATCH[1]-none} ${BASH_REMATCH[2]-none}"
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
write_conf

live_start --plugin-dir "$plugin_dir"
live_see for-all
cat >"$dir/home/job.sh" <<'END'
#!/bin/sh
srun sh -c 'echo "step on $SLURMD_NODENAME with $SLURM_CPUS_PER_TASK CPUs"'
END

# --- scopes --------------------------------------------------------------------------

echo 'PartitionName=debug Nodes=v[1-2],a[1-2] MaxTime=2-0 State=UP' >>"$SLURM_CONF"
use 'Policy Partition=debug Mode=observe' 'Policy Account=research Mode=advise'
is 'a job that no line matches has the rules of the site' \
    "$(judged -p gpu "${A100[@]}" --comment="$JOB")" 'enforce change'
is 'a job in a partition has the rules of its line'\''s' \
    "$(judged -p debug "${A100[@]}" --comment="$JOB")" 'observe change'
is 'a job in several partitions has the rules of the one that matches' \
    "$(judged -p gpu,debug "${A100[@]}" --comment="$JOB")" 'observe change'
is 'a job of an account has the rules of its line'\''s' \
    "$(judged -p gpu -A research "${A100[@]}" --comment="$JOB")" 'advise change'
is 'of two lines the stricter one holds' \
    "$(judged -p debug -A research "${A100[@]}" --comment="$JOB")" 'observe change'

use 'Policy Partition=gpu Mode=observe'
is 'a job that names no partition is in the default one' \
    "$(judged "${A100[@]}" --comment="$JOB")" 'observe change'
is 'a job that names a partition is not in the default one' \
    "$(judged -p debug "${A100[@]}" --comment="$JOB")" 'enforce change'

use "Policy User=$CLUSTER_USER Mode=observe"
is 'a user is known by name' "$(judged "${A100[@]}" --comment="$JOB")" 'observe change'
use 'Policy User=root Mode=observe' "Policy Group=$group Mode=advise"
is 'a line of a user does not match another user, a group is known by name' \
    "$(judged "${A100[@]}" --comment="$JOB")" 'advise change'

use 'Policy User=no-such-user Mode=observe' 'Policy Group=no-such-group Mode=observe'
is 'a user that does not exist is logged once, with its line' "$(logged |
    grep -c "; line $((conf_lines - 1)): User: 'no-such-user' is not known, the name is skipped, and 1 more")" 1
is 'a line whose only user does not exist matches no job' \
    "$(judged "${A100[@]}" --comment="$JOB")" 'enforce change'
use "Policy User=no-such-user,$CLUSTER_USER Mode=observe"
is 'a line with another user matches that one' \
    "$(judged "${A100[@]}" --comment="$JOB")" 'observe change'

# --- pause -----------------------------------------------------------------------------

if [[ -x $dnnest ]]; then
    judges_now() { [[ $(judged "${A100[@]}" --comment="$JOB") = "$1" ]]; }
    at_once() { "$dnnest" "$1" "${@:3}" "--conf=$dir/etc/dnnest.conf" >/dev/null && cluster_until 60 judges_now "$2"; }
    use "Policy Account=no-such Mode=advise"
    ok 'a paused user has no job changed, without a word to slurmctld' \
        at_once pause 'observe change' "--user=$CLUSTER_USER"
    ok 'a paused user is resumed as quickly' at_once resume 'enforce change' "--user=$CLUSTER_USER"
    use "Policy User=$CLUSTER_USER Mode=enforce"
    ok 'a pause of all stops also those of a line with another mode' at_once pause 'observe change'
    like 'dnnest status says that it is paused' \
        "$("$dnnest" status "--conf=$dir/etc/dnnest.conf" 2>/dev/null || true)" $'\npaused, for all jobs or some'
    ok 'one of a user more changes nothing' at_once pause 'observe change' "--user=$CLUSTER_USER"
    ok 'the end of the first changes nothing while the second lasts' at_once resume 'observe change'
    ok 'after the second jobs are changed' at_once resume 'enforce change' "--user=$CLUSTER_USER"
    not_ok 'nothing is left of it' test -e "$dir/etc/dnnest.paused"
else
    skip 'pause and resume' 'the command is not built'
fi

# --- a gentle start --------------------------------------------------------------------

# With the default, which live_conf does not have, or N changes in the first hour; a job of the
# group is changed or left.
start_gently() {
    sed -i "s/^StartChanges=.*/${1+StartChanges=$1}/" "$dir/etc/dnnest.conf"
    live_restart
}
many() {
    local i pids=()
    rm -f "$dir"/many.*
    for ((i = 0; i < $1; i++)); do
        cluster_as_user sbatch --parsable -H "${A100[@]}" --comment="$JOB" job.sh >"$dir/many.$i" 2>"$dir/many.$i.said" &
        pids+=($!)
        if ((i % 6 == 5)); then wait "${pids[@]}"; pids=(); fi
    done
    wait ${pids[@]+"${pids[@]}"}
    for ((i = 0; i < $1; i++)); do cluster_job_field "$(<"$dir/many.$i")" AdminComment; done >"$dir/many"
    echo "$(grep -c '"verdict":"change"' "$dir/many") $(grep -c '"verdict":"abstain".*start_changes' "$dir/many")" \
        "$(cat "$dir"/many.*.said | grep -c 'unchanged (after a start dnnest changes only some jobs an hour')"
}
use
start_gently
is 'after a start 20 of 24 jobs are changed, whatever thread gets them; the others are told' "$(many 24)" '20 4 4'
shown "$(grep -L -- '->' "$dir"/many.*.said | sed 's/.said$//' | head -n 1 | xargs cat)" >"$dir/left"
held "${A100[@]}" --comment=dnnest:off
is 'a job beyond them is as one that opts out' "$(<"$dir/left")" "$(shown "$job")"
start_gently
is 'after another start the count begins anew' "$(many 3)" '3 0 0'
use "PythonDir=$top/python ProgressDir=$dir/home"
start_gently 2
described=()
for _ in {1..3}; do
    live_sbatch --gres=gpu:a100:1 --comment=dnnest:auto -o "$dir/home/own.%j" --wrap='echo "hook: $DNNEST_JOB_CAPTURE"'
    described+=("$job")
done
# nor does a question
for _ in {1..3}; do
    cluster_as_user sbatch --test-only "${A100[@]}" --comment="$JOB" job.sh 2>>"$dir/asked" || true
done
for job in "${described[@]}"; do cluster_wait_job "$job" COMPLETED 180; done
is 'jobs that only describe themselves are not left, and do not count, nor questions' \
    "$(cat "$dir"/home/own.* | grep -c '^hook: /') of 3, then $(many 3)" '3 of 3, then 2 1 1'
is '--test-only tells what would be changed' "$(grep -c -- '->' "$dir/asked")" 3

# --- slurm.conf, in a file that it includes ------------------------------------------

use "Policy User=$CLUSTER_USER Mode=advise"
sed -i '/^SlurmctldParameters=/d' "$SLURM_CONF"
echo 'Include parameters.conf' >>"$SLURM_CONF"
parameters() {
    echo "SlurmctldParameters=$1" >"$dir/etc/parameters.conf"
    sleep 1.1 # Slurm stamps a reconfiguration with whole seconds
    cluster_reconfigure
}
judges() {
    [[ $(judged "${A100[@]}" --comment="$JOB") = "$1" ]]
}
parameters dnnest_mode=observe
ok 'dnnest_mode=observe in slurm.conf stops dnnest also for users of a line with another mode' \
    cluster_until 180 judges 'observe change'
parameters dnnest_mode=enforce
ok 'dnnest_mode=enforce does not affect users of a line with a weaker mode' \
    cluster_until 180 judges 'advise change'
parameters dnnest_cpus=keep
ok 'another key of slurm.conf leaves the mode' cluster_until 180 judges 'advise change'
if [[ -x $dnnest ]]; then
    config() {
        "$dnnest" config --conf "$dir/etc/dnnest.conf" --json "$@" | tr -d ' \n'
    }
    like 'dnnest config says the same' "$(config --user="$CLUSTER_USER")" \
        "\"key\":\"Mode\",\"value\":\"advise\",\"from\":\"dnnest.conf:$conf_lines\""
    like 'dnnest config says what comes from slurm.conf' "$(config)" \
        '"key":"Cpus","value":"keep","from":"slurm.conf"'
    like 'dnnest config has the rules of the site for another user' "$(config --user=root)" \
        "\"key\":\"Mode\",\"value\":\"enforce\",\"from\":\"dnnest.conf:$((conf_lines - 1))\""
else
    skip 'dnnest config says the same' 'the command is not built'
fi
sed -i '/^Include /d' "$SLURM_CONF"

# --- the control group ---------------------------------------------------------------

use ControlGroup=100 Message=always
held "${A100[@]}"
plain=$(shown "$job")
held "${A100[@]}" --comment="$JOB"
is 'a job of the control group is like one without metadata' "$(shown "$job")" "$plain"
is 'the user of a job of the control group gets no message' "$said" ''
like 'the record of a job of the control group has what would have changed' \
    "$(cluster_job_field "$job" AdminComment)" \
    '"verdict":"control",.*"set":\{"time_s":[0-9]+,"gpu":"v100","features":"v100","cpus_per_task":[0-9]+,"cap_s":[0-9]+\}'
like 'the log names the job of the control group' \
    "$(logged)" 'verdict=control .*the job is in the control group'

use ControlGroup=50
groups=()
for _ in {1..16}; do groups+=("$(judged "${A100[@]}" --comment="$JOB")"); done
# The chance that all are in one group is about one in 2^15.
is 'half of the submissions of a job are in the control group' \
    "$(printf '%s\n' "${groups[@]}" | sort -u | xargs)" 'enforce change enforce control'

# --- OptIn ---------------------------------------------------------------------------

use OptIn=all
held "${A100[@]}"
is 'with OptIn=all a job without metadata is not changed' "$(shown "$job")" "$plain"
like 'with OptIn=all a job without metadata is recorded' \
    "$(cluster_job_field "$job" AdminComment)" \
    '"verdict":"abstain",.*"why":\["no_metadata"\]'

# --- NeverRaise ----------------------------------------------------------------------

readonly SHORT=(--gres=gpu:v100:4 -c 4 -t 40 --mem=300000)
use NeverRaise=no GpuType=keep
live_sbatch "${SHORT[@]}" --comment="$JOB" -o out-%j job.sh
ok 'with NeverRaise=no a limit that is too low is raised' \
    test "$(minutes "$(cluster_job_field "$job" TimeLimit)")" -gt 40
raised=$(cluster_job_field "$job" CPUs/Task)
ok 'with NeverRaise=no CPUs that are too few are raised' test "$raised" -gt 4
is 'all fields of the job have the raised CPUs' \
    "$(cluster_job_field "$job" NumCPUs) $(cluster_job_field "$job" MinCPUsNode)" \
    "$raised $raised"
ok 'a job with raised CPUs completes' cluster_wait_job "$job" COMPLETED 180
like 'the srun of a job with raised CPUs has them' \
    "$(<"$dir/home/out-$job")" "^step on v[12] with $raised CPUs\$"

use NeverRaise=no TimeMax=00:41:00 Cpus=keep GpuType=keep
held "${SHORT[@]}" --comment="$JOB"
is 'NeverRaise=no raises no limit above TimeMax' \
    "$(minutes "$(cluster_job_field "$job" TimeLimit)")" 40

# --- the deadline --------------------------------------------------------------------

use Cpus=keep TimeLimit=keep
held "${A100[@]}" --comment="$JOB"
is 'a job moves' "$(cluster_job_field "$job" Features)" v100
held --gres=gpu:a100:4 -c 80 -t 60 --mem=300000 --deadline=now+80minutes --comment="$JOB"
like 'a job with a deadline does not miss it on another type' \
    "$(cluster_job_field "$job" TresPerNode)" 'gpu:a100:4 *$'

# --- the minimum time ----------------------------------------------------------------

use TimeLimit=time_min Cpus=keep GpuType=keep
refused() { logged | grep -c 'TimeLimit=time_min needs Slurm 24.11' || true; }
n_refused=$(refused)
like 'without a soft limit TimeLimit=time_min is refused in one line' "$n_refused" '^1$'
held "${V100[@]}" --comment="$JOB"
is 'without a soft limit TimeLimit=time_min keeps the time limit' \
    "$(cluster_job_field "$job" TimeLimit)" '1-00:00:00'
is 'without a soft limit TimeLimit=time_min sets no minimum time' \
    "$(cluster_job_field "$job" TimeMin)" 'N/A'
is 'a job adds no line about TimeLimit=time_min' "$(refused)" "$n_refused"

sed -i 's/^SchedulerParameters=.*/&,time_min_as_soft_limit/' "$SLURM_CONF"
use TimeLimit=time_min Cpus=keep GpuType=keep
held "${V100[@]}" -c 80 --comment="$JOB" # with fewer the loaders take days
limits="$(cluster_job_field "$job" TimeLimit) $(cluster_job_field "$job" TimeMin)"
if (($(_cluster_version) < 2411)); then
    is 'before Slurm 24.11 SchedulerParameters alone sets no minimum time' \
        "$limits" '1-00:00:00 N/A'
    like 'before Slurm 24.11 the log says that TimeLimit=time_min is refused' "$(refused)" '^1$'
else
    like 'with a soft limit a minimum time is set, and the limit is kept' \
        "$limits" '^1-00:00:00 [0-9:]+$'
    held "${V100[@]}" --comment="$JOB" --array=1-2
    like 'a minimum time is set on an array' \
        "$(cluster_job_field "$job" TimeMin | head -1)" '^[0-9:]+$'
fi

# --- the default account of a user -------------------------------------------------------

use 'Policy Account=research Mode=advise'
like 'without a snapshot that has it a job that names no account has none' \
    "$(live_blind; judged -p gpu "${A100[@]}" --comment="$JOB")" '^enforce '
live_see for-all
is 'a job that names no account has the rules of its user'\''s default one' \
    "$(judged -p gpu "${A100[@]}" --comment="$JOB")" 'advise change'
if [[ -x $dnnest ]]; then
    is 'dnnest advise knows the default account, too' "$(cluster_as_user "$dnnest" advise --json \
        "--conf=$dir/etc/dnnest.conf" -p gpu "${A100[@]}" --comment="$JOB" --wrap=true |
        jq -r .decision.mode)" advise
    use
    "$dnnest" pause --account=research "--conf=$dir/etc/dnnest.conf" >/dev/null
    live_see for-all
    ok 'the jobs of a paused account are not changed, also where it is the default one' \
        cluster_until 60 judges_now 'observe change'
    ok 'a paused account is resumed' at_once resume 'enforce change' --account=research
else
    skip 'a pause of the default account' 'the command is not built'
fi

live_end
