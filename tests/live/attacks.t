#!/bin/bash
# attacks.t - attacks of doc/design.md, tried by a user on a real Slurm
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# With sbatch, and with the user's own client (forge.c), which sends requests that sbatch
# would not: a user's program may send anything to slurmctld.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin attacks job_submit_dnnest spank_dnnest
if [[ ! -x $build/tests/live/forge ]]; then
    skip_all "tests/live/forge is not built: 'make check' builds it"
fi

readonly KEYS=$LIVE_KEYS
readonly ESCAPE=$'\e]0;gone\a\e[31m\nslurmctld: error: forged "},\\ \x9b31m\xc3'

# --- helpers -------------------------------------------------------------------------

write_conf() {
    live_conf "$LIVE_MOVES" "$@"
}

# Sets 'job', 'said' and 'status'.
forge() {
    status=0
    job=$(cluster_as_user timeout 180 "$dir/forge" "$@" 2>"$dir/said") || status=$?
    said=$(<"$dir/said")
}
submit() {
    live_sbatch -H --gres=gpu:a100:4 -c 80 -t 1-0 "$@"
}

# Characters that are not printable ASCII.
unprintable() {
    LC_ALL=C tr -d ' -~\n' <<<"$1" | od -An -tx1
}

changes() {
    forge comment="dnnest:$KEYS"
    [[ $(request_of "$job") != "$plain" ]]
}

