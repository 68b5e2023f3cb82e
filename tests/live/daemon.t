#!/bin/bash
# daemon.t - dnnestd as a service: its files, reloads, a lost slurmctld, signals, memory
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One dnnestd runs all the time, so that its memory can be compared after many rounds. The
# other parts have a dnnestd of their own, with a socket in place of that of systemd.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin daemon job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all 'dnnestd is not built'; fi

readonly ROUNDS=200 GROWTH_KB=512

# --- helpers -------------------------------------------------------------------------

# conf NAME [LINE]...: $dir/etc/NAME.conf, with StateDir $dir/NAME
conf() {
    local name=$1
    shift
    live_conf "StateDir=$dir/$name" WatchInterval=1 GuardInterval=1 "$@"
    mv "$dir/etc/dnnest.conf" "$dir/etc/$name.conf"
}
# start NAME CONF [VARIABLE=VALUE]...: the log is $dir/log/NAME.out
start() {
    local name=$1 conf=$2
    shift 2
    _cluster_spawn "$name" env "$@" "$dnnestd" -D --conf="$dir/etc/$conf.conf"
}
pid_of() {
    jq -r .pid "$dir/$1/dnnestd.status"
}
said() {
    grep -c "$2" "$dir/log/$1.out" || true
}
says() {
    [[ $(said "$1" "$2") = "$3" ]]
}
says_often() {
    (($(said "$1" "$2") >= $3))
}
has_files() {
    local name=$1 file
    shift
    for file in cluster.snapshot dnnestd.status dnnestd.prom "$@"; do
        [[ -s $dir/$name/$file ]] || return 1
    done
}
has_all_files() {
    has_files "$1" guard dnnest-guard.status dnnest-guard.prom
}
counter() {
    sed -n "s/^dnnestd_$2 //p" "$dir/$1/dnnestd.prom"
}
counted() {
    (($(counter "$1" "$2") >= $3))
}
status_of() {
    "$dnnest" status --json --conf "$dir/etc/$1.conf" | jq -r "$2"
}
part_is() {
    [[ $(status_of "$1" ".parts[] | select (.part == \"$2\") | .state") = "$3" ]]
}
rss_kb() {
    sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
}
is_gone() {
    [[ ! -e /proc/$1 || $(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null) = Z ]]
}
# Ends a dnnestd by SIGTERM; fails if that takes as long as a call of Slurm that gets no answer.
ends_soon() {
    local tries
    kill -TERM "$1"
    for ((tries = 0; tries < 80; tries++)); do
        if is_gone "$1"; then return 0; fi
        sleep 0.1
    done
    return 1
}

# --- start -----------------------------------------------------------------------------

live_hardware
conf long
conf ours
cp -p "$dir/etc/ours.conf" "$dir/etc/dnnest.conf"
live_start --plugin-dir "$plugin_dir" --no-accounting

start long long
ok 'a dnnestd writes all of its files' cluster_until 180 has_files long
long=$(pid_of long)

cat >"$dir/listen.py" <<'PYTHON'
import socket
import sys

server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
while True:
    print(server.recv(4096).decode().replace("\n", " "), flush=True)
PYTHON
_cluster_spawn notified python3 "$dir/listen.py" "$dir/notify.sock"
cluster_until 180 test -S "$dir/notify.sock"
start ours ours NOTIFY_SOCKET="$dir/notify.sock" WATCHDOG_USEC=2000000
_cluster_spawn guard "$dnnest_guard" -D --conf="$dir/etc/ours.conf"
ok 'others beside it write their own' cluster_until 180 has_all_files ours
pid=$(pid_of ours)

# --- status, counters, messages to the manager -------------------------------------------

ok 'all is fresh' cluster_until 180 "$dnnest" status --conf "$dir/etc/ours.conf"
is 'all tasks have run' "$(status_of ours '[.tasks[].name] | join(" ")')" 'watch rescue collect learn revise steer guard'
is 'Slurm is known by its version' "$(status_of ours .dnnestd.slurm)" \
    "$(scontrol --version | sed -E 's/^[a-z-]+ ([0-9]+)\.0?([0-9]+).*/\1 \2/' \
        | { read -r a b && printf '%d%02d' "$a" "$b"; })"
is 'files are readable by all' "$(stat -c %a "$dir"/ours/* | sort -u)" 644
ok 'rounds are counted' cluster_until 180 counted ours rounds_total 3
if command -v promtool >/dev/null; then
    ok 'promtool takes the counters' promtool check metrics \
        < <(cat "$dir/ours/dnnestd.prom" "$dir/ours/dnnest-guard.prom")
fi
is 'every counter is a number' \
    "$(grep -hv '^#' "$dir/ours/dnnestd.prom" "$dir/ours/dnnest-guard.prom" \
        | grep -cvE '^dnnest(d|_guard)_[a-z_]+(\{[a-z]+="[^"]*"\})? [0-9]+(\.[0-9]+)?$' || true)" 0
if ldd "$dnnestd" | grep -q libsystemd; then
    ok 'the manager is told that it is ready' \
        says_often notified '^READY=1' 1
    ok 'the watchdog is told that it is alive' cluster_until 180 \
        says_often notified '^WATCHDOG=1' 4
    ok 'the manager is told how it is' cluster_until 180 \
        says_often notified '^STATUS=slurmctld answers' 1
fi

# --- once ---------------------------------------------------------------------------------

like 'dnnestd watch --once --out=- prints a snapshot' \
    "$("$build/dnnestd" watch --once --out=- --conf "$dir/etc/ours.conf")" '^Cluster Version=1 '
ok 'dnnest-guard --once --dry-run runs' \
    "$dnnest_guard" --once --dry-run --conf "$dir/etc/ours.conf"

