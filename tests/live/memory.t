#!/bin/bash
# memory.t - memory and GPUs that jobs give back let others start, on a real Slurm
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Jobs with 80 CPUs of a node, whose memory follows from DefMemPerCPU: half of the node in
# one partition, all of it in the other, and from DefMemPerGPU in the third. A run that uses more than it has left is killed by
# Slurm (OverMemoryKill, whose jobs are FAILED; there are no cgroups): the same pages are
# mapped again and again, and count each time.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin memory job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all "$dnnestd is not built"; fi
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi

readonly SPEC=dnnest:app=net,$LIVE_KEYS,workers=4

# --- helpers -----------------------------------------------------------------------------

# submit SECONDS GIB [OPTION...]: sets 'job' and 'said'. The first run maps GIB, the next
# none: it is the same application.
submit() {
    RUN_S=$1 RUN_GIB=$2 live_need -c 80 -t 1-0 -p full --gres=gpu:a100:2 \
        -o "$dir/home/%j.out" --comment="$SPEC" "${@:3}" run.sh
}
# learn REGEX: collects and learns until the history has it; accounting is late
learn() {
    cluster_until 90 learned "$1" && live_looked
}
learned() {
    daemon collect && daemon learn && grep -qE "$1" "$dir/state.dnnest/history"
}
# both JOB JOB: they run at the same time, on the same node
both() {
    state_is "$1" RUNNING && state_is "$2" RUNNING &&
        [[ $(field "$1" NodeList) = "$(field "$2" NodeList)" ]]
}

# --- the cluster -------------------------------------------------------------------------

live_hardware
mkdir -p "$dir/state.dnnest" "$dir/progress"
chmod 1777 "$dir/progress"
live_conf Mode=enforce GpuType=keep TimeLimit=keep "StateDir=$dir/state.dnnest" \
    "OutputDir=$dir/home" "ProgressDir=$dir/progress" 'Policy Partition=one Gpus=choose'
chmod -R go-w "$dir/etc" "$dir/state.dnnest"
live_start --plugin-dir "$plugin_dir" --conf DefMemPerCPU=3200 \
    --conf JobAcctGatherType=jobacct_gather/linux --conf JobAcctGatherFrequency=1 \
    --conf JobAcctGatherParams=OverMemoryKill \
    --conf 'PartitionName=gpu Nodes=ALL Default=YES MaxTime=2-0 State=UP' \
    --conf 'PartitionName=half Nodes=a1 MaxTime=2-0 State=UP' \
    --conf 'PartitionName=full Nodes=a1 MaxTime=2-0 State=UP DefMemPerCPU=6400' \
    --conf 'PartitionName=each Nodes=a1 MaxTime=2-0 State=UP DefMemPerGPU=240000' \
    --conf 'PartitionName=one Nodes=a1 MaxTime=2-0 State=UP'
cat >"$dir/home/run.sh" <<'END'
#!/bin/sh
exec python3 train.py
END
cat >"$dir/home/train.py" <<'END'
import mmap, os, time
own = bytearray(200 << 20)
size = 256 << 20
maps = []
if "SLURM_RESTART_COUNT" not in os.environ:
    with open("pages.%d" % os.getpid(), "w+b") as file:
        file.truncate(size)
        os.unlink(file.name)
        for _ in range(4 * int(os.environ["RUN_GIB"])):
            maps.append(mmap.mmap(file.fileno(), size, mmap.MAP_SHARED | 0x8000))
            time.sleep(0.05)
time.sleep(int(os.environ["RUN_S"]))
END
ok 'dnnestd takes a snapshot' daemon watch
live_looked

# --- at once, where memory leaves room ---------------------------------------------------

submit 60 0 -p half
first=$job
like 'without a run only the CPUs go down' "$said" 'dnnest: -c 80 -> [0-9]+ \('
submit 60 0 -p half
ok 'two jobs with half of the memory share a node' cluster_until 60 both "$first" "$job"
is 'the memory of both is kept whole' "$(field "$first" MinMemoryNode) $(member "$job" set.mem_mb)" \
    '250G null'
scancel "$first" "$job"
cluster_wait_job "$job" CANCELLED 60

# --- from the second submission on, where it is all of the node --------------------------

submit 6 0
first=$job
submit 1 0
ok 'the first job runs' cluster_wait_job "$first" RUNNING 60
sleep 3
is 'the next waits for its memory, as none has run' "$(field "$job" JobState)" PENDING
cluster_wait_job "$job" COMPLETED 90
ok 'the peak of a run is learned' learn 'HostMemory=2[0-9][0-9] HostRuns=[12]'
submit 60 0
first=$job
like 'the user is told of the memory' "$said" 'dnnest: -c 80 -> [0-9]+, mem 500G -> [0-9]+G \('
mem=$(member "$first" set.mem_mb)
submit 60 0
ok 'two jobs share a node now' cluster_until 60 both "$first" "$job"
is 'both have the memory of the record' "$(field "$first" MinMemoryNode)" "$((mem / 1024))G"
scancel "$first" "$job"
submit 1 0 --mem=400G -H
is 'memory in words stays' "$(field "$job" MinMemoryNode)" 400G
scancel "$job"

# --- killed for it -----------------------------------------------------------------------

submit 3 $((mem / 1024 + 4))
ok 'a job that needs more is killed' cluster_wait_job "$job" FAILED 60
ok 'the output of a killed job says why' \
    cluster_until 30 grep -q 'exceeded memory limit' "$dir/home/$job.out"
ok 'dnnestd looks at it' daemon rescue
like 'the log says what was done' "$(<"$dir/log/dnnestd.log")" \
    "rescue: job $job: out of host memory, lowered by dnnest: started again"
