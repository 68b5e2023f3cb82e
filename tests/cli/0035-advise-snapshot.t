#!/bin/bash
# 0035-advise-snapshot.t - 'dnnest advise' with a snapshot of the cluster
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

sed -e '/^Gpu /d' "$work/site.conf" >"$work/eyes.conf"
cat >>"$work/eyes.conf" <<END
Gpu Type=a100 Device=a100_sxm4_40gb Cost=4
Gpu Type=twin Device=a100_sxm4_40gb Cost=1
END
job=(--conf "$work/eyes.conf" --snapshot="$work/snapshot" --comment="dnnest:$short" -t 1-0
    --mem=8G -G a100:1 -N 1)

# snapshot A100 TWIN [ROW]...: what is up and idle of each type, and further rows
snapshot() {
    local shape='Gpus=8 Cpus=64 Memory=1000000 Partitions=gpu Nodes=2'
    {
        echo 'Cluster Version=1 Name=c Time=1800000000 Slurm=2411 SoftTimeMin=no Enforces=yes'
        echo "Group Type=a100 $shape $1"
        echo "Group Type=twin $shape $2"
        printf '%s\n' "${@:3}"
        echo "End Rows=$(($#))"
    } >"$work/snapshot"
}
readonly IDLE='Up=2 Idle=0,0,0,0,0,0,0,0,2' BUSY='Up=2 Idle=2' DOWN='Up=0 Idle=0'
readonly GPU='Partition Name=gpu Default=yes Up=yes MaxTime=604800'

moves() {
    json "$1" 'd["decision"]["gpu"] == "twin"' advise "${job[@]}" "${@:2}"
}
# stays TITLE REASON OPTION...
stays() {
    json "$1" "d['decision']['gpu'] is None and any('''$2''' in r for r in d['reasons'])" \
        advise "${job[@]}" "${@:3}"
}

snapshot "$IDLE" "$IDLE" "$GPU"
moves 'a job moves to an idle type whose line has Type and Device only'
snapshot "$IDLE" "$DOWN" "$GPU"
stays 'a job stays if the nodes of the other type are down' \
    'its 2 nodes are down, drained or reserved'
snapshot "$IDLE" "$BUSY" 'Wait Type=twin Gpu=432000' "$GPU"
stays 'a job stays if it would wait for days' \
    'its GPUs are busy: expected wait 5-00:00:00, a100 starts now'
snapshot "$BUSY" "$IDLE" 'Wait Type=a100 Gpu=432000' "$GPU"
moves 'Objective=finish leaves a busy type' --set Objective=finish
snapshot "$IDLE" "$IDLE" "$GPU" 'Qos Name=q' 'Limit Scope=job Tres=gres/gpu:twin Count=0'
moves 'a job without the QOS moves'
stays 'a job of a QOS that allows none of the type stays' \
    "above MaxTRESPerJob=gres/gpu:twin=0 of the QOS" --qos=q
snapshot "$DOWN" "$IDLE" "$GPU"
json 'a type without nodes is warned of' 'd["warnings"][0]["kind"] == "nodes"' \
    advise "${job[@]}" --set GpuType=keep

done_testing
