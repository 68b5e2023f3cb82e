#!/bin/bash
# 0143-lookback.t - what past jobs requested and used, from accounting alone
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1

# What sacct prints of 400 jobs of 5 owners: applications whose runs take as long as ever,
# four CPUs busy of 16 per GPU, a step of each with its memory; and of one job in 4 no GPU.
awk 'BEGIN {
    srand (1)
    split ("resnet bert unet gpt", names, " ")
    for (i = 1; i <= 400; i++) {
        user = i % 5
        name = names[int (i / 5) % 4 + 1] "_seed" i
        gpus = i % 4 ? 1 + i % 3 % 2 : 0
        run = 1000 * (user + 1) + int (50 * rand ())
        submit = 1700000000 + 300 * i; start = submit + 60; end = start + run
        cpus = gpus ? 16 * gpus : 8
        busy = int (run * (gpus ? 4 * gpus : 8))
        used = sprintf ("%02d:%02d:%02d", busy / 3600, busy / 60 % 60, busy % 60)
        tres = "cpu=" cpus ",mem=65536M,node=1" (gpus ? ",gres/gpu=" gpus ",gres/gpu:a100=" gpus : "")
        printf "%d|%d|c|u%d|%d|a|gpu|normal|%s|%d|%d|%d|%d|00:00:00|600|%s|1|n1|%s|%s|||0:0\n",
            i, i, user, 1000 + user, name, submit, submit, start, end,
            i % 50 ? "COMPLETED" : "TIMEOUT", tres, used
        printf "%d.batch|%d.batch|c|||a|||batch|%d|%d|%d|%d|00:00:00||COMPLETED|1|n1|cpu=%d,mem=65536M,node=1|%s|mem=16384M||0:0\n",
            i, i, submit, submit, start, end, cpus, used
    }
}' | sed 's/|/<|>/g' >past.sacct
printf 'type,nodes,gpus,cpus,mem_mb\na100,4,4,64,512000\n' >nodes.csv

# sums of the file itself: jobs, GPU hours requested and had, CPU hours had and busy
sums=$(awk -F '<[|]>' '$1 !~ /\./ && $19 ~ /gpu/ {
    split ($19, tres, ","); sub ("cpu=", "", tres[1]); sub ("gres/gpu=", "", tres[4])
    split ($20, t, ":"); run = $13 - $12; n++
    asked += tres[4] * $15 / 60; gpu += tres[4] * run / 3600
    cpu += tres[1] * run / 3600; busy += t[1] + t[2] / 60 + t[3] / 3600
} END { printf "%d, %.3f, %.3f, %.3f, %.3f", n, asked, gpu, cpu, busy }' past.sacct)
json 'the sums are those of the file' \
    "all(abs(a / b - 1) < 1e-4 for a, b in zip((d['jobs'], d['hours']['gpu_requested'], d['hours']['gpu'],
         d['hours']['cpu'], d['hours']['cpu_busy']), ($sums)))" lookback --sacct=past.sacct
json 'jobs without GPUs are counted only' 'd["others"] == 100 and d["jobs"] == 300' \
    lookback --sacct=past.sacct
json 'jobs at their limit' 'd["at_limit"] == 4' lookback --sacct=past.sacct
json 'host memory' 'abs(d["hours"]["memory_used"] / d["hours"]["memory_measured"] - 0.25) < 1e-6' \
    lookback --sacct=past.sacct
json 'runs of an application repeat, whatever the number in their names' \
    'd["rules"]["repeats"] >= 220' lookback --sacct=past.sacct
json 'from the second run on limits and CPUs are lowered, and no job is killed' \
    'd["rules"]["limits_lowered"] > 100 and d["rules"]["killed"] == 0 and d["rules"]["fewer_cpus"] > 100
     and d["rules"]["policy_cpu_h"] < d["rules"]["requested_cpu_h"]' lookback --sacct=past.sacct