is 'a killed job gets the memory of its request' "$(field "$job" MinMemoryNode) $(member "$job" rescued)" '500G 1'
# Slurm delays a requeued job by two minutes, so that the killed run has left the node.
sleep 10
scontrol update "JobId=$job" StartTime=now
ok 'a job that was started again completes' cluster_wait_job "$job" COMPLETED 90
ok 'the application is marked in the history' learn HostKept=yes
like 'the report counts it' "$("$dnnest" report --conf="$dir/etc/dnnest.conf")" \
    'started again as requested: 1'
like 'the job is among those that were harmed, by its number' \
    "$("$dnnest" report --conf="$dir/etc/dnnest.conf")" \
    "out of memory after a change +1 of.*$job .*out of memory with .*started again as requested"
ok 'dnnestd takes another snapshot' daemon watch
"$dnnest" report --conf="$dir/etc/dnnest.conf" --json | jq .all >"$dir/all.json"
# With 2 of 4 GPUs and 80 of 96 CPUs each job stranded one and a third.
ok 'the report has the GPUs that were stranded, and fewer as granted' \
    jq -e '(.stranded_by_cpus_requested / .gpu_hours_used - 2 / 3 | fabs < 1e-6)
        and .stranded_by_cpus_granted == 0
        and .stranded_by_memory_granted < .stranded_by_memory_requested
        and .stranded_by_memory_granted > 0' "$dir/all.json"
submit 1 0 -H
is 'the application keeps its memory from then on' \
    "$(field "$job" MinMemoryNode) $(member "$job" set.mem_mb)" '500G null'
scancel "$job"

# --- what a job says of itself -----------------------------------------------------------

# capture STEP_MS GPUS: the text of a file
capture() {
    printf '{"dnnest_capture": 1, "time": %d, "software": {"arch": ["sm_80"]},' "$(date +%s)"
    printf ' "devices": {"seen": 2, "used": %d}, "measured": {"step_ms": %s},' "$2" "$1"
    printf ' "sidecar": {"dnnest": 1, "spec": {"batch": 64, "epochs": 3}}}'
}
# run_as APP COMMAND: sets 'job'
run_as() {
    job=$(cluster_as_user sbatch --parsable -o /dev/null -t 5 -c 1 --mem=100 --gres=gpu:a100:2 \
        --comment="dnnest:app=$1" <<<$'#!/bin/bash\n'"$2"$'\nsleep 3')
}
before=$(grep '^App ' "$dir/state.dnnest/history")
run_as cap "$(declare -f capture); capture 50 1 >$dir/progress/\$SLURM_JOB_ID.capture"
captured=$job
run_as bad ''
capture 0.001 1 >"$dir/progress/$job.capture"
for id in "$captured" "$job"; do cluster_wait_job "$id" COMPLETED 60; done
ok 'the capture of a job is learned' learn "^Captured Key=$(key_of cap) "
like 'a line of the history has what the job described' "$(grep '^Captured' "$dir/state.dnnest/history")" \
    'Spec=batch=64 Arch=sm_80 Job=[0-9]+ Last=[0-9]+ Gpus=2 GpusUsed=1 GpusRuns=1$'
like 'the row has its step' "$(grep "Key=$(key_of cap)" "$dir/state.dnnest/history")" ' Step=50000'
ok 'the run of the other job is learned' learn "^App Key=$(key_of bad) "
is 'a file of another user says nothing' \
    "$(grep "Key=$(key_of bad)" "$dir/state.dnnest/history" | grep -E 'Captured|Step=')" ''
is 'no other row has changed' \
    "$(grep '^App ' "$dir/state.dnnest/history" | grep -vE "$(key_of cap)|$(key_of bad)")" "$before"

# --- the same where each GPU has its memory ------------------------------------------------

each=(-p each --comment="${SPEC/app=net/app=each}")
submit 60 0 "${each[@]}"
first=$job
like 'memory by DefMemPerGPU stays on words, and the CPUs go down' "$said" 'dnnest: -c 80 -> [0-9]+ \('
submit 1 0 "${each[@]}"
ok 'the first job of that memory runs' cluster_wait_job "$first" RUNNING 60
sleep 3
# of TRES, or from 23.02 on of AllocTRES behind ReqTRES
is 'the first job leaves no memory for the other' \
    "$(scontrol show job "$first" | grep -o 'mem=[^,]*' | tail -n 1) $(field "$job" JobState)" \
    'mem=480000M PENDING'
scancel "$first"
cluster_wait_job "$job" COMPLETED 90
ok 'the peak of the first is learned' learn "Key=$(key_of each) .*HostMemory="
submit 60 0 "${each[@]}"
first=$job
like 'the user is told of this memory' "$said" 'dnnest: -c 80 -> [0-9]+, mem 468G -> [0-9]+G \('
submit 60 0 "${each[@]}"
ok 'two jobs share the node from then on' cluster_until 60 both "$first" "$job"
scancel "$first" "$job"

# --- GPUs that are not used --------------------------------------------------------------

submit 60 0 -p one --gres=gpu:a100:4 --comment="${SPEC/app=net/app=one},gpus=1"
first=$job
like 'the user is told of the GPUs' "$said" 'dnnest: gpu a100:4 -> a100:1, -c 80 -> '
is 'the record has both numbers' "$(member "$first" req.gpus) $(member "$first" set.gpus)" '4 1'
submit 60 0 -p one --gres=gpu:a100:3 --comment=dnnest:off -c 4 --mem=1G
ok 'the freed GPUs run another job' cluster_until 60 both "$first" "$job"
like 'the job has one GPU' "$(scontrol show job "$first")" 'gres/gpu(:a100)?=1[^0-9]'
scancel "$first" "$job"
live_end
