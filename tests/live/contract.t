#!/bin/bash
# contract.t - the facts of doc/design.md, checked on the installed Slurm
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A plugin of this test (witness.c) writes the data that slurmctld gives it into the
# controller's log, and changes the job as words of its comment request. It is compiled here
# in several variants; dnnest is not loaded. Jobs are only submitted: there are no nodes.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin contract

if [[ $(live_built DN_SLURM_VERSION) = no ]]; then skip_all 'built without Slurm'; fi
read -ra cc <<<"$(live_cc)"
if ! command -v "${cc[0]}" >/dev/null; then skip_all "${cc[0]} is not installed"; fi

# --- helpers -------------------------------------------------------------------------

version=$(_cluster_version)
[[ $(slurmctld -V) =~ ([0-9]+)\.([0-9]+)\.([0-9]+) ]]
number=$((10#${BASH_REMATCH[1]} << 16 | 10#${BASH_REMATCH[2]} << 8 | 10#${BASH_REMATCH[3]}))

# witness FOLDER NAME FLAG...: a variant of the plugin, in a folder of the cluster
witness() {
    local folder=$dir/$1 name=$2
    mkdir -p "$folder"
    "${cc[@]}" -shared -fPIC -std=gnu11 -D_GNU_SOURCE -I"$top" -I"$top/plugin" \
        -DWITNESS_NAME="\"$name\"" "${@:3}" "$top/tests/live/witness.c" \
        "$top/plugin/submit/host.c" -o "$folder/job_submit_$name.so.new"
    mv "$folder/job_submit_$name.so.new" "$folder/job_submit_$name.so"
}

testimony() {
    tail -n "+$(($(<"$dir/mark") + 1))" "$dir/log/slurmctld.log" |
        sed -n 's/^.*\] *\([a-z]*: \(submit\|modify\|init\) .*\)$/\1/p'
}
count() {
    testimony | grep -c "$1" || true
}

# seen NAME: one of the fields of the plugin's last call
seen() {
    testimony | tail -1 | tr ' ' '\n' | sed -n "s/^$1=//p" | xargs
}

# Sets 'job', 'said' and 'status'; what the plugin saw is in testimony.
submit() {
    mark
    live_sbatch -H "$@" --wrap true
}

# fields TITLE 'NAME=VALUE ...' OPTION...: what sbatch makes of the options
fields() {
    local title=$1 want=$2 name got=
    shift 2
    submit "$@"
    for name in $(tr ' ' '\n' <<<"$want" | sed 's/=.*//'); do got+=" $name=$(seen "$name")"; done
    is "$title" "${got# }" "$want"
}

# set_conf KEY VALUE
set_conf() {
    sed -i "/^$1=/d" "$SLURM_CONF"
    echo "$1=$2" >>"$SLURM_CONF"
}

# ends TITLE REGEX: slurmctld does not start, and logs this
ends() {
    local status=0
    mark
    timeout 180 slurmctld -D -f "$SLURM_CONF" </dev/null >"$dir/out" 2>&1 || status=$?
    like "$1" "$status $(cat "$dir/out")" "^1 .*$2"
}

pid_of() {
    cluster_pids slurmctld | head -1
}

# --- a controller with a plugin of our own -------------------------------------------

witness plugins witness "-DWITNESS_VERSION=$number"
live_start --no-accounting --no-nodes --conf 'JobSubmitPlugins=witness' \
    --conf 'SlurmctldParameters=nonsense_of_ours=1'
diag "$(slurmctld -V)"
is 'slurmctld shows words of SlurmctldParameters that it does not know' \
    "$(scontrol show config | sed -n 's/^SlurmctldParameters *= //p')" nonsense_of_ours=1

# --- what a submission is ------------------------------------------------------------

fields 'what a user leaves out is NO_VAL or NULL' \
    'time_limit=NO_VAL time_min=NO_VAL cpus_per_task=NO_VAL het_job_offset=NO_VAL shared=NO_VAL overcommit=NO_VAL mem_per_node=NO_VAL tres_per_job=NULL tres_per_node=NULL array=NULL partition=NULL account=NULL qos=NULL admin_comment=NULL'
is 'a plugin sees the name of the default partition' "$(seen default)" gpu
is 'a plugin sees SlurmctldParameters' "$(seen parameters)" nonsense_of_ours=1
is 'a batch job has a script and an environment' "$(seen script) $(seen environment)" 'yes yes'

mark
timeout 180 sbatch --parsable -H --uid="$CLUSTER_USER" --chdir=/tmp --wrap true >/dev/null
is 'the owner of a job can differ from its submitter' \
    "$(seen owner) $(seen submitter)" "$(id -u "$CLUSTER_USER") 0"

mark
cluster_as_user timeout 180 srun --test-only true >"$dir/said" 2>&1 || true
is 'srun has a command line and no script or environment' \
    "$(seen script) $(seen environment) $(seen argc)" 'NULL NULL 1'
mark
cluster_as_user timeout -s INT 3 salloc true >"$dir/said" 2>&1 || true
argc=1
if ((version < 2311)); then argc=0; fi
is 'salloc has a command line from 23.11 on' \
    "$(seen script) $(seen environment) $(seen argc)" "NULL NULL $argc"

submit --array=1-10%2
is 'an array is one call' "$(count 'witness: submit') $(seen array)" '1 1-10%2'
submit -n 1 : -n 2
is 'every component of a heterogeneous job is a call' \
    "$(testimony | grep -o 'het_job_offset=[0-9]*' | xargs)" 'het_job_offset=0 het_job_offset=1'
is 'only the first component has the script' \
    "$(testimony | grep -o 'script=[a-zA-Z]*' | xargs)" 'script=yes script=NULL'
mark
cluster_as_user sbatch --test-only --wrap true >"$dir/said" 2>&1 || true
is 'a submission with --test-only is a call' "$(count 'witness: submit')" 1

# --- fields --------------------------------------------------------------------------

fields '-t is in minutes' 'time_limit=1440' -t 1-0
fields '-t rounds seconds up' 'time_limit=2' -t 0:01:01
fields '-t UNLIMITED is INFINITE' 'time_limit=INFINITE' -t UNLIMITED
fields '--time-min is in minutes' 'time_limit=60 time_min=10' -t 60 --time-min=10
fields '-n and -c are in four fields' \
    'num_tasks=4 cpus_per_task=2 min_cpus=8 pn_min_cpus=2' -n 4 -c 2
fields '--mincpus is pn_min_cpus' 'cpus_per_task=2 pn_min_cpus=6' -c 2 --mincpus=6
fields '-N with tasks per node multiplies them' \
    'num_tasks=8 cpus_per_task=2 min_cpus=16 ntasks_per_node=4 min_nodes=2' \
    -N 2 --ntasks-per-node=4 -c 2
tasks=4 least=NO_VAL
if ((version >= 2311)); then tasks=NO_VAL least=1; fi
fields '--ntasks-per-node without -N sets no nodes, and no tasks from 23.11 on' \
    "num_tasks=$tasks ntasks_per_node=4 min_cpus=8 pn_min_cpus=2 min_nodes=NO_VAL max_nodes=NO_VAL" \
    --ntasks-per-node=4 -c 2
fields '-n with --ntasks-per-node sets the least number of nodes from 23.11 on' \
    "num_tasks=4 ntasks_per_node=4 min_nodes=$least max_nodes=NO_VAL" -n 4 --ntasks-per-node=4
fields '--exclude is exc_nodes, as typed' 'exc_nodes=a1,v[1-2]' -x 'a1,v[1-2]'
fields '--tmp is pn_min_tmp_disk, in MB' tmp_disk=1024 --tmp=1G
fields 'without -x and --tmp both are unset' 'exc_nodes=NULL tmp_disk=NO_VAL tres_freq=NULL'
fields '--gpu-freq is tres_freq, and in the environment' \
    'tres_freq=gpu:low env=SLURM_GPU_FREQ=low' --gpu-freq=low
for option in --hint=nomultithread --hint=compute_bound --threads-per-core=1; do
    fields "$option is one thread per core, and nothing else" \
        'threads_per_core=1 cores_per_socket=NO_VAL ntasks_per_core=NO_VAL' "$option"
done
fields '--hint=memory_bound is one thread per core and one core per socket' \
    'threads_per_core=1 cores_per_socket=1' --hint=memory_bound
fields '--hint=multithread is INFINITE tasks per core' \
    'threads_per_core=NO_VAL ntasks_per_core=65535' --hint=multithread
fields '--ntasks-per-core is ntasks_per_core' 'threads_per_core=NO_VAL ntasks_per_core=1' \
    --ntasks-per-core=1
fields '--exclusive is shared=0' shared=0 --exclusive
fields '--overcommit is 1' overcommit=1 -O -n 8
fields '--mem is per node, in MB' mem_per_node=4096 --mem=4G
fields '--mem-per-cpu is the same field with a bit' mem_per_cpu=1024 --mem-per-cpu=1G
fields '--mem=0 is 0' mem_per_node=0 --mem=0
gpu=gres:gpu task_cpu=NULL per_task=gres:gpu:a100:1 task_env=
if ((version >= 2311)); then
    sign='='
    if ((version < 2405)); then sign=:; fi
    gpu=gres/gpu task_cpu=cpu${sign}2 per_task=cpu${sign}2,gres/gpu:a100${sign}1
    task_env=SLURM_TRES_PER_TASK=$per_task
else
    task_env=SLURM_GPUS_PER_TASK=a100:1
fi
fields '-c is in tres_per_task, too, from 23.11 on' "tres_per_task=$task_cpu" -c 2
fields '--gres is tres_per_node, in the spelling of the version' \
    "tres_per_node=$gpu:a100:4" --gres=gpu:a100:4
fields '--gpus is tres_per_job, and in the environment' \
    "tres_per_job=$gpu:a100:2 env=SLURM_GPUS=a100:2" --gpus=a100:2
fields '--gpus-per-node is tres_per_node, and in the environment' \
    "tres_per_node=$gpu:a100:2 env=SLURM_GPUS_PER_NODE=a100:2" --gpus-per-node=a100:2
fields '--gpus-per-task is tres_per_task, in the spelling of the version' \
    "tres_per_task=$per_task" --gpus-per-task=a100:1 -n 4 -c 2
like '--gpus-per-task is in the environment, under a name of the version' "$(seen env)" \
    "(^| )$task_env( |\$)"
min_cpus=1
if ((version >= 2405)); then min_cpus=8; fi
fields '--cpus-per-gpu is multiplied into min_cpus from 24.05 on' \
    "cpus_per_tres=$gpu:4 min_cpus=$min_cpus" --cpus-per-gpu=4 --gpus=2
fields '--mem-per-gpu is mem_per_tres, in MB' \
    "mem_per_node=NO_VAL mem_per_tres=$gpu:1024" --mem-per-gpu=1G --gpus=2

# --- what a plugin may do ------------------------------------------------------------

submit --comment='admin_comment=ours'
is 'a plugin writes admin_comment' "$(cluster_job_field "$job" AdminComment)" ours
submit --comment="tres_per_node=$gpu:v100:2" --gres=gpu:a100:4
like 'a plugin rewrites a TRES' "$(cluster_job_field "$job" TresPerNode)" 'gpu:v100:2 *$'
submit --comment="tres_per_node=gpu:a100:4"
like 'a TRES without its prefix is refused' "$status $said" '^1 .*Invalid (Trackable|TRES|generic resource)'
other=gres/gpu
if ((version >= 2311)); then other=gres:gpu; fi
submit --comment="tres_per_node=$other:a100:4"
like 'a TRES in the spelling of other versions is refused' "$status $said" \
    '^1 .*Invalid (Trackable|TRES|generic resource)'
submit --comment='cpus_per_task=2' -c 8
is 'CPUs that are lowered in one field alone do not change' "$(cluster_job_field "$job" NumCPUs)" 8
submit --comment='time_min=90' -t 60
like 'a time_min above time_limit is refused' "$status $said" '^1 .*[Tt]ime'
submit -t 3-0
is 'a limit above that of the partition is no reason to refuse' "$status" 0

submit --comment='say=one,two'
is 'a message is a line of sbatch' "$status $said" '0 sbatch: one,two'
submit --comment='refuse=witness say=no'
is 'a return code refuses the job, with the message and its own text' "$status $said" \
    $'1 sbatch: error: no\nsbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)'

# --- updates -------------------------------------------------------------------------

submit -t 60 --comment=x
mark
cluster_as_user scontrol update job="$job" TimeLimit=30 >"$dir/said" 2>&1
is 'an update calls job_modify, not job_submit' \
    "$(count 'witness: modify') $(count 'witness: submit')" '1 0'
is 'an update shows what changes, and nothing else' \
    "$(seen time_limit) $(seen cpus_per_task) $(seen tres_per_node) $(seen script)" \
    '30 NO_VAL NULL NULL'
if ((version < 2302)); then
    is 'job_modify can send a message to the user from 23.02 on' "$(<"$dir/said")" ''
else
    like 'job_modify can send a message to the user from 23.02 on' "$(<"$dir/said")" 'witness speaks'
fi
is 'an owner lowers the limit' "$(cluster_job_field "$job" TimeLimit)" 00:30:00
cluster_as_user scontrol update job="$job" TimeLimit=90 >"$dir/said" 2>&1 || true
is 'an owner raises the limit of a pending job' "$(cluster_job_field "$job" TimeLimit)" 01:30:00

# --- threads -------------------------------------------------------------------------

mark
began=$EPOCHREALTIME
for _ in 1 2 3; do
    cluster_as_user sbatch -Q -H --comment=sleep=1 --wrap true &
done
wait
took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%d", (b - a) * 1000 }')
diag "three submissions of a second each took $took ms"
if ((version < 2302)); then
    ok 'submissions are serial up to 22.05, and parallel from 23.02 on' \
        test "$took" -ge 3000
else
    ok 'submissions are serial up to 22.05, and parallel from 23.02 on' \
        test "$took" -lt 2500
fi

# --- a reconfiguration ---------------------------------------------------------------

set_conf SlurmctldParameters nonsense_of_ours=2
set_conf MessageTimeout 3
mark
cluster_reconfigure
inits=$(count ': init ')
if ((version < 2311)); then
    is 'a reconfiguration calls init from 23.11 on, and not before' "$inits" 0
else
    ok 'a reconfiguration calls init from 23.11 on, and not before' test "$inits" -ge 1
fi
submit
is 'a plugin sees what a reconfiguration has changed' "$(seen parameters)" nonsense_of_ours=2

has_slow() {
    squeue -h -o %j | grep -qx slow
}
submit -J slow --comment=sleep=6
like 'sbatch gives up after MessageTimeout' "$status $said" '^1 sbatch: error: Batch job submission failed'
ok 'a job that sbatch has given up is still created' \
    cluster_until 180 has_slow

# --- several plugins -----------------------------------------------------------------

for name in alice bob; do witness plugins $name "-DWITNESS_VERSION=$number"; done
set_conf JobSubmitPlugins bob,alice
mark
cluster_reconfigure
is 'a reconfiguration loads what JobSubmitPlugins names then' \
    "$(testimony | grep -o '^[a-z]*: init' | sort -u | xargs)" 'alice: init bob: init'
submit --comment='say=hello admin_comment=theirs'
is 'plugins are called in the order of JobSubmitPlugins' \
    "$(testimony | grep -o '^[a-z]*: submit' | xargs)" 'bob: submit alice: submit'
is 'a plugin sees what those before it have changed' "$(seen admin_comment)" theirs
is 'messages of several plugins are appended' "$said" $'sbatch: hello\nsbatch: hello'
submit --comment='refuse=bob'
is 'no plugin is called after one that refuses' \
    "$(testimony | grep -o '^[a-z]*: submit' | xargs)" 'bob: submit'

# --- what is not loaded --------------------------------------------------------------

_cluster_end slurmctld
set_conf JobSubmitPlugins witness
system_plugins=$(_cluster_plugin_dir)
set_conf PluginDir "$dir/other:$system_plugins"
witness other witness -DWITNESS_VERSION=$((number + 1))
ends 'a plugin of the next micro release ends slurmctld' 'failed to initialize job_submit plugin'
like 'the log names a plugin of the next micro release' "$(cat "$dir/out")" 'Incompatible Slurm plugin'
witness other witness "-DWITNESS_VERSION=$number" -DWITNESS_NO_MODIFY
ends 'a plugin without job_modify ends slurmctld' 'fatal'
witness other witness "-DWITNESS_VERSION=$number" -DWITNESS_INIT=SLURM_ERROR
ends 'a plugin whose init fails ends slurmctld' 'failed to initialize job_submit plugin'

loaded_from() {
    grep -o '/[^ ]*job_submit_witness.so' "/proc/$(pid_of)/maps" | sort -u
}
set_conf PluginDir "$dir/other:$dir/plugins:$system_plugins"
cluster_restart_ctld
is 'a plugin that cannot be loaded is looked for in the next folder of PluginDir' \
    "$(loaded_from)" "$dir/plugins/job_submit_witness.so"
_cluster_end slurmctld
witness other witness "-DWITNESS_VERSION=$number"
cluster_restart_ctld
is 'the first folder of PluginDir with a plugin that can be loaded wins' \
    "$(loaded_from)" "$dir/other/job_submit_witness.so"
_cluster_end slurmctld
set_conf JobSubmitPlugins absent
ends 'a missing plugin ends slurmctld' 'failed to initialize job_submit plugin'
set_conf JobSubmitPlugins witness
set_conf PluginDir "$system_plugins"
echo 'DnnestConfig=1' >>"$SLURM_CONF"
ends 'a key that slurm.conf does not have ends slurmctld' '[Pp]arsing error at unrecognized key'

done_testing