# --- the configuration -----------------------------------------------------------------------

cp -p "$dir/etc/ours.conf" "$dir/etc/good"
{ cat "$dir/etc/good" && echo 'Mode=wild'; } >"$dir/etc/bad"
chmod 644 "$dir/etc/bad"
mv "$dir/etc/bad" "$dir/etc/ours.conf"
kill -HUP "$pid"
ok 'SIGHUP with a broken dnnest.conf says which line is wrong' cluster_until 180 \
    says_often ours 'ours.conf: line .*Mode' 1
# A round may see the file before the signal comes, and then says it twice.
ok 'the configuration in use is kept' says_often ours 'configuration in use is kept' 1
before=$(counter ours rounds_total)
ok 'rounds go on with it' cluster_until 180 counted ours rounds_total $((before + 2))
mv "$dir/etc/good" "$dir/etc/ours.conf"
loaded=$(said ours 'configuration loaded')
kill -HUP "$pid"
ok 'SIGHUP with a right one loads it' cluster_until 180 \
    says_often ours 'configuration loaded' $((loaded + 1))

# --- slurmctld is killed and started again ----------------------------------------------------

# shellcheck disable=SC2046  # one word per process
kill -KILL $(cluster_pids slurmctld)
ok 'a lost slurmctld is noticed' cluster_until 180 part_is ours slurmctld down
no() { ! "$@"; }
ok "'dnnest status' fails meanwhile" no "$dnnest" status --conf "$dir/etc/ours.conf"
sleep 4
_cluster_start_ctld || _cluster_failed slurmctld
ok 'slurmctld is found again' cluster_until 180 part_is ours slurmctld fresh
ok 'after that all is fresh' cluster_until 180 "$dnnest" status --conf "$dir/etc/ours.conf"
is 'the loss takes one line' "$(said ours 'slurmctld does not answer')" 1
is 'the recovery takes one line' "$(said ours 'slurmctld answers again')" 1

# --- the StateDir is lost for a while -----------------------------------------------------------

mv "$dir/ours" "$dir/lost"
touch "$dir/ours"
before=$(said ours 'cannot be written')
ok 'a StateDir that is lost has errors' cluster_until 180 \
    says_often ours 'cannot be written' $((before + 2))
sleep 5
is 'each error is in the log once, though several come in turn' \
    "$(grep 'cannot be written' "$dir/log/ours.out" | cut -d ' ' -f 2- | sort | uniq -d)" ''
rm "$dir/ours"
mv "$dir/lost" "$dir/ours"
ok 'with its StateDir all is fresh again' cluster_until 180 \
    "$dnnest" status --conf "$dir/etc/ours.conf"

# --- two of them in one StateDir, and their end -------------------------------------------------

start twin ours
ok 'a second dnnestd with the same StateDir runs' cluster_until 180 says twin 'started' 1
for _ in {1..20}; do
    "$dnnest" status --json --conf "$dir/etc/ours.conf" >>"$dir/twins"
    sleep 0.1
done
is 'no file is ever broken' "$(jq -r '.parts[].state' "$dir/twins" | sort -u | xargs)" \
    'fresh off'
# The status has the id of the one that wrote last.
pids=()
for found in $(pgrep -f -x "$dnnestd -D --conf=$dir/etc/ours.conf"); do pids+=("$found"); done
is 'both run' "${#pids[@]}" 2
# shellcheck disable=SC2046  # one word per process
kill -STOP $(cluster_pids slurmctld)
sleep 2
for found in "${pids[@]}"; do
    if [[ $found != "$pid" ]]; then
        ok 'one ends while slurmctld hangs' ends_soon "$found"
    fi
done
# shellcheck disable=SC2046  # one word per process
kill -CONT $(cluster_pids slurmctld)
ok 'the other goes on' cluster_until 180 part_is ours dnnestd fresh
ok 'SIGTERM ends the other within two seconds' ends_soon "$pid"
ok "'dnnest status' says that it has ended" part_is ours dnnestd ended
if ldd "$dnnestd" | grep -q libsystemd; then
    ok 'the manager is told that it stops' says notified '^STOPPING=1' 1
fi
is 'no file is left beside those of StateDir' "$(find "$dir/ours" -name '*.new-*')" ''

# --- a StateDir that cannot be ----------------------------------------------------------------------

# refused TITLE STATE-DIR REGEX
refused() {
    local code=0
    live_conf "StateDir=$2"
    mv "$dir/etc/dnnest.conf" "$dir/etc/refused.conf"
    timeout 180 "$dnnestd" --conf="$dir/etc/refused.conf" 2>"$dir/refused" || code=$?
    is "$1: exit code 3" "$code" 3
    is "$1: one line" "$(wc -l <"$dir/refused")" 1
    like "$1: it is named" "$(<"$dir/refused")" "$3"
}
refused 'a StateDir that cannot be created' /proc/dnnest '/proc/dnnest: cannot be created'
mkdir "$dir/shared"
chmod 777 "$dir/shared"
refused 'a StateDir that all may write' "$dir/shared" 'shared: writable by group or others'

# --- memory -----------------------------------------------------------------------------------------

ok 'many rounds are made' cluster_until $((ROUNDS / 4 + 60)) \
    counted long rounds_total $((ROUNDS / 4))
first=$(rss_kb "$long")
ok 'many more rounds are made' cluster_until $((ROUNDS + 60)) counted long rounds_total $ROUNDS
last=$(rss_kb "$long")
diag "resident: $first kB after $((ROUNDS / 4)) rounds, $last kB after $ROUNDS"
ok "the memory of dnnestd grows by less than $GROWTH_KB kB" test $((last - first)) -lt $GROWTH_KB
ok 'the long-running one ends within two seconds' ends_soon "$long"
done_testing
