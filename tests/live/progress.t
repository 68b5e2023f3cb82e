#!/bin/bash
# progress.t - jobs that report how far they are are extended to what they need, and not
# for files that somebody else wrote
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Real jobs, whose limit the plugin has lowered. All run at the same time.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin progress job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built'; fi

# A limit of some minutes: jobs that run longer are extended.
readonly SHORT=dnnest:${LIVE_KEYS/steps=20000/steps=10}
readonly INTERVAL=5

# Sets 'job'; the script comes from stdin.
submit() {
    live_need --gres=gpu:1 -c 1 --mem=100 \
        -o "$dir/home/%j.out" "$@"
}
limit() {
    cluster_job_field "$1" TimeLimit
}
limit_is_not() {
    [[ $(limit "$1") != "$2" ]]
}
minutes() {
    local hours minutes
    IFS=: read -r hours minutes _ <<<"$1"
    echo $((10#$hours * 60 + 10#$minutes))
}
ends() {
    ok "$1" cluster_until 200 state_is "$2" "$3"
}

cluster_trap "daemon_end; rm -rf '$dir'"

live_hardware
mkdir -p "$dir/state.dnnest" "$dir/progress" "$dir/bin"
# In a bin/, as it is installed: a program in a directory of the user's may train.
ln -s "$(realpath "$dnnest")" "$dir/bin/dnnest"
chmod -R go-w "$dir/etc" "$dir/state.dnnest"
chmod 1777 "$dir/progress"
live_conf Mode=enforce GpuType=keep Cpus=keep TimeLimit=limit TimeMin=00:01:00 \
    TimeQuantile=0.5 GuardedQuantile=0.5 TimeMargin=0 \
    "GuardInterval=$INTERVAL" "StateDir=$dir/state.dnnest" "ProgressDir=$dir/progress" \
    'Policy Partition=long TimeMin=00:40:00 Shorten=yes' 'Policy Partition=rigid TimeMin=00:40:00'
live_start --plugin-dir "$plugin_dir" \
    --conf 'PartitionName=gpu Nodes=ALL Default=YES MaxTime=2-0 State=UP' \
    --conf 'PartitionName=long Nodes=ALL MaxTime=2-0 State=UP' \
    --conf 'PartitionName=rigid Nodes=ALL MaxTime=2-0 State=UP'
"$dnnest_guard" -v --conf="$dir/etc/dnnest.conf" >>"$dir/log/dnnestd.log" 2>&1 &
daemon_pid=$!

# --- jobs ----------------------------------------------------------------------------

submit -t 30 --comment="$SHORT" <<END
#!/bin/sh
echo "\$DNNEST_PROGRESS_DIR"
for step in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
    "$dir/bin/dnnest" progress \$step/24
    sleep 10
done
END
reports=$job
submit -t 30 --comment="$SHORT" <<<$'#!/bin/sh\nsleep 250'
silent=$job
# The same in a capture, as the hook of Python writes it.
submit -t 30 --comment="$SHORT" <<END
#!/bin/bash
started=\$(date +%s)
file=$dir/progress/\$SLURM_JOB_ID
for step in {0..24}; do
    printf '{"dnnest_capture": 1, "time": %d, "started": %d, "run": {"step": %d, "steps": 24},' \
        "\$(date +%s)" "\$started" "\$step" >"\$file.new"
    printf ' "measured": {"start_s": 0, "steps": %d, "step_ms": 0.001}}' "\$step" >>"\$file.new"
    mv "\$file.new" "\$file.capture"
    sleep 10
done
END
captures=$job
submit -t 300 -p long --comment="$SHORT" <<END
#!/bin/bash
for step in {0..30}; do
    echo "DNNEST_PROGRESS \$step/30"
    sleep 3
done | "$dir/bin/dnnest" progress --follow
END
shortened=$job
submit -t 300 -p rigid --comment="$SHORT" <<END
#!/bin/bash
for step in {0..30}; do "$dir/bin/dnnest" progress \$step/30; sleep 3; done
END
rigid=$job
submit -t 30 --comment=dnnest:off <<<$'#!/bin/sh\nenv | grep DNNEST_PROGRESS; sleep 1'
off=$job

# Files of others, for jobs that would be shortened by them.
hostile=()
for kind in owner link fifo huge garbage writable directory; do
    submit -t 300 -p long --comment="$SHORT" <<<$'#!/bin/sh\nsleep 60'
    hostile+=("$job")
    now=$(date +%s)
    text=$'dnnest-progress 1\n'
    for ((i = 40; i > 0; i -= 4)); do text+="report $((now - i + 30)) $((100 - i)) 100"$'\n'; done
    file=$dir/progress/$job
    case $kind in
    owner) printf '%s' "$text" >"$file" ;;
    link)
        printf '%s' "$text" >"$dir/home/elsewhere"
        chown "$CLUSTER_USER" "$dir/home/elsewhere"
        ln -s "$dir/home/elsewhere" "$file"
        ;;
    fifo) mkfifo "$file" ;;
    huge) { printf '%s' "$text" && head -c 10000 /dev/zero | tr '\0' '\n'; } >"$file" ;;
    garbage) head -c 4000 /dev/urandom >"$file" ;;
    writable) printf '%s' "$text" >"$file" ;;
    directory) mkdir "$file" ;;
    esac
    [[ $kind = owner || $kind = link ]] || chown "$CLUSTER_USER" "$file"
    [[ $kind != writable ]] || chmod 666 "$file"
