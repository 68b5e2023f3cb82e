#!/bin/bash
# 0060-config.t - rules, their defaults, and wrong files
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

gives 'rules are shown with value, default and range' 0 \
    'Mode +enforce +site.conf:1 +advise +observe advise enforce ' config
gives 'GPU types are shown' 0 'twin +a100_sxm4_40gb +1\.00 +8 +9 +256 +1000000 +gpu' config
json 'JSON has the rules' \
    '[(r["key"], r["value"], r["default"]) for r in d["rules"]][0]
     == ("Mode", "enforce", "advise")
     and all(set(r) == {"key", "value", "from", "default", "type", "range", "stricter", "help"}
             for r in d["rules"])' config
json 'JSON has the paths and the numbers of the site' \
    '[s["key"] for s in d["site"]] == ["DataDir", "SidecarDir", "PythonDir", "ProgressDir",
        "OutputDir", "DecisionLog", "Counters", "StateDir", "SnapshotAge", "StartChanges",
        "KeepJobs", "Accounting", "Prometheus", "Carbon"]
     and all(list(s) == ["key", "value", "range", "help"] for s in d["site"])
     and [s["range"] for s in d["site"]] == [None] * 8 + ["1..86400", "0..10k", "1..3660"]
         + [None] * 2 + ["0..2k"]
     and [s["value"] for s in d["site"]][8:] == [300, 20, 400, "slurmdbd", "none", None]' config
json 'an admin reads at most 50 names' 'len(d["rules"]) + len(d["site"]) <= 50' config
gives 'a number that is not set is shown as unset' 0 $'\nCarbon=unset\n' config
json 'JSON has the GPU types' \
    '[(g["type"], g["device"], g["cost_per_hour"], g["per_node"], g["partitions"])
      for g in d["gpus"]] == [("a100", "a100_sxm4_40gb", 4, 8, "gpu"),
                              ("twin", "a100_sxm4_40gb", 1, 8, "gpu")]' config
documented 'dnnest(1) names every member of the JSON' config
json 'JSON names the file' 'd["conf"].endswith("/site.conf")' config

conf() { printf '%b' "$1" > "$work/new.conf"; }
conf ''
json 'an empty file means the defaults' 'all(r["value"] == r["default"] for r in d["rules"])' \
    config --conf "$work/new.conf"
conf 'mode=observe TIMEMIN=1-0\n# Mode=enforce\n\n   Message = never'
refuses 'blanks around = are an error' 3 "new.conf: line 4: .* is not of the form Key=Value" \
    config --conf "$work/new.conf"
conf 'mode=observe TIMEMIN=1-0 # Mode=enforce\n\n   Message="never"'
json 'keys ignore case, values may be quoted, # begins a comment' \
    '{r["key"]: r["value"] for r in d["rules"]}["Mode"] == "observe"
     and {r["key"]: r["value"] for r in d["rules"]}["TimeMin"] == "1-00:00:00"
     and {r["key"]: r["value"] for r in d["rules"]}["Message"] == "never"' \
    config --conf "$work/new.conf"
json '--set overrides the file' \
    '{r["key"]: r["value"] for r in d["rules"]}["Mode"] == "enforce"' \
    config --conf "$work/new.conf" --set=Mode=enforce
gives '--check reports that a file is right' 0 'new.conf: ok' config --check "$work/new.conf"
gives '--check takes the sample file' 0 ': ok' config --check "$work/dnnest.conf"

wrong() {
    local title=$1 text=$2 regex=$3
    conf "$text"
    refuses "$title" 3 "$work/new.conf: $regex" config --check "$work/new.conf"
}
# tests/plugin/faults.c has wrong values of every key.
wrong 'an unknown key is named with file and line' 'Mode=advise\n\nTimeMargn=0.2\n' \
    "line 3: unknown key 'TimeMargn'"
wrong 'a mistyped key of a rule has a suggestion' 'TimeMargn=0.2' \
    "line 1: unknown key 'TimeMargn'; did you mean TimeMargin\?"
