#!/bin/bash
# 0141-job-story.t - 'dnnest status JOBID': what dnnest did to a finished job
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

{
    echo 'cluster,raw_id,submit_s,start_s,end_s,eligible_s,job,user,user_name,name,state,outcome,mode,verdict,asked_limit_s,set_limit_s,asked_gpu,set_gpu,asked_cpus,set_cpus,asked_mem_gb,set_mem_gb,limit_s,likely_s,bound_s,history_runs,extensions,gpus,gpu,cpus,cpu_s'
    echo 'c,12,1767571200,1767574800,1767582000,1767571200,12_3,5,ann,net,COMPLETED,completed,enforce,change,36000,10800,a100,v100,64,8,195.3125,7,14400,6000,9000,4,2,4,v100,8,14400'
    echo 'c,13,1767571200,1767574800,1767582000,1767571200,13,5,ann,<script>,TIMEOUT,limit_user,,,,,,,,,,,UNLIMITED,,,,,,,1,'
    echo 'c,14,1767571200,1767574800,1767575000,1767571200,14,5,ann,net,PREEMPTED,preempted,,,,,,,,,,,600,,,,,,,1,'
    echo 'c,14,1767571200,1767576800,1767577000,1767571200,14,5,ann,net,COMPLETED,completed,,,,,,,,,,,600,,,,,,,1,'
} | fill "$work/jobs.db" || diag 'the store is not made'

gives 'before and after, predicted and used' 0 \
    $'limit +10:00:00 -> 03:00:00.*GPU type +a100 -> v100.*CPUs +64 -> 8\n +memory +195.3 GiB -> 7.0 GiB\n.*extended +2 times.*predicted +01:40:00, at most 02:30:00, from 4 earlier.*used +02:00:00, 120 %' \
    status 12_3 --db="$work/jobs.db"
gives 'a job without a record has a story, too' 0 'limit_user.*dnnest +did not see it.*UNLIMITED' \
    status 13 --db="$work/jobs.db"
json 'JSON has all columns' 'len(d["runs"]) == 1 and d["runs"][0]["set_limit_s"] == 10800
    and d["runs"][0]["wait_s"] == 3600 and d["runs"][0]["ran_s"] == 7200
    and d["runs"][0]["energy_j"] is None' status 12_3 --db="$work/jobs.db"
json 'each start is a run' '[r["state"] for r in d["runs"]] == ["PREEMPTED", "COMPLETED"]' \
    status 14 --db="$work/jobs.db"
documented 'dnnest(1) names every member of the JSON' status 12_3 --db="$work/jobs.db"
refuses 'a job that is not in the store' 1 'job 99 is not in .*scontrol show job 99' \
    status 99 --db="$work/jobs.db"

# A job that slurmctld has.
mkdir "$work/bin"
cat >"$work/bin/scontrol" <<'END'
#!/bin/sh
[ "$*" = 'show job -o 99' ] || exit 1
echo 'JobId=99 AdminComment={"dnnest":1,"req":{},"open":[{"gpu":"a100","slow":100},{"gpu":"v100","slow":162}],"steer":{"gpu":"v100","time_s":7620,"at_s":1767571200}} Comment=x'
END
chmod +x "$work/bin/scontrol"
PATH="$work/bin:$PATH" gives 'a pending job has its types in one line' 0 \
    '^Job 99: may run on a100 or v100; moved to v100 at 2026-01-05 [0-9:]+, limit 02:07:00$' \
    status 99 --db="$work/jobs.db"
PATH="$work/bin:$PATH" json 'JSON has it, too' '"a100 or v100" in d["open"] and d["runs"] == []' \
    status 99 --db="$work/jobs.db"
PATH="$work/bin:$PATH" documented 'dnnest(1) names that member' status 99 --db="$work/jobs.db"
PATH="$work/bin:$PATH" refuses 'a job that slurmctld has not' 1 'job 98 is not in' \
    status 98 --db="$work/jobs.db"
refuses 'a job of a hostile name' 2 'is not the number of a job, expected' status "1' OR '1'='1" --db="$work/jobs.db"
refuses 'an empty number' 2 'JOBID' status '' --db="$work/jobs.db"
refuses 'a store that does not exist' 4 'no store' status 1 --db="$work/none.db"
refuses '--db without a job' 2 'needs a JOBID' status --db="$work/jobs.db"
refuses 'two jobs' 2 'argument' status 1 2
done_testing
