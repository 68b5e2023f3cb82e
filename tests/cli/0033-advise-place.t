#!/bin/bash
# 0033-advise-place.t - GPU types by partition or feature, and numbers of GPUs that differ
#
# Which types a job may have is tested by tests/unit/hardware.c and tests/unit/open.c.
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

cat > "$work/site.conf" <<'CONF'
Mode=enforce MinConfidence=0 EvidenceTime=words
Gpu Type=a100 Device=a100_sxm4_40gb Cost=4 PerNode=8 NodeCpus=256 NodeMemory=1000000 ByPartition=dear MaxTime=3-0
Gpu Type=twin Device=a100_sxm4_40gb Cost=1 PerNode=8 NodeCpus=256 NodeMemory=1000000 ByPartition=cheap MaxTime=2-0
Gpu Type=h100 Device=h100_sxm5_80gb Cost=4 PerNode=8 NodeCpus=256 NodeMemory=1000000 Partitions=gpu ByFeature=hopper Features=ib
Gpu Type=hwin Device=h100_sxm5_80gb Cost=1 PerNode=8 NodeCpus=256 NodeMemory=1000000 Partitions=gpu ByFeature=hopper2 Features=ib
CONF
# idle TYPE FEATURES PARTITION: its nodes
idle() {
    echo "Group Type=$1 Gpus=8 Cpus=256 Memory=1000000 Features=$2 Partitions=$3" \
        'Nodes=9 Up=9 Idle=0,0,0,0,0,0,0,0,9'
}
{
    echo 'Cluster Version=1 Name=c Time=1800000000 Slurm=2205 SoftTimeMin=no Enforces=no'
    idle a100 ib dear
    idle twin ib cheap
    idle h100 hopper,ib gpu
    idle hwin hopper2,ib gpu
    printf 'Wait Type=%s Gpu=0 Node=0 Nodes=0\n' a100 twin h100 hwin
    echo 'Partition Name=gpu Default=yes Up=yes'
    echo 'Partition Name=dear Up=yes MaxTime=259200 DefMemPerCPU=1024'
    echo 'Partition Name=cheap Up=yes MaxTime=172800'
    echo 'End Rows=11'
} >"$work/idle"
job=("${moving[@]}" --comment="dnnest:$short" -t 1-0 --mem=8G)

json 'a partition names the type, and a move changes it' \
    'd["decision"]["gpu"] == "twin" and d["decision"]["partition"] == "cheap"
     and d["decision"]["features"] is None
     and {"field": "partition", "old": "dear", "new": "cheap"} in d["edits"]
     and not any(e["field"].startswith("tres") for e in d["edits"])' \
    advise "${job[@]}" -p dear -G 4
json 'the user gets a message about a move to another partition' \
    '", gpu a100:4 -> twin:4 (1.0x the time, 0.3x the cost), partition dear -> cheap"
     in d["message"]' \
    advise "${job[@]}" -p dear -G 4
json 'the record keeps where the job was' \
    'd["record"]["req"]["partition"] == "dear" and d["record"]["set"]["partition"] == "cheap"
     and "features" not in d["record"]["req"]' advise "${job[@]}" -p dear -G 4
gives 'the text shows the old and the new partition' 0 \
    $'partition +dear +cheap *\n' advise "${job[@]}" -p dear -G 4
json 'a constraint names the type, and a move changes it alone' \
    'd["decision"]["gpu"] == "hwin" and d["decision"]["features"] == "ib&hopper2"
     and d["decision"]["partition"] is None
     and {"field": "features", "old": "ib&hopper", "new": "ib&hopper2"} in d["edits"]
     and d["record"]["req"]["features"] == "ib&hopper"
     and d["record"]["set"]["features"] == "ib&hopper2"' \
    advise "${job[@]}" -C 'ib&hopper' -G 4
gives 'the text shows the old and the new constraint' 0 \
    $'constraint +ib&hopper +ib&hopper2 *\n' \
    advise "${job[@]}" -C 'ib&hopper' -G 4
json 'in mode advise the decision names the partition, and nothing is edited' \
    'd["decision"]["partition"] == "cheap" and [e["field"] for e in d["edits"]] == ["admin_comment"]
     and "partition dear -> cheap" in d["message"]' \
    advise --set=Mode=advise "${job[@]}" -p dear -G 4

# stays TITLE REASON OPTION...: neither type nor partition changes, for that reason
stays() {
    local title=$1 reason=$2
    shift 2
    json "$title" "d['decision']['gpu'] is None and d['decision']['partition'] is None
        and d['decision']['features'] is None
        and any('''$reason''' in r for r in d['reasons'])" advise "$@"
}
stays '--batch keeps the GPU type' '--batch' "${job[@]}" -C 'hopper&ib' --batch=hopper -G 4

gives 'config shows how jobs ask for a type' 0 \
    $'a100 .* -p dear *\n.* -p cheap *\n.* -C hopper *\n' config