# left TITLE REGEX: the job that 'forge' made is as requested, and the user gets a message.
left() {
    is "$1: the job is not changed" "$status $(request_of "$job")" "0 $plain"
    like "$1: the owner gets one line" "$said" \
        "^dnnest: $2; job submitted as written\$"
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
echo 'optional spank_dnnest.so' >"$dir/etc/plugstack.conf"
chmod 755 "$dir"
install -m 755 "$build/tests/live/forge" "$dir/forge"
write_conf Mode=enforce

live_start --plugin-dir "$plugin_dir" --no-accounting
live_see for-all

printf '#!/bin/sh\ntrue\n' >"$dir/home/job.sh"

# --- a client that sends anything ----------------------------------------------------

forge
plain=$(request_of "$job")
is 'a client of the user submits a job like sbatch' "$status $said" '0 '
forge comment="dnnest:$KEYS"
like 'a client of the user is advised like sbatch' \
    "$said" '^dnnest: time 1-00:00:00 -> .*gpu a100:4 -> v100:4'
moved=$(request_of "$job")
forge DNNEST_OPTION="$KEYS"
is 'a forged option says no more than a comment can' "$(request_of "$job")" "$moved"
forge DNNEST_OPTION=off comment="dnnest:$KEYS"
is 'a forged option can opt out, as --dnnest=off can' "$(request_of "$job")" "$plain"
forge DNNEST_OPTION=/etc/shadow
left 'a forged option that names a file' "--dnnest: column 1: '/etc/shadow': the file was not read, .*"
forge entries=100000 DNNEST_OPTION="$KEYS"
is 'a hundred thousand forged entries are not searched' "$status $(request_of "$job")" "0 $plain"
forge variables=100000 comment="dnnest:$KEYS"
left 'a job of a hundred thousand variables' \
    'environment: 1000[0-9][0-9] variables, expected at most 8192'
forge uid=0 comment="dnnest:$KEYS"
is 'a user cannot submit as another user' "$status $said" '1 forge: refused: Invalid user id'
forge admin_comment='{"dnnest":1,"verdict":"change"}' comment="dnnest:$KEYS"
is 'only an admin can write a record' "$status $said" \
    '1 forge: refused: Access/permission denied'

# --- large inputs --------------------------------------------------------------------

printf '{"dnnest":1,"graph":%s' "$(printf '[%.0s' {1..16000})" >"$dir/home/deep.json"
head -c 1000000 /dev/zero | tr '\0' '[' >"$dir/home/large.json"
forge DNNEST_SIDECAR=@deep.json
left 'a forged sidecar of 16000 brackets' 'sidecar: .*'
forge DNNEST_SIDECAR=@large.json
left 'a forged sidecar of 1 MB' 'sidecar: more than 16384 bytes were passed'
for file in deep large; do
    submit --dnnest=$file.json job.sh
    is "sbatch does not send $file.json" "$status $(request_of "$job")" "0 $plain"
done

# Slurm accepts scripts of 4 MiB: half a million lines.
readonly SCRIPT_SIZE=4000000
head -c $SCRIPT_SIZE <(printf '#!/bin/sh\n'; yes '#DNNEST a=1') >"$dir/home/wrong.sh"
head -c $SCRIPT_SIZE <(printf '#!/bin/sh\n#DNNEST %s\n' "$KEYS"; yes '#DNNEST') >"$dir/home/bare.sh"
head -c $SCRIPT_SIZE <(printf '#!/bin/sh\n#DNNEST %s\n' "$KEYS"; yes '#') >"$dir/home/comments.sh"
forge script=@wrong.sh
left 'a script of wrong #DNNEST lines' 'script line 2: column 9: unknown key .*'
for script in bare comments; do
    forge script=@$script.sh
    is "a script of $script lines is read no further than its head" \
        "$status $(request_of "$job")" "0 $plain"
done
for model in gpt2 t5_large switch_xl4 rnn mlp transformer_xl_large; do
    forge comment="dnnest:model=$model,layers=4096,batch=1,steps=10,precision=fp16"
    like "a network of 4096 layers is answered: $model" "$status $said" '^0 (dnnest: |$)'
done
padding=$(head -c 100000 /dev/zero | tr '\0' x)
for comment in "$padding dnnest:$KEYS" "dnnest:$KEYS,app=$padding"; do
    forge comment="$comment"
    is "a comment of 100 KB, ${comment:0:7}..., is Slurm's to refuse" \
        "$status $(tail -1 <<<"$said")" \
        '1 forge: refused: Pathname of a file, directory or other parameter too long'
    ok "a comment of 100 KB, ${comment:0:7}..., is not echoed" test ${#said} -lt 400
done

# --- terminals and logs --------------------------------------------------------------

# injected TITLE ARGUMENT...: dnnest writes one printable line in the log, and printable
# text to the user. Lines of Slurm are not checked: it echoes some fields unchanged.
injected() {
    local title=$1
    shift
    mark
    "$@"
    is "$title: the log gets one line" "$(logged | wc -l)" 1
    is "$title: the line of the log is printable text" "$(unprintable "$(logged)")" ''
    is "$title: the user gets printable text" \
        "$(unprintable "$(grep -a dnnest "$dir/said" || true)")" ''
    if [[ $job != '' ]]; then
        # scontrol may begin a new line in the next field: that is Slurm's output.
        record=$(cluster_job_field "$job" AdminComment | head -1) || record=
        ok "$title: the record is JSON, if there is one" python3 -c \
            'import json,sys; sys.argv[1] in ("", "(null)") or json.loads(sys.argv[1])' "$record"
    fi
}
for field in account exc_nodes features licenses mem_per_tres name partition prefer qos \
    req_nodes reservation work_dir; do
    injected "escapes in $field" forge "$field=$ESCAPE" comment="dnnest:$KEYS"
done
for field in gres tres_per_task; do
    injected "escapes in $field" forge "$field=gres:gpu:a100$ESCAPE:4" comment="dnnest:$KEYS"
done
injected 'escapes in a value of the comment' forge comment="dnnest:model=$ESCAPE"
injected 'escapes in a key of the comment' forge comment="dnnest:${ESCAPE//[$' \n']/}=1"
injected 'escapes in the comment around it' forge comment="$ESCAPE dnnest:$KEYS $ESCAPE"
injected 'escapes in a forged option' forge DNNEST_OPTION="$ESCAPE"
injected 'escapes in a forged sidecar' forge DNNEST_SIDECAR="$ESCAPE"
injected 'escapes in a key of a sidecar' \
    forge DNNEST_SIDECAR='{"dnnest":1,"spec":{"\u001b[31m\n":1}}'
injected 'escapes in a value of a sidecar' \
    forge DNNEST_SIDECAR='{"dnnest":1,"spec":{"model":"\u001b[31m\n"}}'
injected 'escapes in a name of a graph' forge \
    DNNEST_SIDECAR='{"dnnest":1,"graph":{"name":"\u001b[31m","ops":[{"op":"\u001b[31m"}]}}'
injected 'escapes in a line of the script' forge script=$'#!/bin/sh\n#DNNEST '"${ESCAPE//$'\n'/}"
submit --dnnest="$ESCAPE" job.sh
like 'sbatch reports escapes in --dnnest=' "$said" '^sbatch: error: dnnest: --dnnest: '
is 'sbatch reports escapes in --dnnest= in printable text' "$(unprintable "$said")" ''
is 'sbatch reports escapes in --dnnest= in one line' "$(wc -l <"$dir/said")" 1

# --- gaming --------------------------------------------------------------------------

# A lie can lower the request, as its owner can with -t, -c and --gres=. No lie raises
# anything but a limit, by as much as the job is slower on the type that it moves to.
for lie in steps=1 steps=100000000 batch=1 batch=65536 deadline=30-0 objective=time; do
    # shellcheck disable=SC2001
    keys=$(sed "s/${lie%%=*}=[^,]*,//" <<<"$KEYS"),$lie
    forge comment="dnnest:$keys"
    cap=$(cluster_job_field "$job" AdminComment | grep -oE '"cap_s":[0-9]+' || echo :86400)
    raised=$(awk -v cap="$((${cap#*:} / 60))" '
        function minutes(t,  d, p) { d = 0
            if (split(t, p, "-") == 2) { d = p[1]; t = p[2] }
            split(t, p, ":"); return d * 1440 + p[1] * 60 + p[2] + p[3] / 60 }
        /^TimeLimit=/ { if (minutes(substr($0, 11)) > cap) print }
        /^(NumCPUs|CPUs\/Task|MinCPUsNode)=/ { split($0, p, "="); if (p[2] > 80) print }
        /^TresPerNode=/ { if ($0 !~ /:4$/) print }' <<<"$(request_of "$job")")
    is "the lie $lie raises nothing" "$status $raised" '0 '
done

# --- directories that others can write ---------------------------------------------------

# Any user could put another of root's files in the place of the site's.
mkdir -m 1777 "$dir/open"
cp -R "$dir/etc/bundle" "$dir/etc/hardware" "$dir/open/"
mkdir -m 777 "$dir/open/way"
cp -R "$dir/etc/bundle" "$dir/open/way/"
for what in "Bundle=$dir/open/bundle" "Bundle=$dir/open/way/bundle" \
    "DataDir=$dir/open"; do
    write_conf Mode=enforce "$what"
    live_restart
    like "a directory that others can write is not trusted on the path of ${what#*=$dir/}" \
        "$(logged)" "directory $dir/open(/way)?: writable by others \\(mode [01]777\\)"
done
forge comment="dnnest:$KEYS"
is 'with a catalogue on such a path no job is changed' "$status $(request_of "$job")" "0 $plain"
write_conf Mode=enforce
chmod o+w "$dir/etc"
live_restart
like 'a directory that others can write is not trusted on the path of dnnest.conf' \
    "$(logged)" "directory $dir/etc: writable by others .*jobs are not changed"
chmod o-w "$dir/etc"
ok 'a repaired directory is found without a reconfiguration' cluster_until 180 changes

ok 'slurmctld runs' scontrol ping
live_end
