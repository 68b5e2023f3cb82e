#!/bin/bash
# 0062-discover.t - Gpu lines from what a cluster has
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# snapshot GROUP...: one of these groups
snapshot() {
    printf '%s\n' 'Cluster Version=1 Name=c Time=1795394865 Slurm=2205 SoftTimeMin=no Enforces=no' \
        "${@/#/Group }" "End Rows=$#" > "$work/snapshot"
}
readonly NODE='Cpus=64 Memory=512000 Nodes=2 Up=2 Idle=2'

snapshot "Type=a100 Gpus=4 $NODE" "Type=l40s Gpus=8 $NODE"
gives 'a type of which there is one device has a line without a comment' 0 \
    $'check\nGpu Type=a100 .*\nGpu Type=l40s Device=l40s_48gb PerNode=8 Nodes=2 NodeCpus=64 NodeMemory=512000$' \
    config --discover="$work/snapshot"
gives 'of several devices that with the least memory is assumed, and told' 0 \
    '# a100: a100_pcie_40gb or .* or a100_sxm4_80gb\? assumed a100_sxm4_40gb; check' \
    config --discover="$work/snapshot"
gives 'the snapshot may come from stdin' 0 'Type=l40s' config --discover=- < "$work/snapshot"

# device TITLE TYPE DEVICE [PER-NODE]
device() {
    snapshot "Type=$2 Gpus=${4:-4} $NODE"
    json "$1: $2" "d['gpus'][0]['device'] == '$3'" config --discover="$work/snapshot"
}
device 'a name without its brand is known' 3090 rtx_3090_24gb
device 'a name without its brand is known' 2080ti rtx_2080_ti_11gb
device 'a name with its brand is known' rtx3090 rtx_3090_24gb
device 'names of AutoDetect=nvml are known' nvidia_a100-sxm4-80gb a100_sxm4_80gb
device 'names of AutoDetect=nvml are known' tesla_v100-sxm2-32gb v100_sxm2_32gb
device 'names of AutoDetect=nvml are known' nvidia_geforce_gtx_1080_ti gtx_1080_ti_11gb
device 'memory in the name is used' a100_80 a100_sxm4_80gb
device 'memory in the name is used' v100-32g v100_sxm2_32gb
device 'two of a node are PCIe boards' v100 v100_pcie_16gb 2
device 'other vendors are known' mi300x mi300x_192gb 8

snapshot "Type=1g.10gb Gpus=7 $NODE" "Type=h100 Gpus=4 $NODE" "Type=NVIDIA_A30_2g.12gb Gpus=2 $NODE" \
    "Type=1c.3g.40gb Gpus=4 $NODE" "Type=a100-sxm4-80gb_7g.80gb Gpus=16 $NODE"
json 'slices (MIG) are devices, of those that other nodes have whole' \
    '[g["device"] for g in d["gpus"]]
     == ["h100_sxm5_80gb_1g.10gb", "h100_sxm5_80gb", "a30_24gb_2g.12gb", None, "a100_sxm4_80gb_7g.80gb"]' \
    config --discover="$work/snapshot"
gives 'a slice that may be of several devices is told' 0 \
    '# 1g.10gb: a100_pcie_40gb_1g.10gb or .*\? assumed h100_sxm5_80gb_1g.10gb; check; a slice \(MIG\), for jobs of one GPU' \
    config --discover="$work/snapshot"
gives 'a line states the GPUs of a node as far as a snapshot counts them' 0 \
    '# a100-sxm4-80gb_7g.80gb: .*; PerNode is that or more' config --discover="$work/snapshot"
gives 'a type that is left out is a comment with the reason' 0 \
    $'# 1c.3g.40gb: left out: not in the catalogue.*\n#Gpu Type=1c.3g.40gb Device=DEVICE' \
    config --discover="$work/snapshot"
snapshot "Type=big Gpus=4 $NODE"
gives 'an unknown name is a comment' 0 \
    $'# big: left out: not in the catalogue.*\n#Gpu Type=big Device=DEVICE PerNode=4' \
    config --discover="$work/snapshot"
snapshot "Gpus=4 $NODE Partitions=old"
gives 'GPUs without a type are a comment' 0 \
    $'GPUs without a type.*ByPartition=.*\n#Gpu Type=NAME .*Partitions=old' \
    config --discover="$work/snapshot"

snapshot "Type=t4 Gpus=4 Cpus=64 Memory=512000 Tmp=900 ThreadsPerCore=2 Features=ib,x Partitions=p Nodes=2 Up=2 Idle=2" \
    "Type=t4 Gpus=2 Cpus=32 Memory=256000 Tmp=800 ThreadsPerCore=2 Features=y,ib Partitions=p,q Nodes=3 Up=0 Idle=0"
gives 'nodes that differ are told, and the line has the least' 0 \
    $'# t4: its nodes differ.*\nGpu Type=t4 Device=t4_16gb PerNode=2 Nodes=5 NodeCpus=32 NodeMemory=256000 NodeTmp=800 ThreadsPerCore=2 Partitions=p,q Features=ib$' \
    config --discover="$work/snapshot"

snapshot "Type=h100 Gpus=4 $NODE Partitions=gpu" "Type=h100 Gpus=2 $NODE Partitions=gpu"

# --- where the snapshot comes from -----------------------------------------------------

mkdir "$work/state"
cp "$work/snapshot" "$work/state/cluster.snapshot"
cp "$work/site.conf" "$work/state.conf"
echo "StateDir=$work/state" >> "$work/state.conf"
gives 'without a file it is that of StateDir' 0 'Type=h100' \
    config --conf "$work/state.conf" --discover
rm "$work/state/cluster.snapshot"
printf '#!/bin/sh\n[ "$*" = "watch --once --out=- --conf=%s/state.conf" ] && cat "%s/snapshot"\n' \
    "$work" "$work" > "$work/dnnestd"
chmod +x "$work/dnnestd"
export DNNESTD=$work/dnnestd
gives 'where StateDir has none dnnestd makes one, by the same dnnest.conf' 0 'of now.*Type=h100' \
    config --conf "$work/state.conf" --discover
export DNNESTD=$work/none
refuses 'without dnnestd there is no snapshot' 4 'none: No such file' \
    config --conf "$work/state.conf" --discover
refuses '--check is refused with --discover' 2 '--check cannot be combined with --discover' \
    config --check --discover="$work/snapshot"
refuses 'a file that is absent is an error' 4 'absent' config --discover="$work/absent"
echo x > "$work/snapshot"
refuses 'a file that is no snapshot is an error' 4 'snapshot' config --discover="$work/snapshot"
snapshot
refuses 'a cluster without GPUs has no line' 1 'no node has GPUs' \
    config --discover="$work/snapshot"

snapshot "Type=a100 Gpus=4 $NODE"
documented 'dnnest(1) names every member of the JSON' config --discover="$work/snapshot"
done_testing