wrong 'a mistyped key of the site has a suggestion' 'StatDir=/x' \
    "line 1: unknown key 'StatDir'; did you mean StateDir\?"
wrong 'an open quote is named' 'Mode="advise\n' 'line 1: a quote is not closed'
wrong 'an unknown key of a Gpu line is named' 'Gpu Type=a Devise=b' \
    "line 1: unknown key 'Devise' of a Gpu line; did you mean Device\?"
wrong 'a mistyped device of a Gpu line has a suggestion' 'Gpu Type=a Device=t4_16g' \
    "line 1: Device: 't4_16g' is not in the hardware catalogue; did you mean t4_16gb\?"
conf 'carbon=400.5 KeepJobs=7'
json 'the numbers of the site are read' \
    '[s["value"] for s in d["site"] if s["key"] in ("Carbon", "KeepJobs")] == [7, 400.5]' config --conf "$work/new.conf"

# state_dir TITLE DIRECTORY
state_dir() {
    json "$1" "[s['value'] for s in d['site'] if s['key'] == 'StateDir'] == ['$2']" \
        config --conf "$work/new.conf"
}
conf 'StateDir=/s/%c'
echo 'include clusters' >"$work/slurm.conf"
echo 'ClusterName=Alpha' >"$work/clusters"
state_dir 'StateDir has the name of the cluster in it' /s/alpha
rm "$work/slurm.conf"
SLURM_CONF=$work/clusters state_dir 'a slurm.conf elsewhere names it' /s/alpha
SLURM_CONF=$work/none state_dir 'without a name StateDir has none' /s
mkdir -m 755 "$work/state"
conf "StateDir=$work/state"
json 'without dnnestd there are none of its files' \
    '[(f["state"], f["age_s"], f["error"]) for f in d["state_files"]] == [("none", None, None)] * 2
     and d["state_files"][0]["file"].endswith("/state/cluster.snapshot")' \
    config --conf "$work/new.conf"
snapshot() {
    printf 'Cluster Version=1 Name=c Time=%s Slurm=2411 SoftTimeMin=no Enforces=no\n%s\n' "$1" "$2" \
        > "$work/state/cluster.snapshot"
    chmod 644 "$work/state/cluster.snapshot"
}
snapshot "$(date +%s)" 'End Rows=0'
printf 'Guard Version=2 Time=1 Interval=60\nEnd Users=0\n' > "$work/state/guard"
chmod 644 "$work/state/guard"
json 'a new snapshot is used, an old heartbeat is not' \
    '[f["state"] for f in d["state_files"]] == ["used", "old"]
     and d["state_files"][0]["age_s"] < 60 and d["state_files"][1]["age_s"] > 1e9' \
    config --conf "$work/new.conf"
gives 'the age of the files is shown' 0 'state/cluster.snapshot: [0-9]+ s old, used' \
    config --conf "$work/new.conf"
snapshot 1000 'End Rows=0'
json 'a snapshot that is older than SnapshotAge is not used' \
    'd["state_files"][0]["state"] == "old"' config --conf "$work/new.conf"
snapshot 1000 'End'
json 'a broken snapshot is named with its line' \
    'd["state_files"][0]["state"] == "broken"
     and "line 2: Rows is missing" in d["state_files"][0]["error"]' config --conf "$work/new.conf"
refuses 'a broken snapshot of an option is an error' 4 'line 2: Rows is missing' \
    advise --conf "$work/new.conf" --snapshot "$work/state/cluster.snapshot" --gres=gpu:a100:1
refuses 'a missing snapshot of an option is an error' 4 'none: not found' \
    advise --conf "$work/new.conf" --snapshot "$work/none" --gres=gpu:a100:1

wrong 'control characters are shown as ?' 'Mo\033de=x' "line 1: unknown key 'Mo\?de'"

wrong 'a blank before = is an error that names the key' 'Mode = enforce' \
    "line 1: 'Mode = enforce' is not of the form Key=Value"
