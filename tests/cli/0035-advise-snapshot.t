#!/bin/bash
# 0035-advise-snapshot.t - 'dnnest advise' with a snapshot of the cluster
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

sed -e '/^Gpu /d' "$work/site.conf" >"$work/eyes.conf"
cat >>"$work/eyes.conf" <<END
Gpu Type=a100 Device=a100_sxm4_40gb Cost=4
Gpu Type=twin Device=a100_sxm4_40gb Cost=1
END
job=("${moving[@]}" --conf "$work/eyes.conf" --snapshot="$work/snapshot" --comment="dnnest:$short" -t 1-0
    --mem=8G -G a100:1 -N 1)

# snapshot A100 TWIN WAIT [ROW]...: what is up and idle of each type, how long a GPU of each
# is waited for, and further rows
snapshot() {
    local shape='Gpus=8 Cpus=64 Memory=1000000 Partitions=gpu Nodes=2' a100 twin
    IFS=/ read -r a100 twin <<<"$3"
    write_snapshot "$work/snapshot" 1800000000 "Group Type=a100 $shape $1" "Group Type=twin $shape $2" \
        "Wait Type=a100 Feature=a100 Gpu=$a100" "Wait Type=twin Feature=twin Gpu=$twin" "${@:4}"
}
readonly IDLE='Up=2 Idle=0,0,0,0,0,0,0,0,2' BUSY='Up=2 Idle=2' DOWN='Up=0 Idle=0'
readonly GPU='Partition Name=gpu Default=yes Up=yes MaxTime=604800'

snapshot "$IDLE" "$IDLE" 0/0 "$GPU"
moves 'a job moves to an idle type whose line has Type and Device only'
snapshot "$IDLE" "$DOWN" 0/0 "$GPU"
stays 'a job stays if the nodes of the other type are down' \
    'its 2 nodes are down, drained or reserved'
snapshot "$IDLE" "$BUSY" 0/432000 "$GPU"
stays 'a job does not move to a type that cannot start it now' 'not twin: its GPUs are busy'
json 'a job that does not move is open to that type' '[t["gpu"] for t in d["record"]["open"]] == ["a100", "twin"]
     and d["decision"]["features"] == "a100"' advise "${job[@]}"
snapshot "$BUSY" "$IDLE" 432000/0 "$GPU"
moves 'Objective=finish leaves a busy type' --set Objective=finish
snapshot "$IDLE" "$IDLE" 0/0 "$GPU" 'Qos Name=q' 'Limit Scope=job Tres=gres/gpu:twin Count=0'
moves 'a job without the QOS moves'
stays 'a job of a QOS that counts GPUs by type keeps its type' \
    "gpu: kept, a limit of the QOS or account counts GPUs by type" --qos=q
json 'such a job is not open' '"open" not in d["record"]' advise "${job[@]}" --qos=q
snapshot "$DOWN" "$IDLE" 0/0 "$GPU"
json 'a type without nodes is warned of' 'd["warnings"][0]["kind"] == "nodes"' \
    advise "${job[@]}" --set GpuType=keep

done_testing
