#!/bin/bash
# steer.t - pending jobs that are open to several GPU types get one that can start them
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Most records are written here, as the plugin would write them at the submission.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin steer job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all "$dnnestd is not built"; fi

live_hardware
live_conf Mode=enforce Keep=0 SteerInterval=2 GuardInterval=2 WatchInterval=2 \
    "StateDir=$dir/state" CollectInterval=3600 LearnInterval=3600 Accounting=none
mkdir -p "$dir/state"
chmod -R go-w "$dir/etc" "$dir/state"
live_start --plugin-dir "$plugin_dir"
for type in a v; do
    scontrol update "NodeName=${type}[1-2]" "AvailableFeatures=${type}100,ib" \
        "ActiveFeatures=${type}100,ib"
done
live_daemons
ok 'dnnestd runs' cluster_until 180 test -s "$dir/state/dnnestd.status"

# --- helpers -------------------------------------------------------------------------

printf '%s\n' '#!/bin/sh' 'exec sleep 3000' >"$dir/home/job.sh"

# submit OPTION...: prints the id
submit() {
    cluster_as_user sbatch --parsable -c 1 --mem=100 -o /dev/null "$@" job.sh 2>>"$dir/said"
}

# open MINUTES SET STEER OPTION...: one that asks for a100 by its feature, with its record
open() {
    local id minutes=$1 set=$2 steer=$3
    shift 3
    id=$(submit -H -C a100 -t "$minutes" "$@")
    scontrol update "JobId=$id" "AdminComment={\"dnnest\":1,\"version\":\"1\",\
\"mode\":\"enforce\",\"verdict\":\"change\",\"req\":{\"time_s\":$((minutes * 60)),\
\"gpu\":\"a100\"},\"set\":{$set\"features\":\"a100\"},\
\"open\":[{\"gpu\":\"a100\",\"features\":\"a100\",\"slow\":100},\
{\"gpu\":\"v100\",\"features\":\"v100\",\"slow\":162}]$steer}"
    echo "$id"
}
opened() {
    local id
    id=$(open 60 '' '' "$@")
    scontrol release "$id"
    echo "$id"
}
runs_on() { [[ $(field "$1" JobState) = RUNNING && $(field "$1" NodeList) = $2 ]]; }
has() { [[ $(field "$1" "$2") = "$3" ]]; }
times() { echo "$(field "$1" SubmitTime) $(field "$1" AccrueTime)"; }
bad() { scontrol show jobs | grep -c BadConstraints || true; }
# Two passes of both schedulers and three of dnnestd.
passes() { sleep 10; }
free_all() {
    scancel -u "$CLUSTER_USER"
    cluster_until 60 none_left
}
none_left() { [[ -z $(squeue -h) ]]; }
# fill TYPE [OPTION...]: all of its GPUs
fill() {
    submit "--gres=gpu:$1:4" -N 2 -t 60 "${@:2}"
}

# --- moves -----------------------------------------------------------------------------

idle=$(opened --gres=gpu:1)
ok 'with both types idle a job runs on its own' cluster_until 60 runs_on "$idle" 'a[12]'
free_all

full=$(fill a100)
ok 'the a100 are full' cluster_until 60 runs_on "$full" 'a\[1-2\]'
late=$(opened --gres=gpu:1)
ok 'a pending job starts on v100 within 90 s' cluster_until 90 runs_on "$late" 'v[12]'
is 'a limit is scaled to the type' "$(field "$late" TimeLimit)" 02:07:00
is 'the record has the move' "$(member "$late" 'steer | "\(.gpu) \(.time_s) \(.cap_s)"')" \
    'v100 7620 7620'
ok 'the log names the job, the types and the limits' grep -q \
    "steer: job $late: a100 -> v100, limit 01:00:00 -> 02:07:00" "$dir"/log/dnnestd*
