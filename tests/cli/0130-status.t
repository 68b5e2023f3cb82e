#!/bin/bash
# 0130-status.t - what 'dnnest status' says about files of dnnestd, good ones and others
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

state=$work/state
now=$(date +%s)
mkdir "$state"
printf 'StateDir=%s\n' "$state" >>"$work/site.conf"

# status_file KEY=JSON...: a status of a running dnnestd, with other values for some members,
# and one of dnnest-guard; program=guard changes that one
status_file() {
    local guard=() dnnestd=()
    case ${1-} in
    program=guard) guard=("${@:2}") ;;
    *) dnnestd=("$@") ;;
    esac
    now=$(date +%s) # it ages while the tests run
    one_status dnnestd watch "${dnnestd[@]}"
    one_status dnnest-guard guard "${guard[@]}"
}
one_status() {
    local file=$state/$1.status
    python3 - "$file" "$now" "${@:2}" <<'PYTHON'
import json
import sys

now = int(sys.argv[2])
status = {"dnnestd": 1, "version": "0.9", "pid": 77, "started": now - 600, "written": now - 5,
          "every_s": 60, "up": True, "up_since": now - 600, "cluster": "alpha", "slurm": 2411,
          "soft_time_min": False, "error": "",
          "tasks": [{"name": name, "interval_s": 60, "last": now - 9, "took_ms": 8, "error": ""}
                    for name in sys.argv[3:4]],
          "hours": [{"from": now - now % 3600, "extensions": 3, "rounds": 9},
                    {"from": now - now % 3600 - 40 * 3600, "extensions": 5}]}
for change in sys.argv[4:]:
    key, value = change.split("=", 1)
    if value == "gone":
        del status[key]
    else:
        status[key] = eval(value, {"now": now, "status": status})
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(status, file)
PYTHON
    chmod 644 "$file"
}

snapshot_file() {
    printf '%s\n' \
        "Cluster Version=1 Name=alpha Time=$1 Slurm=2411 SoftTimeMin=no Enforces=no" \
        'End Rows=0' >"$state/cluster.snapshot"
}
guard_file() {
    printf 'Guard Version=2 Time=%s Interval=60\n%sEnd Users=%s\n' "$1" "${2:+$2$'\n'}" \
        "${2:+1}" | sed 's/Users=$/Users=0/' >"$state/guard"
}

part='{p["part"]: p for p in d["parts"]}'

# --- all is well --------------------------------------------------------------------------

status_file
snapshot_file "$now"
guard_file "$now" 'User Id=7 Jobs=14+,13+,12+,11+'
gives 'a dnnestd that runs is fresh' 0 $'dnnestd +fresh +00:00:.*\ndnnest-guard +fresh .*\nwatch +fresh .*\nguard +fresh ' \
    status
gives 'the limits are those of a guard' 0 'limits: (guarded|soft)' status
gives 'what was done in the last day is shown' 0 ' 6  Time limits extended\.' status
gives 'users whose jobs needed more are counted' 0 'guarded jobs: 1, of these 1 ' status
json 'JSON has the parts and the counters of the last day' \
    'd["fresh"] and [p["part"] for p in d["parts"]] == ["dnnestd", "dnnest-guard", "slurmctld", "watch",
        "guard", "snapshot", "heartbeat", "counters"]
     and d["day"]["extensions"] == 6 and d["day"]["rounds"] == 18 and d["day"]["refused"] == 0
     and d["dnnestd"]["pid"] == 77 and d["dnnest_guard"]["pid"] == 77 and d["dnnestd"]["slurm"] == 2411
     and [t["name"] for t in d["tasks"]] == ["watch", "guard"] and d["tasks"][0]["took_ms"] == 8
     and all(p["next"] is None for p in d["parts"]) and d["distrusted"] == 1' status
documented 'dnnest(1) names every member of the JSON' status

# --- something is not ---------------------------------------------------------------------