wrong 'a line that is continued is an error' 'Mode=enforce \\\nTimeMin=1:00:00' \
    'line 1: a line cannot be continued by a backslash'

# --- contradictions --------------------------------------------------------------------

node='Device=t4_16gb PerNode=4 Nodes=2 NodeMemory=512000'
whole="$node NodeCpus=64 Partitions=p"
wrong 'fewer CPUs at most than at least are an error' 'CpusPerGpuMin=10 CpusPerGpuMax=4' \
    'CpusPerGpuMin=10 is above CpusPerGpuMax=4'
wrong 'a contradiction with a Policy line is an error' \
    'CpusPerGpuMax=4\nPolicy User=root CpusPerGpuMin=5' \
    'line 2: CpusPerGpuMin=5 is above CpusPerGpuMax=4'
wrong 'less time at most than at least is an error' 'TimeMin=10:00:00 TimeMax=1:00:00' \
    'TimeMin=10:00:00 is above TimeMax=01:00:00'
wrong 'to enforce nothing is an error' 'Mode=enforce TimeLimit=keep GpuType=keep Cpus=keep' \
    'Mode=enforce changes nothing: TimeLimit, GpuType and Cpus are keep'
wrong 'slurmrestd as the source of finished jobs is an error' 'Accounting=http://slurm:6820' \
    'Accounting=http://slurm:6820: expected slurmdbd or none'
wrong 'a node with fewer CPUs than GPUs is an error' "Gpu Type=a $node NodeCpus=2" \
    'Gpu Type=a: NodeCpus=2 is less than a CPU for each of PerNode=4 GPUs'
wrong 'memory of nodes in gigabytes is an error' \
    'Gpu Type=a Device=t4_16gb PerNode=4 NodeMemory=512' \
    'Gpu Type=a: NodeMemory=512 is too little for PerNode=4 GPUs, expected megabytes'
doubtful() {
    conf "$2"
    try config --check "$work/new.conf"
    is "$1" "$code:$err" "0:dnnest: warning: $work/new.conf: $3"
}
right() {
    conf "$2"
    gives "$1" 0 'new.conf: ok' config --check "$work/new.conf"
}
doubtful 'a GPU type that lacks what a move needs has a warning' \
    "Gpu Type=a $whole\nGpu Type=b $node" \
    'Gpu Type=b: no job can be moved to it without NodeCpus or a snapshot of dnnestd'
doubtful 'a GPU type that is said to be in all partitions has a warning' \
    "Gpu Type=a $whole\nGpu Type=b $node NodeCpus=64 Partitions=ALL" \
    'Gpu Type=b: no job can be moved to it without Partitions by their names (not ALL) or a snapshot of dnnestd'
doubtful 'a GPU type without partitions has a warning' \
    "Gpu Type=a $whole\nGpu Type=b $node NodeCpus=64" \
    'Gpu Type=b: no job can be moved to it without Partitions or a snapshot of dnnestd'
wrong 'a choice among GPU types none of which is open is an error' \
    "Gpu Type=a $whole MoveTo=no\nGpu Type=b $whole MoveTo=no" \
    'GpuType=choose, and no job can be moved to any of the 2 GPU types'
for file in DecisionLog Counters; do
    wrong "$file in a directory that is not there is an error" "$file=$work/absent/x" \
        "$file=$work/absent/x: there is no directory $work/absent"
done
wrong 'a StateDir that is not there is an error' "StateDir=$work/absent" \
    "StateDir=$work/absent: there is no such directory"
for key in ProgressDir OutputDir; do
    doubtful "$key below /tmp, of which dnnestd has its own, has a warning" "$key=/tmp/x" \
        "$key=/tmp/x: dnnestd, as a unit of systemd, does not see /tmp or /var/tmp of jobs"
done
echo 'NodeName=n[1-9] Feature=t4,ib' >"$work/slurm.conf"
echo 'PartitionName=p Nodes=ALL' >>"$work/slurm.conf"
doubtful 'a feature of a GPU type that slurm.conf does not have has a warning' \
    "Gpu Type=a $whole ByFeature=t5" \
    "Gpu Type=a: ByFeature: 't5' is in no line of $work/slurm.conf, expected the name of a feature"
