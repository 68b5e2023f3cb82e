#!/bin/bash
# watch.t - the snapshot of a real cluster, compared with what Slurm's commands print
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With slurmdbd, since QOS and associations have limits. The cluster has no plugin of
# dnnest.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin watch
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built (without libslurm)'; fi

live_hardware
printf '%s\n' "DataDir=$dir/etc" Bundle=none \
    "StateDir=$dir/lib" 'Gpu Type=a100 Device=a100_sxm4_40gb' >"$dir/etc/dnnest.conf"
mkdir "$dir/lib"
live_start --conf 'AccountingStorageEnforce=associations,limits,qos'

# Sets 'snapshot'.
look() {
    snapshot=$("$dnnestd" watch --once --out=- --conf="$dir/etc/dnnest.conf" 2>"$dir/said") \
        || fail "a snapshot is made: $(<"$dir/said")"
}
# line REGEX: the lines of the snapshot that match
line() { grep -E "$1" <<<"$snapshot" || true; }
# number LINE KEY: the value of a key
number() { sed -nE "s/.* $2=([^ ]*).*/\1/p" <<<"$1 "; }
seen() {
    look
    grep -qE "$1" <<<"$snapshot"
}
# sees TITLE REGEX: within some seconds; states of nodes lag behind
sees() {
    if cluster_until 180 seen "$2"; then pass "$1"; else like "$1" "$snapshot" "$2"; fi
}
start() {
    cluster_as_user sbatch --parsable -o /dev/null "$@" --wrap 'sleep 600'
}

# --- an idle cluster -------------------------------------------------------------------

look
is 'every type is a group of like nodes' "$(line ^Group)" \
    'Group Type=a100 Gpus=4 Cpus=96 Memory=512000 Tmp=100000 ThreadsPerCore=1 Features=a100 Partitions=gpu Nodes=2 Up=2 Idle=0,0,0,0,2
Group Type=v100 Gpus=4 Cpus=96 Memory=512000 Tmp=100000 ThreadsPerCore=1 Features=v100 Partitions=gpu Nodes=2 Up=2 Idle=0,0,0,0,2'
is 'no job waits in an idle cluster' "$(line ^Wait)" \
    $'Wait Type=a100 Feature=a100 Gpu=0 Node=0 Nodes=0\nWait Type=v100 Feature=v100 Gpu=0 Node=0 Nodes=0'
is 'the cluster is named, with its version and what it enforces' \
    "$(sed -E '1!d; s/Time=[0-9]*/Time=T/' <<<"$snapshot")" \
    "Cluster Version=1 Name=private Time=T Slurm=$(_cluster_version) SoftTimeMin=no Enforces=yes"
now=$(number "$(line ^Cluster)" Time)
ok 'the time of the snapshot is now' test $(($(date +%s) - now)) -le 5
is 'dnnest reads what dnnestd writes' \
    "$("$dnnest" config --conf "$dir/etc/dnnest.conf" --discover=- <<<"$snapshot" | grep -c '^Gpu')" 2

# --- jobs ------------------------------------------------------------------------------

one=$(start -n1 --gres=gpu:a100:1 -t 10)
cluster_wait_job "$one" RUNNING 180
two=$(start -n1 --gres=gpu:3 -w v1 -t 20)
cluster_wait_job "$two" RUNNING 180
sees 'GPUs in use are not idle' 'Type=a100 .*Idle=0,0,0,1,1$'
like 'GPUs that were requested without a type are not idle' "$(line 'Group Type=v100')" 'Idle=0,1,0,0,1$'
cpus=$(start -n1 -c96 -w v2 -t 30)
cluster_wait_job "$cpus" RUNNING 180
sees 'GPUs of a node without idle CPUs are not idle' 'Type=v100 .*Idle=1,1 NoCpus=4'
scancel "$cpus"
memory=$(start -n1 --mem=512000 -w v2 -t 30)
cluster_wait_job "$memory" RUNNING 180
sees 'GPUs of a node without idle memory are not idle' 'Type=v100 .*Idle=1,1 NoMemory=4$'
scancel "$memory"

# A full type: a1 and a2 until their limits, and two that wait.
scancel "$one"
for minutes in 10 30; do
    full=$(start -n1 --gres=gpu:a100:4 -t "$minutes")
    cluster_wait_job "$full" RUNNING 180
done
look
like 'without a queue the wait lasts until running jobs reach their limits' \
    "$(line 'Wait Type=a100')" 'Gpu=(5[0-9][0-9]|600) Node=(5[0-9][0-9]|600) Nodes=(1[67][0-9][0-9]|1800)$'