# bad TITLE STATE PART NEXT [KEY=JSON]...: with such a status, the part has the state, and a
# line says what to do
bad() {
    local title=$1 state_name=$2 name=$3 next=$4
    shift 4
    status_file "$@"
    gives "$title: exit code 1, and what to do" 1 "What to do:.*  $name: .*$next" status
    json "$title: $name is $state_name" "not d['fresh']
        and ${part}['$name']['state'] == '$state_name' and ${part}['$name']['next']" status
}
bad 'dnnestd was stopped' ended dnnestd 'systemctl enable --now dnnestd' 'ended=now - 4'
bad 'dnnestd does not write any more' old dnnestd 'journalctl -u dnnestd' 'written=now - 9000'
bad 'the status is from the future' old dnnestd 'set the clocks' 'written=now + 9000'
bad 'slurmctld does not answer' down slurmctld 'does not answer dnnestd; .*scontrol ping' 'up=False'
bad 'slurmctld does not answer the guard' down slurmctld 'does not answer dnnest-guard; .*scontrol ping' \
    program=guard 'up=False'
bad 'a task failed' failed watch 'no such table; .*journalctl' \
    'tasks=[dict(status["tasks"][0], error="no such table")]'
bad 'a task is late' old guard 'journalctl.*dnnest-guard' program=guard \
    'tasks=[dict(status["tasks"][0], last=now - 900)]'
bad 'the guard was stopped' ended dnnest-guard 'dnnest-restore\.timer' program=guard 'ended=now - 4'
bad 'a task has never run' none guard 'journalctl' program=guard \
    'tasks=[{"name": "guard", "interval_s": 60, "took_ms": 0}]'

status_file
gone() {
    mv "$state/$1" "$work/aside"
    gives "$3" 1 "  $2: .*" status
    json "$3: $2 is none" "${part}['$2']['state'] == 'none' and not d['fresh']" status
    mv "$work/aside" "$state/$1"
}
gone dnnestd.status dnnestd 'dnnestd has never run'
gone dnnest-guard.status dnnest-guard 'dnnest-guard has never run'
gone cluster.snapshot snapshot 'there is no snapshot'
gone guard heartbeat 'there is no heartbeat'
rm -rf "$work/empty.state"
printf 'StateDir=%s\n' "$work/empty.state" >"$work/empty.conf"
json 'without StateDir nothing is known' \
    'not d["fresh"] and d["dnnestd"] is None and d["tasks"] == []
     and all(p["state"] in ("none", "off") for p in d["parts"])' status --conf "$work/empty.conf"

snapshot_file $((now - 4000))
json 'an old snapshot is old' "${part}['snapshot']['state'] == 'old'
    and ${part}['snapshot']['age_s'] >= 4000 and not d['fresh']" status
snapshot_file "$now"
guard_file $((now - 4000))
json 'with an old heartbeat limits are not guarded' "${part}['heartbeat']['state'] == 'old'
    and d['limits'] != 'guarded'" status
printf 'Guard Version=2 Time=nan\n' >"$state/guard"
gives 'a damaged file is named with its line' 1 'heartbeat: .*/guard: line 1: Time' status

# --- slurm.conf -----------------------------------------------------------------------------

status_file
guard_file "$now"
slurm_conf() {
    printf '%s\n' ClusterName=alpha "$@" >"$work/slurm.conf"
}
slurm_conf JobSubmitPlugins=lua,dnnest
json 'a slurm.conf that names the plugin is fine; without its SPANK plugin it is off' \
    "d['fresh'] and ${part}['plugin']['state'] == 'fresh' and ${part}['spank']['state'] == 'off'" status
slurm_conf JobSubmitPlugins=dnnest_other,lua
gives 'one that does not name it is said in one line' 1 \
    'plugin: JobSubmitPlugins does not name dnnest; slurm.conf needs JobSubmitPlugins=dnnest; then restart' status