nodes=$(opened --gres=gpu:4 -N 2)
passes
is 'a job of two nodes waits for two nodes' "$(field "$nodes" JobState)" PENDING
scancel "$late"
ok 'a job of two nodes starts on two v100 nodes' cluster_until 90 runs_on "$nodes" 'v\[1-2\]'
scancel "$nodes"
described=$(submit --gres=gpu:a100:1 -t 600 --comment="dnnest:$LIVE_KEYS")
ok 'a job that the plugin has left open starts on v100' \
    cluster_until 90 runs_on "$described" 'v[12]'
scancel "$described"
array=$(opened --gres=gpu:1 --array=0-2)
for task in 0 1 2; do
    ok "task $task of an array starts on v100" \
        cluster_until 90 runs_on "${array}_$task" 'v[12]'
done
is 'no job has bad constraints' "$(bad)" 0
scancel "$array"

# --- what is left alone ------------------------------------------------------------------

sleep 2
part=$(submit --gres=gpu:v100:3 -t 5)
ok 'a v100 node is partly used' cluster_until 60 runs_on "$part" 'v[12]'
first=$(fill v100)
cluster_until 60 has "$first" Reason Resources || true
second=$(opened --gres=gpu:1)
human=$(open 60 '' '' --gres=gpu:1)
scontrol update "JobId=$human" 'Features=a100&ib'
scontrol release "$human"
held=$(open 60 '' '' --gres=gpu:1)
passes
is 'a job of v100 that waits is not overtaken' \
    "$(field "$second" Features) $(field "$second" JobState)" 'a100 PENDING'
before=$(times "$second")
scancel "$first"
ok 'after it there is room' cluster_until 90 runs_on "$second" 'v[12]'
is 'the times of submission and accrual stay' "$(times "$second")" "$before"
not_ok 'the time of accrual is known' grep -q Unknown <<<"$before"
passes
is 'a constraint that a human has changed stays' \
    "$(field "$human" Features) $(field "$human" JobState)" 'a100&ib PENDING'
is 'a held job stays' "$(field "$held" Features) $(field "$held" JobState)" 'a100 PENDING'
scancel "$part" "$second" "$human" "$held"

# --- something else takes the nodes ------------------------------------------------------

taken=$(fill v100)
ok 'the v100 are full, too' cluster_until 60 runs_on "$taken" 'v\[1-2\]'
back=$(open 60 '' ",\"steer\":{\"gpu\":\"v100\",\"time_s\":7620,\"cap_s\":7620,\
\"at_s\":$(($(date +%s) - 60))}" --gres=gpu:1)
scontrol update "JobId=$back" Features=v100 TimeLimit=127
scontrol release "$back"
ok 'a job that did not start there has its own type again' \
    cluster_until 90 has "$back" Features a100
is 'a job with its own type again has its own limit, and no record of a move' \
    "$(field "$back" TimeLimit) $(member "$back" steer)" '01:00:00 null'
is 'no job has bad constraints then' "$(bad)" 0
kept=$(open 60 '' ",\"steer\":{\"gpu\":\"v100\",\"time_s\":7620,\"cap_s\":7620,\
\"at_s\":$(date +%s)}" --gres=gpu:1)
scontrol update "JobId=$kept" Features=v100 TimeLimit=127
scontrol update PartitionName=gpu MaxTime=100
scontrol release "$kept"
ok 'a job that a lowered MaxTime keeps from that type has its own again' \
    cluster_until 90 has "$kept" Features a100
scontrol update PartitionName=gpu MaxTime=2-0
scancel "$back" "$kept" "$taken"

# --- limits mean work ----------------------------------------------------------------------

# 0.98 of a minute on a100, 1.62 times that on v100; a longer one whose limit was lowered.
cat >"$dir/home/job.sh" <<'END'
#!/bin/sh
case $SLURMD_NODENAME in
a*) exec sleep 59 ;;
*) exec sleep 95 ;;
esac
END
tight=$(open 1 '' '' --gres=gpu:1)
printf '%s\n' '#!/bin/sh' 'exec sleep 3000' >"$dir/home/job.sh"
long=$(open 4 '"time_s":60,' '' --gres=gpu:1)
scontrol update "JobId=$long" TimeLimit=1
scontrol release "$tight" "$long"
ok 'a job with a lowered limit starts on v100' cluster_until 90 runs_on "$long" 'v[12]'
is 'a lowered limit is scaled' "$(field "$long" TimeLimit)" 00:03:00
ok 'a job that needs 0.98 of its limit on a100 completes on v100' \
    cluster_wait_job "$tight" COMPLETED 200