json 'without nodes there is no queue' '"queue" not in d' lookback --sacct=past.sacct
json 'the queue has all jobs and owners, and an interval' \
    'd["queue"]["jobs"] == 300 and d["queue"]["owners"] == 5 and
     d["queue"]["wait"]["low_s"] <= d["queue"]["wait"]["mean_s"] <= d["queue"]["wait"]["high_s"]' \
    lookback --sacct=past.sacct --nodes=nodes.csv
json 'a period' "d['jobs'] == $(awk -F '<[|]>' '$1 !~ /\./ && $19 ~ /gpu/ && $13 < 1700061400' past.sacct | wc -l)" \
    lookback --sacct=past.sacct --until=@1700061400
json 'rules that keep limits lower none' 'd["rules"]["limits_lowered"] == 0' \
    lookback --sacct=past.sacct --set=TimeLimit=keep
json 'memory that was requested goes down where the rule says so' 'd["rules"]["less_memory"] > 100' \
    lookback --sacct=past.sacct --set=Memory=measured
gives 'the text says what is not known' 0 'GPU, of run times \(busy\) +- +- ' lookback --sacct=past.sacct
is 'the text fits 100 columns' \
    "$(dn lookback --sacct=past.sacct --nodes=nodes.csv | awk 'length > 100')" ''
documented 'dnnest(1) names every member of the JSON' lookback --sacct=past.sacct --nodes=nodes.csv --names
try lookback --sacct=past.sacct --nodes=nodes.csv --html=past.html
like 'the page lists the jobs whose limits go down most' "$(tr '\n' ' ' <past.html)" \
    '<h3 id="lowered">Limits lowered: 20 of [0-9]*,.*<li>[0-9]*: limit 10:00:00 -> 0'
printf 'type,nodes,gpus,cpus,mem_mb\na100,1,2,64,512000\n' >few.csv
json 'a queue that is not as it was is said to be unlike' \
    'd["queue"]["unlike"] and d["queue"]["wait_mean_s"] > 3600 > d["wait_mean_s"]' \
    lookback --sacct=past.sacct --nodes=few.csv
gives 'the text says so, too' 0 'This is far from what it was' \
    lookback --sacct=past.sacct --nodes=few.csv --html=unlike.html --jobs=rows.csv
like 'the page does not know who would lose in such a queue' "$(tr '\n' ' ' <unlike.html)" \
    'Who would lose</h2><b><a href="#owners">not known<.*far from what it was: [1-9].*Wait with dnnest less without</h2><b><a href="#owners">not'
is 'each simulated job has a row' "$(wc -l <rows.csv)" 301
{ cat nodes.csv; printf '%s,100000,4,64,512000\n' v100 h100 l40s; } >many.csv
json 'of too many jobs and nodes the last jobs are simulated' \
    'd["jobs"] == 300 and d["queue"]["jobs"] == 199 and d["queue"]["earlier"] == 101' \
    lookback --sacct=past.sacct --nodes=many.csv
try lookback --sacct=past.sacct --html=no-nodes.html
like 'the page says who would lose' "$(<past.html)" \
    'Who would lose</h2><b><a href="#owners">[0-9] of 5<'
like 'without nodes it says that this is not known' "$(<no-nodes.html)" \
    'Who would lose</h2><b><a href="#owners">not known<'
for page in past no-nodes; do whole_page "$page.html"; done

# --- nodes ----------------------------------------------------------------------------------

# Node n1: 2 h with one of two GPUs and 8 of 8 CPUs, the second with all memory; then 1 h with
# one GPU and 4 CPUs; 4 h of a job without GPUs that has all CPUs; n2 has no GPUs.
{
    echo submit_s,start_s,end_s,gpus,gpu,cpus,mem_gb,nodes,host,user,state
    echo 1000,3600,10800,1,a100,8,16,1,n1,7,COMPLETED
    echo 1000,7200,10800,0,,0,48,1,n1,8,COMPLETED
    echo 1000,10800,14400,1,a100,4,16,1,n1,7,COMPLETED
    echo 1000,14400,28800,0,,8,16,1,n1,8,COMPLETED
    echo 1000,14400,28800,0,,8,64,1,n2,8,COMPLETED
} >placed.csv
printf 'type,nodes,gpus,cpus,mem_mb\na100,1,2,8,65536\n' >one.csv
json 'idle GPUs beside which no CPU or no memory was left, by a replay of the nodes' \
    '(d["hours"]["idle"], d["hours"]["idle_without_cpus"], d["hours"]["idle_without_memory"]) == (11, 10, 1)' \
    lookback --trace=placed.csv --nodes=one.csv
