#!/bin/bash
# 0140-replay.t - past jobs through today's policy, and through a simulated queue
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
echo GpuType=keep >>site.conf
{
    echo 'cluster,raw_id,job,submit_s,start_s,end_s,user,state,nodes,cpus,gpu,gpus,limit_s,spec,app'
    printf 'c,%s,%s,%s,%s,%s,1001,COMPLETED,1,8,%s,%s,%s,"%s",%s\n' \
        1 1 1000000 1000000 1000500 a100 8 86400 "$short" net \
        2 2 1000010 1000500 1000600 a100 4 86400 "$short" net \
        3 3 1000020 1000600 1000700 a100 8 7200 '' '' \
        4 4 1010000 1010000 1010500 a100 1 86400 "$short" net \
        5 5 1010001 1010001 1010500 a100 1 86400 'model=unheard' '' \
        6 6 1010002 1010002 1010002 '' 0 3600 '' ''
} >trace.csv
printf 'type,nodes,gpus,cpus\na100,1,8,256\n' >nodes.csv

# --- decisions ---------------------------------------------------------------------------

gives 'a trace is replayed' 0 'all +6 ' replay --trace=trace.csv --set=TimeLimit=limit
json 'limits are lowered, what is not described stays' \
    'd["types"][0]["limits_lowered"] >= 2 and d["types"][0]["fates"]["silent"] == 2 and
     d["types"][0]["fates"]["refused"] == 1 and
     d["types"][0]["policy_gpu_h"] < d["types"][0]["requested_gpu_h"]' \
    replay --trace=trace.csv --set=TimeLimit=limit --guard=no
json 'a policy that keeps limits lowers none' 'd["types"][0]["limits_lowered"] == 0' \
    replay --trace=trace.csv --set=TimeLimit=keep
json 'the past counts from its end on' 'd["types"][0]["with_history"] == 1' \
    replay --trace=trace.csv --since=@1010000 --set=TimeLimit=limit
json 'without history none counts' 'd["types"][0]["with_history"] == 0' \
    replay --trace=trace.csv --history=no
json 'a period' 'd["types"][0]["jobs"] == 3' replay --trace=trace.csv --since=@1010000
json 'the time before' 'd["types"][0]["jobs"] == 3' replay --trace=trace.csv --until=@1010000
is 'the same on stdin' "$(dn replay --trace=- <trace.csv)" "$(dn replay --trace=trace.csv)"
is 'the text fits 100 columns' \
    "$(dn replay --trace=trace.csv --simulate --nodes=nodes.csv | awk 'length > 100')" ''

# --- the queue ---------------------------------------------------------------------------

json 'waits: 0, 490, 580, 0 and 0 s' 'd["queue"]["types"][0]["requested"]["wait_mean_s"] == 214 and
    d["queue"]["left_out"] == 1' \
    replay --trace=trace.csv --simulate --nodes=nodes.csv --jobs=jobs.csv
is 'a row per job' "$(cut -d , -f 1,3 jobs.csv | sed -n 3,4p | paste -sd ' ')" \
    '2,1000500 3,1000600'
# A job holds both a100; an open one and one that is not wait for them, and a v100 is idle.
{
    echo 'cluster,raw_id,job,submit_s,start_s,end_s,user,state,nodes,cpus,gpu,gpus,limit_s,open,run_s:a100,likely_s:a100,run_s:v100,likely_s:v100,set_cpus,set_limit_s'
    printf 'c,%s,%s,%s,1000030,1001030,1001,COMPLETED,1,8,a100,%s,10000,%s\n' \
        1 1 1000020 2 0,9000,9000,,,, \
        2 2 1000021 1 1,1000,1000,2000,2000,4,1800 \
        3 3 1000022 1 0,1000,1000,2000,2000,4,1800
} >open.csv
printf 'type,nodes,gpus,cpus\na100,1,2,256\nv100,1,1,4\n' >two.csv
json 'an open job of a table is steered and ends there, another one waits' \
    'd["queue"]["types"][0]["policy"]["steered"] == 1 and
     round(d["queue"]["types"][0]["requested"]["end_mean_s"]) == 9666' \
    replay --trace=open.csv --simulate --nodes=two.csv --set=Keep=0 --jobs=jobs.csv
is 'by its own time and CPUs on that type' \
    "$(cut -d , -f 2,3,4,6,7,8 jobs.csv | sed -n 3,4p | paste -sd ' ')" \
    'a100,1009020,1010020,v100,1000080,1002080 a100,1009020,1010020,a100,1009020,1010020'
json 'not where a share of the type is kept' 'd["queue"]["types"][0]["policy"]["steered"] == 0' \
    replay --trace=open.csv --simulate --nodes=two.csv
sed 's/2000,2000,4/2000,x,4/' open.csv >broken.csv
refuses 'a predicted time that is none' 4 'broken.csv.*likely_s:v100' \
    replay --trace=broken.csv --simulate --nodes=two.csv

# The policy leaves a described job open to a GPU of the same kind.
sed -i 's/^Gpu Type=\([a-z0-9]*\).*/& ByFeature=\1/' site.conf
sed -i '1s/$/,partition/; 2,$s/$/,gpu/' trace.csv
printf 'type,nodes,gpus\na100,1,8\ntwin,1,8\n' >two.csv
json 'a job that the policy leaves open is steered' \
    'd["queue"]["types"][0]["policy"]["steered"] == 1 and
     d["queue"]["types"][0]["policy"]["wait_mean_s"] <
         d["queue"]["types"][0]["requested"]["wait_mean_s"]' \
    replay --trace=trace.csv --simulate --nodes=two.csv --set=GpuType=open \
    --set=Keep=0 --until=@1000020
json 'not one whose type is kept' 'd["queue"]["types"][0]["policy"]["steered"] == 0' \
    replay --trace=trace.csv --simulate --nodes=two.csv --set=GpuType=keep --until=@1000020
documented 'dnnest(1) names every member of the JSON' replay --trace=trace.csv --simulate --nodes=nodes.csv

# --- errors ------------------------------------------------------------------------------

refuses 'no store' 4 'records.db' replay --db="$work/records.db"
refuses 'no nodes' 4 'name the nodes by --nodes' replay --trace=trace.csv --simulate \
    --snapshot="$work/none"
refuses 'two sources' 2 'db and --trace' replay --db=a --trace=b
refuses 'nodes without a queue' 2 'need --simulate' replay --trace=trace.csv --nodes=nodes.csv
refuses 'a wrong time' 2 'since' replay --trace=trace.csv --since=yesterday
refuses 'a wrong word' 2 'expected yes or no' replay --trace=trace.csv --guard=perhaps
{ head -1 trace.csv; tail -n 2 trace.csv | tac; } >disorder.csv
refuses 'a trace out of order' 4 'disorder.csv.*job 2' replay --trace=disorder.csv
sed 's/1000500/x/' trace.csv >broken.csv
refuses 'a time that is none' 4 'broken.csv' replay --trace=broken.csv
printf 'type,nodes,gpus\na100,0,8\n' >none.csv
refuses 'no node' 4 'none.csv' replay --trace=trace.csv --simulate --nodes=none.csv
printf 'type,nodes,gpus\n' >none.csv
refuses 'an empty table of nodes' 4 'no nodes' replay --trace=trace.csv --simulate --nodes=none.csv
done_testing
