#!/bin/bash
# report.t - the sums of 'dnnest report' are those of sacct
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Short jobs of a real cluster end in every way: changed, kept, of the control group,
# without metadata, failed, cancelled, at their limit, arrays. dnnestd collects them. Then
# a program of its own, check_report, computes the sums from sacct and the admin comments.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin report job_submit_dnnest
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi
if [[ ! -x $build/dnnestd ]]; then skip_all 'dnnestd is not built'; fi

state=$dir/state

submit() {
    cluster_as_user sbatch --parsable -o /dev/null "$@" 2>/dev/null | tail -1
}

mkdir -p "$state"
live_hardware
live_conf Mode=enforce TimeLimit=limit "StateDir=$state" CollectInterval=10 ControlGroup=40
live_start --plugin-dir "$plugin_dir"
export SLURM_CONF
printf '#!/bin/sh\nsleep "${2:-1}"\nexit "${1:-0}"\n' >"$dir/home/job.sh"
printf '#!/bin/sh\nexec sleep 600\n' >"$dir/home/long.sh"

over=$(submit -t 1 long.sh)
verdict() { scontrol show job "$1" | sed -n 's/.*"verdict":"\([a-z]*\)".*/\1/p'; }
# One that dnnest changes, and that is killed at a limit below that of its user: without the guard
# dnnest sets none below an hour, so this one is lowered further.
for _ in {1..20}; do
    killed=$(submit -H -t 1-0 --gres=gpu:a100:1 \
        --comment="dnnest:$LIVE_KEYS,app=short" long.sh)
    if [[ $(verdict "$killed") == change ]]; then break; fi
    # sacct of 26.05 does not list what never ran.
    scontrol release "$killed"
    cluster_wait_job "$killed" RUNNING 180
    scancel "$killed"
done
scontrol update "JobId=$killed" TimeLimit=1
scontrol release "$killed"
jobs=()
for i in {1..16}; do
    described=$(submit --gres=gpu:a100:4 -c 80 -t 1-0 \
        --comment="dnnest:$LIVE_KEYS,app=net$((i % 3))" job.sh 0 $((i % 3 + 1)))
    jobs+=("$described")
done
for i in {1..6}; do submit -t "$((i + 1))" job.sh $((i % 2)) >/dev/null; done
submit --gres=gpu:a100:1 -t 1-0 --comment="dnnest:off" job.sh >/dev/null
submit --gres=gpu:v100:2 -t 5 --comment="dnnest:model=unknown" job.sh >/dev/null
submit --gres=gpu:v100:1 -t 10:00 --comment="dnnest:$LIVE_KEYS" job.sh >/dev/null
submit -t 5 --array=1-6 job.sh >/dev/null
cancelled=$(submit -t 5 --gres=gpu:v100:1 long.sh)
cluster_wait_job "$cancelled" RUNNING 180
scancel "$cancelled"
if ! cluster_until 240 all_ended; then fail "all jobs end, $over too"; fi
sleep 2

said=$("$build/dnnestd" collect --once "--conf=$dir/etc/dnnest.conf" 2>&1) || diag "$said"
"$dnnest" report --conf "$dir/etc/dnnest.conf" --json --by=user >"$dir/report.json" \
    || fail 'there is a report'
sacct -n -P -X -D -a -S now-1hours --delimiter=$'\x1f' \
    -o JobIDRaw,Eligible,Start,End,State,TimelimitRaw,AllocCPUS,AllocTRES,AdminComment,Suspended \
    >"$dir/sacct.txt"
if said=$(python3 "$here/check_report" "$dir/report.json" "$dir/sacct.txt" 2>&1); then
    pass 'the sums are those of sacct and the admin comments'
else
    fail 'the sums are those of sacct and the admin comments'
fi
diag "$said"
figures=$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["all"]["changed"], d["effects"][0]["control_jobs"])' "$dir/report.json")
like 'some jobs were changed, others of the control group' "$figures" '^[1-9][0-9]* [1-9]'
like 'the report begins with the job that was killed below the limit of its user' \
    "$("$dnnest" report --conf "$dir/etc/dnnest.conf")" \
    "killed at a limit of dnnest +1 of .*$killed +short +killed at 00:01:00, requested 1-00:00:00"
