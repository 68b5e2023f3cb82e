#!/bin/bash
# 0034-advise-nodes.t - what a job requests of its nodes, and the types whose nodes meet it
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# write_types MORE: what the Gpu line of the cheaper type has besides
write_types() {
    sed -e '/^Gpu /d' "$work/site.conf" >"$work/nodes.conf"
    cat >>"$work/nodes.conf" <<END
Gpu Type=a100 Device=a100_sxm4_40gb Cost=4 PerNode=8 Nodes=9 NodeCpus=64 NodeMemory=1000000 Partitions=gpu,long
Gpu Type=twin Device=a100_sxm4_40gb Cost=1 PerNode=8 NodeCpus=64 NodeMemory=1000000 Partitions=gpu,long $1
END
}
# The lines state all of the nodes, the snapshot only what selects a type and is idle.
sed -i 's/ Partitions=gpu / Partitions=gpu,long /; s/ Cpus=256 / Cpus=64 /
    /Type=twin/s/Nodes=9 Up=9 Idle=0,0,0,0,0,0,0,0,9/Nodes=2 Up=2 Idle=0,0,0,0,0,0,0,0,2/' "$work/idle"
sed -i '/^Partition /p; s/^Partition Name=gpu Default=yes/Partition Name=long/; s/Rows=5/Rows=6/' "$work/idle"
job=("${moving[@]}" --conf "$work/nodes.conf" --comment="dnnest:$short" -t 1-0 --mem=8G -p gpu)

# one_node TITLE OPTION...: the record has the number of nodes and of GPUs
one_node() {
    json "$1" 'd["record"]["req"]["nodes"] == 1 and d["decision"]["gpu"] == "twin"
        and d["decision"]["time_limit_s"] is not None' advise "${job[@]}" "${@:2}"
}

write_types 'Nodes=2 NodeTmp=2000 ThreadsPerCore=2'
moves 'a job in several partitions moves to a type that has all of them' -G 'a100:1' -p gpu,long
stays 'a job in several partitions stays if the type lacks one' "not in the job's partition" \
    -G 'a100:1' -p gpu,short
moves 'a job with temporary disk moves to nodes that have it' -G a100:1 --tmp=1G
stays 'a job with more temporary disk stays' 'would need 2001 MB of temporary disk per node, it has 2000' \
    -G a100:1 --tmp=2001
moves 'a job that excludes a node moves if the others suffice' -G a100:1 -N 1 -x bad1
stays 'a job that excludes too many nodes stays' '3 nodes are needed or excluded, 2 of its 2' \
    -G a100:1 -N 1 -x 'bad[1-2]'
for option in --hint=nomultithread --hint=compute_bound --threads-per-core=1 --ntasks-per-core=1; do
    moves "a job with $option moves to nodes with as many cores" --gres=gpu:a100:4 -c 32 "$option"
    stays "a job with $option stays if the cores do not suffice" \
        'would need 33 CPUs per node, it has 32' \
        --set=Cpus=keep --gres=gpu:a100:4 -c 33 "$option"
done
moves 'a job with --hint=multithread moves as without' --gres=gpu:a100:4 -c 33 --hint=multithread
json 'CPUs of a job with one thread per core go down' 'd["decision"]["cpus_per_task"] == 2' \
    advise "${job[@]}" --gres=gpu:a100:1 -c 32 --hint=nomultithread

one_node 'tasks per node without -N are one node' --gpus-per-node=a100:4 --ntasks-per-node=4 -c 16
one_node 'tasks per node that are all tasks are one node' \
    --gres=gpu:a100:4 -n 4 --ntasks-per-node=4 -c 16
for request in '--gres=gpu:a100:4 -n 4' '--gpus=a100:4' '--gpus=a100:4 --ntasks-per-node=4'; do
    read -ra options <<<"$request"
    json "the number of nodes of $request is open" '"nodes" not in d["record"]["req"]' \
        advise "${job[@]}" "${options[@]}" -c 8
done

write_types 'Nodes=2 NodeTmp=2000 ThreadsPerCore=2 MoveTo=no'
stays 'no job moves to a type with MoveTo=no' 'not twin: its Gpu line says MoveTo=no' -G a100:1
json 'config shows what a Gpu line states' \
    'd["gpus"][1]["move_to"] is False and d["gpus"][0]["move_to"] is True
     and d["gpus"][1]["node_tmp_mb"] == 2000 and d["gpus"][1]["threads_per_core"] == 2
     and d["gpus"][0]["node_tmp_mb"] is None' config --conf "$work/nodes.conf"
write_types 'Nodes=2 MoveTo=never'
refuses 'a word other than yes and no is refused' 3 '' config --conf "$work/nodes.conf"

done_testing