done
# The same text in a file as it should be, as the proof that it would be believed.
submit -t 300 -p long --comment="$SHORT" <<<$'#!/bin/sh\nsleep 60'
believed=$job
printf '%s' "$text" >"$dir/progress/$believed"
chown "$CLUSTER_USER" "$dir/progress/$believed"

for job in "$reports" "$silent" "$captures" "$shortened" "$rigid" "$believed" "${hostile[@]}"; do
    cluster_wait_job "$job" RUNNING 60 || fail "job $job starts"
done
short=$(limit "$silent")
is 'a job has a lowered limit' "$short" 00:02:00
before=$(limit "$shortened")
is 'a long job has a lowered limit' "$before" 00:40:00
sleep 20
ok 'the directory is in the environment of a changed job' grep -qx "$dir/progress" \
    "$dir/home/$reports.out"
not_ok 'the directory is not in the environment of another job' grep -q DNNEST "$dir/home/$off.out"

ok 'Shorten=yes lowers the limit of a job that needs less' \
    cluster_until 180 limit_is_not "$shortened" "$before"
ok 'the lowered limit is what the job needs' test "$(minutes "$(limit "$shortened")")" -le 6
like 'the record has the lowered limit' "$(later "$shortened")" '^\[[0-9]+\]$'
diag "30 steps of 3 s: $(limit "$shortened"), $(later "$shortened")"
is 'Shorten=no lowers no limit' "$(limit "$rigid")" 00:40:00
ok 'a file of the job itself is believed' cluster_until 180 limit_is_not "$believed" 00:40:00
i=0
for kind in 'of another user' 'behind a link' 'that is a FIFO' 'that is huge' 'of garbage' \
    'that others can write' 'that is a directory'; do
    is "a file $kind is not believed" "$(limit "${hostile[i++]}")" 00:40:00
done

ok 'a job that reports is extended' cluster_until 200 limit_is_not "$reports" "$short"
reported=$(limit "$reports")
ok 'a job that reports gets what it needs, and not what was requested' \
    test "$(minutes "$reported")" -le 8 -a "$(minutes "$reported")" -ge 5
diag "24 steps of 10 s: $reported, $(later "$reports")"
ok 'a job that captures itself is extended' cluster_until 200 limit_is_not "$captures" "$short"
captured=$(limit "$captures")
ok 'a job that captures itself gets what its steps need' \
    test "$(minutes "$captured")" -le 8 -a "$(minutes "$captured")" -ge 5
diag "24 captured steps of 10 s: $captured, $(later "$captures")"
like 'dnnest status has its expected end' \
    "$("$dnnest" status --conf="$dir/etc/dnnest.conf" "$captures")" \
    'expected end .*before that of its limit'
ok 'a silent job is extended as ever' cluster_until 180 limit_is_not "$silent" "$short"
diag "without reports: $(limit "$silent"), $(later "$silent")"

ends 'the job that was shortened completes' "$shortened" COMPLETED
ends 'the job that reports completes' "$reports" COMPLETED
is 'a job that reports was extended once' "$(grep -c "job $reports: limit" "$dir/log/dnnestd.log")" 1
ends 'the job that captures itself completes' "$captures" COMPLETED
ends 'the silent job completes' "$silent" COMPLETED
grep -a 'job ' "$dir/log/dnnestd.log" | sort -u -k 2 | head -n 60 | sed 's/^/# /'
daemon_end
done_testing