doubtful 'a partition of a Policy line that slurm.conf does not have has a warning' \
    'Policy Partition=p,q Mode=observe' \
    "line 1: Partition: 'q' is in no line of $work/slurm.conf, expected the name of a partition"
right 'features and partitions of slurm.conf have none' \
    "Policy Partition=p Mode=observe\nGpu Type=a $whole ByFeature=t4 Features=ib"
rm "$work/slurm.conf"
doubtful 'a key that was dropped has a warning' 'GuardTrust=much' \
    'GuardTrust is no longer a key and will be refused: it is always 0.25'
right 'files that are there are no error' \
    "DecisionLog=$work/x Counters=$work/y StateDir=$work DataDir=$work"
right 'types that jobs can be moved to are no error' "Gpu Type=a $whole\nGpu Type=b $whole"
right 'a type that is kept out by MoveTo=no is no error' \
    "Gpu Type=a $whole\nGpu Type=b $node MoveTo=no"
right 'types without details are no error where GpuType is keep' \
    'GpuType=keep\nGpu Type=a Device=t4_16gb\nGpu Type=b Device=k80_12gb'
snapshot "$(date +%s)" 'Group Type=a Gpus=4 Cpus=64 Memory=512000 Partitions=g Nodes=2 Up=2 Idle=2
Group Type=b Gpus=4 Cpus=64 Memory=512000 Partitions=g Nodes=2 Up=2 Idle=2
Partition Name=g Default=yes Up=yes MaxTime=3600
End Rows=3'
right 'with a snapshot types need no details' \
    "StateDir=$work/state\nGpu Type=a Device=t4_16gb\nGpu Type=b Device=k80_12gb"
wrong 'a type that the snapshot does not have is an error' \
    "StateDir=$work/state\nGpu Type=a Device=t4_16gb\nGpu Type=c Device=k80_12gb" \
    'Gpu Type=c: no job can be moved to it: no node of the snapshot has it'
conf 'CpusPerGpuMin=10 CpusPerGpuMax=4'
try config --check "$work/new.conf" --json
is 'JSON has the contradictions' "$code:$(value '[e.split(": ", 1)[1] for e in d["errors"]]' "$work/out")" \
    "3:['CpusPerGpuMin=10 is above CpusPerGpuMax=4']"

refuses 'a missing file is named' 3 "none.conf: cannot be opened: No such file" \
    config --check "$work/none.conf"
refuses 'a directory is no configuration' 3 'hardware: .*(regular file|directory)' \
    config --conf "$work/hardware"
conf 'Mode=advise'
ln -s new.conf "$work/link.conf"
refuses 'a symbolic link is not followed' 3 'link.conf: is a symbolic link' \
    config --conf "$work/link.conf"
chmod o+w "$work/new.conf"
refuses 'a file that others may write is not trusted' 3 'new.conf: writable by group or others' \
    config --conf "$work/new.conf"
chmod 000 "$work/new.conf"
if [[ -r $work/new.conf ]]; then
    skip 'a file that cannot be read is named' 'root reads everything'
else
    refuses 'a file that cannot be read is named' 3 'new.conf: cannot be opened: Permission' \
        config --conf "$work/new.conf"
fi
head -c 1100000 /dev/zero | tr '\0' '#' > "$work/large.conf"
refuses 'a huge file is refused' 3 'large.conf: 1100000 bytes' config --conf "$work/large.conf"

printf 'Dataset=x Samples=10\nDataset=y Samples=-1\n' > "$work/bad.conf"
refuses 'a wrong table of data sets is named with its line' 3 \
    'bad.conf: line 2: Samples: -1 out of range' config --datasets "$work/bad.conf"
refuses 'a missing table of data sets is named' 3 'none.conf: cannot be opened' \
    config --datasets "$work/none.conf"
done_testing