mkdir "$work/stack"
echo "include $work/stack/*.conf" >"$work/plugstack.conf"
echo '# optional spank_dnnest.so' >"$work/stack/a.conf"
slurm_conf JobSubmitPlugins=job_submit/dnnest
json 'a SPANK plugin in a comment is off' "d['fresh'] and ${part}['spank']['state'] == 'off'" status
echo 'optional spank_dnnest.so' >"$work/stack/b.conf"
json 'one in a file that plugstack.conf includes is fresh' "${part}['spank']['state'] == 'fresh'" status
slurm_conf JobSubmitPlugins=dnnest "PlugStackConfig=$work/stack/a.conf"
json 'PlugStackConfig names another file' "${part}['spank']['state'] == 'off'" status
slurm_conf JobSubmitPlugins=dnnest 'Include none.conf'
json 'a slurm.conf that cannot be read is broken' "${part}['plugin']['state'] == 'broken' and not d['fresh']" status
rm -r "$work/slurm.conf" "$work/plugstack.conf" "$work/stack"

# --- the counters of the plugin -----------------------------------------------------------

status_file
snapshot_file "$now"
guard_file "$now"
printf 'Counters=%s\n' "$work/dnnest.prom" >>"$work/site.conf"
json 'counters that are configured and absent are none' \
    "${part}['counters']['state'] == 'none' and d['plugin'] is None" status
cat >"$work/dnnest.prom" <<'PROM'
# HELP dnnest_start_time_seconds When the plugin was loaded.
# TYPE dnnest_start_time_seconds gauge
dnnest_start_time_seconds 1700000000
dnnest_submissions_total 12
dnnest_changed_total{field="time_limit"} 4
dnnest_changed_total{field="gpu_type"} 1
dnnest_submission_seconds_sum 0.012345
PROM
json 'counters of all labels are added' 'd["fresh"] and d["plugin"] == {
    "started": 1700000000, "submissions": 12, "described": 0, "changed": 5, "errors": 0}' status
gives 'counters are shown' 0 'loaded: 12 submissions, 0 described, 5 fields changed' status
touch -d '-1 hour' "$work/dnnest.prom"
gives 'counters that are not written any more are old' 1 'counters: .*is slurmctld running' status
prom() {
    printf %b "$2" >"$work/dnnest.prom"
    json "$1" "${part}['counters']['state'] == 'broken' and d['plugin'] is None" status
}
prom 'an empty file of counters is broken' ''
prom 'a file of counters of another program is broken' 'other_total 4\n'
for value in -1 nan 1e999 0x10 99999999999999999999 ''; do
    prom "a file with the counter '$value' is broken" "dnnest_start_time_seconds 7\ndnnest_changed_total $value\n"
done
rm "$work/dnnest.prom"
mkfifo "$work/dnnest.prom"
json 'a file of counters that is a pipe is not waited for' "${part}['counters']['state'] == 'broken'" status
rm "$work/dnnest.prom"
sed -i '/^Counters/d' "$work/site.conf"

# --- hostile files; tests/unit/daemon_status.c has their members -----------------------------

hostile() {
    gives "$1" 1 'dnnestd +broken' status
    is "$1: nothing on stderr" "$err" ''
}
for text in '' '{"dnnestd":2}' "$(printf '[%.0s' {1..3000})"; do
    printf '%s' "$text" >"$state/dnnestd.status"
    hostile "a status ${text:0:20} of ${#text} bytes is broken"
done
head -c 40000 /dev/zero | tr '\0' ' ' >"$state/dnnestd.status"
hostile 'a status that is too long is broken'
head -c 300 /dev/zero >"$state/dnnestd.status"
hostile 'a status with NUL bytes is broken'
status_file 'hours=status["hours"] * 30'
hostile 'a status of more hours than a day has is broken'
status_file
chmod 666 "$state/dnnestd.status"
hostile 'a status that all may write is not trusted'
rm "$state/dnnestd.status"
ln -s /dev/zero "$state/dnnestd.status"
hostile 'a link is not followed'
rm "$state/dnnestd.status"
mkfifo "$state/dnnestd.status"
hostile 'a status that is a pipe is not waited for'
rm "$state/dnnestd.status"
status_file 'hours=[{"from": now - now % 3600, "rounds": 10**15}] * 25' 'started=99999999999'
gives 'the largest numbers are shown' 0 '25000000000000009  Rounds' status

refuses 'a broken dnnest.conf is an error' 3 'absent.conf' status --conf "$work/absent.conf"
refuses 'an argument is refused' 2 'unexpected argument' status 1 2
done_testing