ok 'the guard extends to what the limit of the user amounts to there' \
    cluster_until 200 has "$long" TimeLimit 00:09:00
free_all

is 'dnnestd counts its moves' \
    "$(jq '[.hours[].steered] | add' "$dir/state/dnnestd.status") $(
        jq '[.hours[].steered_back // 0] | add' "$dir/state/dnnestd.status")" '9 2'

# --- a reservation, and a requeue --------------------------------------------------------------

full=$(fill a100)
scontrol create reservation reservationname=service nodes=v2 user=root duration=600 \
    starttime=now+3600 >/dev/null
before=$(open 60 '"time_s":1200,' '' --gres=gpu:1)
scontrol update "JobId=$before" TimeLimit=20
scontrol release "$before"
passes
is 'a lowered limit gets no job to where its own would run into a reservation' \
    "$(field "$before" JobState) $(field "$before" Features)" 'PENDING a100'
scontrol delete reservationname=service
ok 'without the reservation it starts there' cluster_until 90 runs_on "$before" 'v[12]'
scancel "$full"
either=$(open 60 '' '' --gres=gpu:1)
scontrol update "JobId=$either" 'Features=a100|v100' TimeLimit=127 "AdminComment=$(
    scontrol show job "$either" | sed -n 's/^ *AdminComment=//p' |
        sed 's/"set":{/"either":1,"set":{"time_s":7620,"cap_s":7620,/')"
taken=$(fill v100 -N 1 -x "$(field "$before" NodeList)")
rest=$(submit --gres=gpu:v100:3 -t 60)
ok 'the v100 are full' cluster_until 60 runs_on "$rest" 'v[12]'
scontrol release "$either"
ok 'a job of which Slurm chooses the type has the limit of that type' \
    cluster_until 90 has "$either" TimeLimit 01:00:00
scontrol requeue "$either"
ok 'after a requeue it has the limit of the slowest type, on which it may start' \
    cluster_until 90 has "$either" TimeLimit 02:07:00
is 'a requeued job of which Slurm chooses the type may start on each' "$(field "$either" Features)" 'a100|v100'
scancel "$either" "$taken" "$rest"

# --- dnnest is absent ---------------------------------------------------------------------------

full=$(fill a100)
taken=$(fill v100 -x "$(field "$before" NodeList)" -N 1)
ok 'all other GPUs are taken' cluster_until 60 runs_on "$taken" 'v[12]'
# moved SECONDS: a job with a lowered limit that was moved so many seconds ago, and waits
moved() {
    local id
    id=$(open 60 '"time_s":1200,' ",\"steer\":{\"gpu\":\"v100\",\"time_s\":2580,\
\"cap_s\":7620,\"at_s\":$(($(date +%s) - $1))}" --gres=gpu:4)
    scontrol update "JobId=$id" Features=v100 TimeLimit=43
    scontrol release "$id"
    echo "$id"
}
waits=$(moved -600)
_cluster_end dnnest-guard
is 'a guard that leaves gives a running job what its own limit amounts to on its type' \
    "$(field "$before" TimeLimit)" 02:07:00
is 'a guard that leaves gives a pending job that was moved the same' "$(field "$waits" TimeLimit)" 02:07:00
_cluster_end dnnestd
is 'before dnnestd ends a moved job that waits has its own type and limit again' \
    "$(field "$waits" Features) $(field "$waits" TimeLimit)" 'a100 01:00:00'
live_conf Mode=observe SteerInterval=2 GuardInterval=2 WatchInterval=2 "StateDir=$dir/state" \
    CollectInterval=3600 LearnInterval=3600 Accounting=none
waits=$(moved 60)
live_daemons
ok 'with Mode=observe, too' cluster_until 90 has "$waits" Features a100
live_end