waits=()
for minutes in 40 50; do waits+=("$(start -n1 --gres=gpu:a100:4 -t "$minutes")"); done
planned() { [[ $(cluster_job_field "${waits[1]}" StartTime) = 20* ]]; }
ok 'backfill plans the second of two jobs that wait' cluster_until 180 planned
look
start_s=$(($(date -d "$(cluster_job_field "${waits[1]}" StartTime)" +%s) - $(date +%s)))
wait_s=$(number "$(line 'Wait Type=a100')" Node)
ok 'the wait for a node lasts until the last of them is planned to start' \
    test $((wait_s - start_s)) -le 30 -a $((start_s - wait_s)) -le 30
like 'types with idle nodes have no wait' "$(line 'Wait Type=v100')" 'Gpu=0 Node=0'
scancel "${waits[@]}"
scancel -u "$CLUSTER_USER"
sees 'when all have ended the nodes are idle' $'Type=a100 .*Idle=0,0,0,0,2\n.*Type=v100 .*Idle=0,0,0,0,2' || true

# --- states of nodes -------------------------------------------------------------------

# down TITLE STATE REASON...: a1 in that state is not up
down() {
    scontrol update nodename=a1 state="$2" reason=test
    sees "$1" 'Type=a100 .*Nodes=2 Up=1 Idle=0,0,0,0,1$'
    scontrol update nodename=a1 state=resume
    sees "$1, and is up afterwards" 'Type=a100 .*Nodes=2 Up=2 Idle=0,0,0,0,2$'
}
down 'a drained node is not up' drain
down 'a failing node is not up' fail
down 'a node that is down is not up' down
on_a1=$(start -n1 --gres=gpu:a100:1 -w a1 -t 10)
cluster_wait_job "$on_a1" RUNNING 180
scontrol update nodename=a1 state=drain reason=test
sees 'a draining node is not up while its job runs' 'Type=a100 .*Nodes=2 Up=1 Idle=0,0,0,0,1$'
scancel "$on_a1"
cluster_wait_job "$on_a1" CANCELLED 180
scontrol update nodename=a1 state=resume
sees 'a node that is resumed is up' 'Type=a100 .*Nodes=2 Up=2 Idle=0,0,0,0,2$'

# --- reservations ----------------------------------------------------------------------

resv() { date -d "$(scontrol show reservation -o "$1" | sed -nE "s/.*$2=([^ ]*).*/\1/p")" +%s; }
scontrol create reservation=later starttime=now+7200 duration=60 nodes=a1 users=root >/dev/null
look
is 'a node that will be reserved is up, in a group of its own' \
    "$(line 'Reserved' | grep -o 'Type=a100\|Reserved[A-Z][a-z]*=[0-9]*\|Nodes=.*' | xargs)" \
    "Type=a100 ReservedFrom=$(resv later StartTime) ReservedUntil=$(resv later EndTime) Nodes=1 Up=1 Idle=0,0,0,0,1"
scontrol create reservation=sooner starttime=now+3600 duration=10 nodes=a1 users=root >/dev/null
look
is 'of two reservations the nearer counts' "$(number "$(line Reserved)" ReservedFrom)" \
    "$(resv sooner StartTime)"
scontrol create reservation=far starttime=now+40days duration=10 nodes=a2 users=root >/dev/null
look
is 'one that begins in more than 30 days does not' "$(line Reserved | wc -l)" 1
scontrol create reservation=present starttime=now duration=10 nodes=v1 users=root >/dev/null
sees 'a reserved node is not up' \
    'Type=v100 .*ReservedFrom=[0-9]* ReservedUntil=[0-9]* .*Nodes=1 Up=0 Idle=0$'
scontrol create reservation=maint starttime=now duration=10 nodes=v2 users=root flags=maint >/dev/null
look
is 'a node in maintenance is not up' "$(line 'Group Type=v100 .*Up=[1-9]')" ''
like 'a type that is up nowhere has no wait' "$(line 'Wait Type=v100')" '^Wait Type=v100 Feature=v100$'
for name in later sooner far present maint; do scontrol delete reservation="$name"; done
look
is 'without reservations all nodes are up' "$(line 'Up=2' | wc -l)" 2

# --- features and partitions -----------------------------------------------------------

scontrol update nodename=a1,a2 availablefeatures=a100,ib,ampere
scontrol update nodename=a1,a2 activefeatures=ib,ampere
sees 'features are those of the nodes' 'Type=a100 .*Features=ib,ampere '
admin add qos partqos
scontrol create partitionname=short nodes=a1,v1 maxtime=30 defaulttime=10 maxnodes=1 \
    defmempercpu=2000 maxmempernode=100000 allowaccounts=research denyqos=partqos qos=partqos \
    tresbillingweights=CPU=1.0,GRES/gpu:a100=2.0
scontrol create partitionname=closed nodes=a2 maxtime=INFINITE state=down
look
is 'a partition has its limits' "$(line 'Partition Name=short')" \
    'Partition Name=short Up=yes MaxTime=1800 DefaultTime=600 MaxNodes=1 DefMemPerCPU=2000 MaxMemPerNode=100000 QOS=partqos AllowAccounts=research DenyQOS=partqos BillingWeights=CPU=1.0,GRES/gpu:a100=2.0'
