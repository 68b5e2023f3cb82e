#!/bin/bash
# 0142-accounting.t - commands on a login node, where no file of dnnestd is: by sacct
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# sacct is a stand-in, which prints what that of 22.05 prints for such jobs.

. "$(dirname "$0")/lib.sh"

echo "StateDir=$work/nowhere" >>"$work/site.conf"
mkdir "$work/bin"
export PATH=$work/bin:$PATH
now=$(date +%s)

# The columns that are asked for, of the records of the file 'jobs' or one job of them after -j,
# with the separator that is asked for.
cat >"$work/bin/sacct" <<PROGRAM
#!/usr/bin/env python3
import os
import sys

NAMES = """JobIDRaw JobID Cluster User UID Account Partition QOS JobName Submit Eligible Start End
Suspended TimelimitRaw State NNodes NodeList AllocTRES TotalCPU TRESUsageInTot AdminComment
ExitCode""".split()
options = sys.argv[1:4]
if (os.environ["SLURM_TIME_FORMAT"] != "%s" or options[:2] != ["-nPD", "--noconvert"]
        or not options[2].startswith("--delimiter=") or len(options[2]) < 30):
    sys.exit(9)
asked = [NAMES.index(name) for name in sys.argv[5].split(",") if name]
only = sys.argv[7] if sys.argv[6] == "-j" else None
record = ""
for line in open("$work/jobs", encoding="utf-8"):
    record += line
    cells = record.rstrip("\\n").split("|")
    if len(cells) < len(NAMES):
        continue
    record = ""
    if only is None or only in (cells[1], cells[1].split(".")[0]):
        print(options[2][12:].join(cells[i] for i in asked))
PROGRAM
chmod +x "$work/bin/sacct"

record='{"dnnest":1,"mode":"enforce","verdict":"change","req":{"time_s":36000,"gpu":"a100","gpus":2,"nodes":1,"tasks":1,"cpus_per_task":32},"set":{"time_s":10800,"cpus_per_task":8},"pred":{"train_s":3600,"bound_s":9000},"spec":"model=resnet50,batch=8","app":"net","work":1,"work_unit":"run"}'
# job RAW ID START END STATE TRES CPU MEMORY RECORD
job() {
    printf '%s|%s|c|ann|%s|lab|gpu|normal|train|%s|%s|%s|%s|00:00:00|180|%s|1|n1|%s|%s||%s|0:0\n' \
        "$1" "$2" "$UID" $(($3 - 60)) $(($3 - 60)) "$3" "$4" "$5" "$6" "$7" "$9"
    printf '%s.batch|%s.batch|c|||lab|||batch|%s|%s|%s|%s|00:00:00||%s|1|n1|%s|%s|cpu=00:00:01,mem=%s||0:0\n' \
        "$1" "$2" "$3" "$3" "$3" "$4" "$5" "$6" "$7" "$8"
}
tres=billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16384M,node=1
small=cpu=4,mem=8192M,node=1
{
    job 12 12 $((now - 9000)) $((now - 5400)) COMPLETED $tres 04:00:00 4294967296 "$record"
    job 13 13 $((now - 4000)) $((now - 400)) COMPLETED $tres 04:00:00 4294967296 "$record"
    job 15 14_1 $((now - 900)) $((now - 600)) COMPLETED $small 00:10:00 1073741824 ''
    job 16 14_2 $((now - 900)) $((now - 600)) COMPLETED $small 00:10:00 3221225472 ''
    job 14 14_3 $((now - 900)) $((now - 600)) 'CANCELLED by 5' $small 00:00:00 0 ''
    job 17 17 $((now - 60)) Unknown RUNNING cpu=1,mem=1024M,node=1 00:00:00 0 ''
} >"$work/jobs"

# --- one job ------------------------------------------------------------------------------

gives 'what dnnest did to a job' 0 \
    $'limit +10:00:00 -> 03:00:00.*CPUs +32 -> 8.*predicted +01:00:00.*busy CPUs +4.0' status 12
json 'JSON says where it is from' 'd["store"] == "sacct" and len(d["runs"]) == 1
    and d["runs"][0]["set_limit_s"] == 10800 and d["runs"][0]["host_mem_gb"] == 4
    and d["runs"][0]["app"] == "net" and d["runs"][0]["source"] == "sacct"' status 12
json 'a task of an array' 'd["runs"][0]["raw_id"] == 16' status 14_2
refuses 'a job that accounting has not' 1 'job 99 is not in sacct' status 99
refuses 'sacct is not asked for a hostile name' 2 "'1; ls' is not the number of a job" status '1; ls'
refuses 'a store that was named is read, or nothing' 4 'no store' status 12 --db="$work/no.db"

# --- the user's jobs ----------------------------------------------------------------------