like 'a job that was cancelled has a story' \
    "$("$dnnest" status --conf "$dir/etc/dnnest.conf" "$cancelled" 2>&1)" 'CANCELLED'

# --- a login node: a user who cannot read StateDir, nor anything of the controller --------

chmod 700 "$state"
# One that is not of the control group
changed=$(sacct -n -X -P --delimiter=' ' -j "$(IFS=,; echo "${jobs[*]}")" -o JobID,AdminComment \
    | sed -n 's/^\([0-9]*\) .*"verdict":"change".*/\1/p' | tail -n 1)
own() {
    cluster_as_user "$dnnest" "$1" --conf "$dir/etc/dnnest.conf" "${@:2}" 2>&1
}
like 'there the same job has the same story' "$(own status "$cancelled")" \
    "Job $cancelled, .*CANCELLED"
like 'there a changed job says what was changed' "$(own status "$changed")" 'limit +1-00:00:00 -> '
is 'there the sums of the user are those of the store' \
    "$(own report --me --json --by=user | python3 -c 'import json, sys
print({k: round(v, 6) for k, v in json.load(sys.stdin)["all"].items() if v is not None})')" \
    "$(python3 -c 'import json, sys
print({k: round(v, 6) for k, v in json.load(open(sys.argv[1]))["all"].items() if v is not None})' \
        "$dir/report.json")"
like 'there the description of a job is known' "$(own describe "$changed")" '#DNNEST .*model=bert_base'
like 'there the tasks of an array are one line' "$(own report --jobs)" ' x6 +job.sh +COMPLETED'
like 'there a dry run knows the history' \
    "$(own advise --json --gres=gpu:a100:4 -c 80 -t 1-0 --comment="dnnest:$LIVE_KEYS,app=net0" job.sh)" \
    '"runs":[1-9]'

# --- a thousand jobs ----------------------------------------------------------------------

# Copies of a job with its steps, some minutes apart.
made=$(_cluster_sql "USE slurm;
    SET @last = (SELECT MAX(job_db_inx) FROM private_job_table);
    CREATE TEMPORARY TABLE one AS SELECT * FROM private_job_table WHERE id_job = $changed LIMIT 1;
    SET @one = (SELECT job_db_inx FROM one);
    CREATE TEMPORARY TABLE jobs AS SELECT one.*, seq FROM one, seq_1_to_1000;
    UPDATE jobs SET id_job = 100000 + seq, job_db_inx = @last + 1000 + seq,
        time_submit = UNIX_TIMESTAMP() - 400000 + seq * 300, time_eligible = time_submit,
        time_start = time_submit + 10, time_end = time_submit + 200;
    ALTER TABLE jobs DROP COLUMN seq;
    INSERT INTO private_job_table SELECT * FROM jobs;
    CREATE TEMPORARY TABLE steps AS SELECT private_step_table.*, seq
        FROM private_step_table, seq_1_to_1000 WHERE job_db_inx = @one;
    UPDATE steps SET job_db_inx = @last + 1000 + seq,
        time_start = UNIX_TIMESTAMP() - 399990 + seq * 300, time_end = time_start + 190;
    ALTER TABLE steps DROP COLUMN seq;
    INSERT INTO private_step_table SELECT * FROM steps" 2>&1) || diag "$made"
# least COMMAND...: the least ms of three calls, which take turns with others
least() {
    local begin
    begin=$(date +%s%3N)
    cluster_as_user "$@" >"$dir/out" 2>&1 || diag "$(head -n 3 "$dir/out")"
    begin=$(($(date +%s%3N) - begin))
    if ((begin < ms)); then ms=$begin; fi
}
ours=999999 plain=999999
for _ in 1 2 3; do
    ms=$plain
    least sacct -S now-7days -o JobID,State,Elapsed,TotalCPU,MaxRSS,AllocTRES
    plain=$ms ms=$ours
    least "$dnnest" report --jobs --conf "$dir/etc/dnnest.conf"
    ours=$ms
done
is 'a list has a thousand jobs' "$(grep -c '^ *10[0-9][0-9][0-9][0-9] ' "$dir/out")" 1000
diag "a list of 1000 jobs takes $ours ms, sacct $plain ms, load $(cut -d ' ' -f 1 /proc/loadavg)"
like 'a list takes at most three times as long as sacct alone' $((ours <= 3 * plain)) 1
done_testing