is 'that of the cluster is the default of memory' "$(line 'Partition Name=gpu')" \
    'Partition Name=gpu Default=yes Up=yes MaxTime=172800 DefMemPerCPU=5000'
is 'a partition that is down is told' "$(line 'Partition Name=closed')" \
    'Partition Name=closed Up=no DefMemPerCPU=5000'
is 'nodes of other partitions are other groups' \
    "$(line '^Group' | grep -o 'Partitions=[^ ]*' | sort | xargs)" \
    'Partitions=gpu Partitions=gpu,closed Partitions=gpu,short Partitions=gpu,short'
scontrol delete partitionname=short
scontrol delete partitionname=closed

# --- limits ----------------------------------------------------------------------------

admin add qos tight MaxTRESPerJob=gres/gpu:v100=0,cpu=64 MaxTRESPerNode=cpu=32 \
    MaxTRESPerUser=gres/gpu=4 MaxTRESPerAccount=gres/gpu=8 GrpTRES=gres/gpu=6 \
    MinTRESPerJob=cpu=2 MaxWall=1-0
admin modify user "$CLUSTER_USER" set qos+=tight
admin modify user "$CLUSTER_USER" set MaxTRESPerJob=gres/gpu=2 MaxWall=600
admin modify account research set GrpTRES=gres/gpu:a100=8
gpu=$(start -n1 --gres=gpu:a100:1 -c 4 --qos=tight -t 10)
cluster_wait_job "$gpu" RUNNING 180
sees 'what a QOS has in use is told' 'Scope=group Tres=gres/gpu Count=6 Used=1'
is 'a QOS has all its limits' \
    "$(sed -n '/^Qos Name=tight/,/^[QA][a-z]* /p' <<<"$snapshot" | grep -v '^Assoc\|Qos Name=[^t]')" \
    'Qos Name=tight MaxWall=86400
Limit Scope=job Tres=cpu Count=64
Limit Scope=job Tres=gres/gpu:v100 Count=0
Limit Scope=node Tres=cpu Count=32
Limit Scope=user Tres=gres/gpu Count=4
Limit Scope=account Tres=gres/gpu Count=8
Limit Scope=group Tres=gres/gpu Count=6 Used=1
Limit Scope=min_job Tres=cpu Count=2'
uid=$(id -u "$CLUSTER_USER")
like 'an association has its limits, and the account those of its group' "$snapshot" \
    "Assoc Account=research QOS=normal
Limit Scope=group Tres=gres/gpu:a100 Count=8 Used=1
(.*
)*Assoc Account=research User=$uid Default=yes Parent=0 MaxWall=36000
Limit Scope=job Tres=gres/gpu Count=2
" || true
scancel "$gpu"

# --- the file --------------------------------------------------------------------------

once() { "$dnnestd" watch --once --conf="$dir/etc/dnnest.conf" "$@" 2>"$dir/said"; }
ok 'the snapshot is written into StateDir' once
is 'everybody may read it' "$(stat -c %a "$dir/lib/cluster.snapshot")" 644
is 'nothing else is left there but the log of idle GPUs' \
    "$(cd "$dir/lib" && ls | grep -v '^dnnestd\.' | xargs)" 'cluster.snapshot idle.log'
is 'this log has a line for each type' \
    "$(awk 'NF == 4 && $1 > 1e9 { print $2 }' "$dir/lib/idle.log" | sort -u | xargs)" 'a100 v100'
before=$(stat -c %i "$dir/lib/cluster.snapshot")
ok 'a dry run says what it would write' once --dry-run
is 'a dry run writes nothing' "$(stat -c %i "$dir/lib/cluster.snapshot")" "$before"
echo 'WatchInterval=1' >>"$dir/etc/dnnest.conf"
"$dnnestd" watch --conf="$dir/etc/dnnest.conf" 2>"$dir/log/dnnestd.log" &
daemon=$!
newer() { [[ $(number "$(head -1 "$dir/lib/cluster.snapshot")" Time) -gt $1 ]]; }
stamp=$(date +%s)
ok 'the time of a quiet cluster goes on' cluster_until 180 newer "$((stamp + 1))"
cluster_restart_ctld
stamp=$(date +%s)
ok 'the time goes on after a restart of slurmctld' cluster_until 180 newer "$((stamp + 1))"
scontrol update nodename=a1 state=drain reason=test
drained() { grep -q 'Type=a100 .*Up=1 ' "$dir/lib/cluster.snapshot"; }
ok 'what changes after a restart is seen' cluster_until 180 drained
kill "$daemon"
wait "$daemon" || true
ok 'dnnest reads the file' "$dnnest" config --conf "$dir/etc/dnnest.conf" --discover

done_testing