gives 'what to request next time' 0 $'net: 2 runs.*\n#SBATCH --time=01:15:00' report --me
json 'the sums are those of jobs that have ended' \
    'd["store"] == "sacct" and d["all"]["jobs"] == 5 and d["all"]["changed"] == 2' report --me

# The card of Open OnDemand reads these members, as JSON.parse has them.
card=$top/etc/ondemand/_dnnest.html.erb
json 'the card for Open OnDemand reads members that there are' \
    "all(name in (d['all'] if of == 'all' else d['applications'][0]) for of, name in
     __import__('re').findall(r'(all|app)\[.([a-z_]+)', open('$card').read()))
     and 'applications' in d" report --me
if command -v ruby >/dev/null; then
    try report --me --json
    printf '#!/bin/sh\ncat %s\n' "$work/out" >"$work/bin/dnnest"
    chmod +x "$work/bin/dnnest"
    like 'the card has what to request next time' "$(
        ruby -rerb -e 'print ERB.new(File.read(ARGV[0])).result' "$card" | tr '\n' ' ')" \
        '5 jobs used .*<td>net</td><td>2</td>.*<td>--time=1:15:00'
else
    skip 'the card has what to request next time' 'no ruby'
fi
refuses 'other users are in the store alone' 4 'no store of finished jobs' report
gives 'a list: arrays are summed, a job that runs is in it' 0 \
    $'12 +train +COMPLETED +01:00:00 +33 % +50 % +25 % +2 a100 +time 03:00:00, 8 CPUs\n.*14 x3 +train +CANCELLED 1 +00:15:00 +3 % +50 % +25 % +- +-\n +17 +train +RUNNING +00:0[12]' \
    report --jobs
json 'the same as JSON' \
    '[j["job"] for j in d["jobs"]] == [12, 13, 14, 17] and d["jobs"][2]["records"] == 3
     and d["jobs"][0]["of_cpus"] == 0.5 and d["jobs"][0]["of_memory"] == 0.25
     and d["jobs"][3]["of_cpus"] is None' report --jobs
documented 'dnnest(1) names every member of the list' report --jobs
sed -i 's/^asked = .*/&\nif len (asked) > 14: sys.exit (9)/' "$work/bin/sacct"
gives 'a list asks for what it shows' 0 'a100' report --jobs
sed -i '/sys.exit (9)$/d' "$work/bin/sacct"
refuses 'a list has no sums' 2 'cannot be combined' report --jobs --csv

# --- the dry run --------------------------------------------------------------------------

printf '#!/bin/sh\npython train.py\n' >"$work/job.sh"
ask=(--gres=gpu:a100:2 -c 32 -t 600 --comment=dnnest:model=resnet50,batch=8,app=net)
json 'a decision knows the runs of the caller' \
    'd["history"] and d["history"][0]["runs"] == 2 and d["history"][0]["type"] == "a100"' \
    advise "${ask[@]}" "$work/job.sh"
json 'a decision for another user does not know them' 'not d["history"]' \
    advise --user=65534 "${ask[@]}" "$work/job.sh"
mkdir "$work/nowhere"
json 'where there is a StateDir, accounting is not asked' 'not d["history"]' \
    advise "${ask[@]}" "$work/job.sh"
rmdir "$work/nowhere"

# --- accounting that does not serve -------------------------------------------------------

{
    job 12 12 $((now - 9000)) $((now - 5400)) COMPLETED $tres 04:00:00 4294967296 "$record" \
        | sed 's/|train|/|a\nb\x1b[31m|/'
    job 13 13 $((now - 9000)) $((now - 5400)) COMPLETED $tres 99:99:99 -1 '{"dnnest":1,'
} >"$work/jobs"
gives 'a name of several lines is one' 0 'a\?b\?\[31m' report --jobs
gives 'a record that is none' 0 'did not see it' status 13
for ((i = 101; i <= 1100; i++)); do
    job $i $i $((now - 9000)) $((now - 5400)) COMPLETED $tres 04:00:00 4294967296 "$record"
done >"$work/jobs"
begin=$(date +%s%N)
try report --jobs
diag "1000 jobs of a stand-in take $((($(date +%s%N) - begin) / 1000000)) ms"
is 'a list of 1000 jobs has a line each' "$(grep -c COMPLETED <<<"$out")" 1000
printf '#!/bin/sh\necho "sacct: error: no slurmdbd" >&2\nexit 1\n' >"$work/bin/sacct"
refuses 'accounting that fails is told' 4 'sacct failed: error: no slurmdbd' report --jobs
refuses 'a store that is missing is told, too' 4 'sacct failed.*no store' status 12
printf '#!/bin/sh\nexec head -c 9000000 /dev/zero\n' >"$work/bin/sacct"
refuses 'an answer without end ends' 4 '256 KiB' report --jobs
json 'a dry run decides without it' 'd["decision"]["verdict"] and not d["history"]' \
    advise "${ask[@]}" "$work/job.sh"
done_testing