gives 'the text has both' 0 'idle: no CPU left beside +11 +10 +90.9 %' \
    lookback --trace=placed.csv --nodes=one.csv

# --- tables ------------------------------------------------------------------------------

{
    echo cluster,job,account,partition,submit,eligible,start,limit_s,elapsed_s,state,nodes,cpus,gpus,mem_mb
    echo c,1,7,gpu,1000,1000,2000,7200,3600,COMPLETED,1,4,1,8192
    echo c,2,7,gpu,9000,9000,9000,7200,3600,COMPLETED,1,4,1,8192
    echo c,3,8,gpu,x,1000,2000,7200,3600,COMPLETED,1,4,2,8192
    echo c,4,8,gpu,1000,1000,2000,many,3600,COMPLETED,1,4,2,8192
} >other.csv
json 'a table of others has other columns' \
    'd["jobs"] == 2 and d["hours"]["gpu"] == 2 and d["hours"]["gpu_requested"] == 4 and
     d["refused"] == 2 and d["wait_mean_s"] == 500' lookback --trace=other.csv
json 'what a row repeats is known once it has ended' 'd["rules"]["repeats"] == 1' \
    lookback --trace=other.csv
refused=$(dn lookback --trace=other.csv 2>&1 >/dev/null)
like 'the first row that cannot be read is told' "$refused" "2 rows cannot be read; the first: line 4: submit: 'x' is not a whole number"
is 'the same without --trace' "$(dn lookback other.csv 2>&1)" "$(dn lookback --trace=other.csv 2>&1)"
is 'the same without --sacct' "$(dn lookback past.sacct 2>&1)" "$(dn lookback --sacct=past.sacct 2>&1)"
refuses 'what stdin is must be said' 2 'expected --sacct=- or --trace=-' lookback -
refuses 'a file that is not there' 4 'none.csv: No such file' lookback none.csv
is 'the same on stdin' "$(dn lookback --trace=- <other.csv 2>&1)" "$(dn lookback --trace=other.csv 2>&1)"

{
    echo user,submit,start,end,gpus
    echo alice,2024-01-01T00:00:00Z,1704067260,2024-01-01T01:01:00Z,2
} >iso.csv
json 'times may be ISO 8601, users names' 'd["jobs"] == 1 and d["hours"]["gpu"] == 2 and d["wait_mean_s"] == 60' \
    lookback --trace=iso.csv
gzip -k iso.csv
is 'a table may be packed' "$(dn lookback --json --trace=iso.csv.gz 2>/dev/null)" \
    "$(dn lookback --json --trace=iso.csv 2>/dev/null)"
like 'what a table does not tell is said' "$(dn lookback --trace=iso.csv 2>&1 >/dev/null)" \
    'does not tell names of series \(name\), limits \(limit_s\), .*GPU types \(gpu\)'
sed '1s/start/began/' iso.csv >began.csv
refuses 'a column that must be there is named' 4 'no column start_s or start' lookback --trace=began.csv
sed 's/T01:01:00Z/x/' iso.csv >wrong.csv
like 'a wrong time is named with what was expected' "$(dn lookback --trace=wrong.csv 2>&1)" \
    "line 2: end: '2024-01-01x' is not a time, expected 2026-01-31"

# --- sacct with a header --------------------------------------------------------------------