json 'config has in JSON how jobs ask for a type' \
    '[(g["by_partition"], g["max_time"], g["by_feature"], g["features"]) for g in d["gpus"]] ==
     [("dear", "3-00:00:00", None, None), ("cheap", "2-00:00:00", None, None),
      (None, None, "hopper", "ib"), (None, None, "hopper2", "ib")]' config

fewer='{"kind": "metadata", "text": "metadata says 2 GPUs, 4 were requested; 2 would suffice"}'
json 'with a change a warning states that the metadata name fewer GPUs' \
    'd["decision"]["verdict"] == "change" and d["warnings"] == ['"$fewer"']' \
    advise --comment="dnnest:$short,gpus=2" -t 1-0 -C hopper -G 4 -N 1
gives 'the warnings are the lines that the user would see, the most serious first' 0 \
    $'^dnnest: warning: -t 00:01:00 is shorter than the likely 0h0[0-9]m\ndnnest: warning: metadata says 2 GPUs, 4 were requested; 2 would suffice\nverdict: keep' \
    advise --set=GpuType=keep --comment="dnnest:$short,gpus=2" -t 1 -C hopper -G 4 -N 1
json 'a request that leaves the number of GPUs open is kept' \
    'd["decision"]["verdict"] == "keep"
     and "time: kept, the number of GPUs is unknown (gpus=)" in d["reasons"]' \
    advise "${job[@]}" -C hopper --gpus-per-socket=2
json 'a request that leaves the number of GPUs open changes when the metadata name it' \
    'd["decision"]["time_limit_s"] is not None' \
    advise --comment="dnnest:$short,gpus=2" -t 1-0 -C hopper --gpus-per-socket=2

# --- slices (MIG) ------------------------------------------------------------------------

{
    echo 'Mode=enforce MinConfidence=0 EvidenceTime=words Upgrade=yes'
    for type in a100_sxm4_40gb 3g.20gb 1g.5gb; do
        echo "Gpu Type=${type%_sxm4_40gb} Device=a100_sxm4_40gb${type#a100_sxm4_40gb}" \
            'PerNode=7 NodeCpus=256 NodeMemory=1000000 Partitions=gpu'
    done | sed 's/40gb\([13]g\)/40gb_\1/; s/^\(Gpu Type=\)\([^ .]*\)\(.*\)/\1\2\3 ByFeature=f\2/'
} >"$work/site.conf"
mig=(-p gpu -c 16 -t 2-0 --set=MaxSlowdown=8)
json 'a job is open to slices that hold it' \
    'd["decision"]["open"] == ["a100", "3g.20gb", "1g.5gb"] and d["decision"]["features"] == "fa100|f3g|f1g"
     and {"field": "tres_per_node", "old": "gres:gpu:a100:1", "new": "gres:gpu:1"} in d["edits"]' \
    advise "${mig[@]}" --gres=gpu:a100:1 --comment="dnnest:$short"
json 'a job on a slice is open to larger ones and to the device' \
    'd["decision"]["open"][0] == "1g.5gb" and set(d["decision"]["open"]) == {"a100", "3g.20gb", "1g.5gb"}' \
    advise "${mig[@]}" --gres=gpu:1g.5gb:1 --comment="dnnest:$short"
json 'a slice without the memory is no type for the job' \
    '"1g.5gb" not in d["decision"]["open"] and "3g.20gb" in d["decision"]["open"]
     and any("not 1g.5gb: may need" in r for r in d["reasons"])' \
    advise "${mig[@]}" --gres=gpu:a100:1 --comment="dnnest:${short/batch=8/batch=128}"
json 'a slice beyond MaxSlowdown is no type for the job' \
    'd["decision"]["open"] == ["a100", "3g.20gb"] and any("not 1g.5gb: would take" in r for r in d["reasons"])' \
    advise "${mig[@]}" --set=MaxSlowdown=2 --gres=gpu:a100:1 --comment="dnnest:${short/batch=8/batch=24}"
json 'a job of several GPUs is not open to slices' \
    'not d["decision"]["open"] and sum("a slice (MIG), and the job is not of one GPU" in r for r in d["reasons"]) == 2' \
    advise "${mig[@]}" --gres=gpu:a100:2 --comment="dnnest:$short,gpus=2"
stays 'a job on several slices stays as it is' 'several slices do not train together' \
    "${mig[@]}" --gres=gpu:3g.20gb:2 --comment="dnnest:$short,gpus=2"
json 'slices do not stop decisions about an untyped job of several GPUs' \
    'd["decision"]["verdict"] == "change" and d["decision"]["chosen"] == "a100" and d["decision"]["time_limit_s"] < 9999' \
    advise "${mig[@]}" --gres=gpu:2 --comment="dnnest:$short,gpus=2"
json 'a job that a slice does not hold moves to one that does' \
    'd["decision"]["gpu"] == "3g.20gb" and {"field": "tres_per_node", "old": "gres:gpu:1g.5gb", "new": "gres:gpu:3g.20gb:1"} in d["edits"]' \
    advise "${mig[@]}" --set=Objective=cost --gres=gpu:1g.5gb --comment="dnnest:${short/batch=8/batch=128}"
done_testing