# The same jobs, in other columns and forms.
{
    echo 'User|JobID|JobName|State|Timelimit|Submit|Start|Elapsed|ReqTRES|TotalCPU|TRESUsageInTot|NNodes'
    TZ=UTC awk -F '<[|]>' '{
        step = $1 ~ /\./; e = $13 - $12
        printf "%s|%s|%s|%s|%s|%s|%s|%02d:%02d:%02d|%s|%s|%s|%s\n", $4, $2, $9, $16,
            step ? "" : sprintf ("%02d:%02d:00", $15 / 60, $15 % 60), strftime ("%FT%TZ", $10),
            strftime ("%FT%TZ", $12), e / 3600, e / 60 % 60, e % 60, $19, $20, $21, $17
    }' past.sacct
} >header.sacct
dn lookback --json --sacct=header.sacct >header.json
is 'columns are known by the header of sacct -P, in any order and form' "$(cat header.json)" \
    "$(dn lookback --json --sacct=past.sacct)"
cut -d '|' -f 1-2,4-6,8- header.sacct >cut.sacct
refuses 'a column of sacct that must be there is named' 4 'line 1: no column Start; it has' \
    lookback --sacct=cut.sacct
cut -d '|' -f 1-2,4,6-9,12 header.sacct >cut.sacct
like 'what the columns do not tell is said' "$(dn lookback --sacct=cut.sacct 2>&1 >/dev/null)" \
    'does not tell names of series .*\(JobName\), limits \(TimelimitRaw\), CPUs that were busy .*, memory'
sed '3s/00:[0-9]*:[0-9]*|/soon|/2' header.sacct | sed '2s/T[0-9:]*Z/ noon/2' >cut.sacct
like 'a wrong value is named with its column and what was expected' \
    "$(dn lookback --sacct=cut.sacct 2>&1 >/dev/null)" "line 2: Start: '.* noon' is not a time, expected"

# --- sacct and sinfo ---------------------------------------------------------------------

# They print the same whenever they are asked.
mkdir bin
cat >bin/sacct <<'END'
#!/bin/sh
for word; do case $word in --delimiter=*) delimiter=${word#*=} ;; esac; done
[ "$SLURM_TIME_FORMAT" = %s ] && sed "s/<|>/$delimiter/g" past.sacct
END
cat >bin/sinfo <<'END'
#!/bin/sh
printf '%s\n' 'a1|64|512000|gpu:a100:4(S:0,1),nvme:1' 'a1|64|512000|gpu:a100:4(S:0,1),nvme:1' \
    'a2|64|512000|gpu:a100:4(S:0-1)' 'a3|64|512000|gpu:a100:4' 'a4|64+|512000|gpu:a100:4' \
    'c1|64|512000|(null)' 'm1|64|512000|gpu:v100:2,gpu:4,license:x:3'
END
chmod +x bin/*
PATH=$work/bin:$PATH dn lookback --json --since=@1699990000 --until=@1700200000 >asked.json
dn lookback --json --sacct=past.sacct --nodes=nodes.csv >read.json
is 'sacct is asked day by day, and each job counts once; sinfo has the same nodes' \
    "$(cat asked.json)" "$(cat read.json)"

# --- errors ------------------------------------------------------------------------------

sed 1d header.sacct >none.sacct
refuses 'columns without their header are refused with what to print' 4 \
    "line 1 is no header, but 'u1.*print it without -n, as 'sacct -aPD .*TRESUsageInTot'" \
    lookback --sacct=none.sacct
: >none.sacct
try lookback --sacct=none.sacct
is 'no job: the whole command that makes the file is named' "$code $(grep -c "sacct -anPD .*JobIDRaw.*ExitCode$" <<<"$err")" '4 1'
refuses 'the accounting and a file' 2 '--db and a file cannot be' lookback --db --sacct=a
refuses 'two sources' 2 'cannot be combined' lookback --sacct=a --trace=b
refuses 'no such file' 4 'No such file' lookback --trace=/nonexistent
printf '%s\n' '#!/bin/sh' 'echo "sacct: error: accounting is off" >&2' 'exit 1' >bin/sacct
chmod +x bin/sacct
PATH=$work/bin:$PATH refuses 'accounting that refuses' 4 'sacct failed: .*accounting is off' lookback --db
is 'nothing stays in TMPDIR' "$(mkdir tmp && TMPDIR=$work/tmp dn lookback --sacct=past.sacct >/dev/null; ls tmp)" ''

done_testing
