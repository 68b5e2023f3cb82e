#!/bin/bash
# jobstats.t - the record of dnnest beside programs that write AdminComment when a job ends
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A stand-in writes as jobstats does: in EpilogSlurmctld, some seconds after the end, with
# sacctmgr, JS1: and the base64 of gzipped JSON; or through packaging/slurm/keep-record. A
# stand-in reads as jobstats and reportseff do: text that begins with JS1 must be decodable
# behind the colon. Accounting is a real slurmdbd on MariaDB.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin jobstats job_submit_dnnest
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi

readonly JOB=(--gres=gpu:a100:4 -c 80 -t 1-0 --comment="dnnest:$LIVE_KEYS")
keep=$top/packaging/slurm/keep-record

# --- stand-ins -------------------------------------------------------------------------

# The JSON of a summary; of 'size' 0, 1 or 2 the base64 has no, two or one sign of padding.
summary() {
    python3 - "$1" <<'PYTHON'
import base64, gzip, json, sys
for fill in range(100):
    data = {"nodes": {"a1": {"cpus": 8, "fill": "x" * fill}}, "total_time": 100, "gpus": 4}
    packed = gzip.compress(json.dumps(data).encode(), mtime=0)
    if len(packed) % 3 == int(sys.argv[1]):
        print("JS1:" + base64.b64encode(packed).decode())
        break
PYTHON
}
# What such a reader makes of an AdminComment: nothing, its data or an error.
read_as_jobstats() {
    python3 - "$1" <<'PYTHON'
import base64, gzip, json, sys
text = sys.argv[1]
if len(text) <= 10 or not text.startswith("JS"):
    print("nothing")
else:
    try:
        print(json.loads(gzip.decompress(base64.b64decode(text[4:])))["total_time"])
    except Exception as e:
        print("error", e)
PYTHON
}
# The epilog of slurmctld: waits as jobstats' does, then writes what the test has left.
write_epilog() {
    cat >"$dir/bin/epilog" <<END
#!/bin/bash
export SLURM_CONF=$dir/etc/slurm.conf PATH=$dir/bin:$PATH
sleep 5
text=\$(<$dir/run/text)
case \$(<$dir/run/how) in
    sacctmgr) sacctmgr -i update job where jobid=\$SLURM_JOB_ID set AdminComment="\$text" ;;
    keep) $keep "\$SLURM_JOB_ID" "\$text" ;;
esac >$dir/run/epilog.out 2>&1
echo "\$SLURM_JOB_ID" >>$dir/run/epilogs
END
    chmod 755 "$dir/bin/epilog"
}

# A sacctmgr that keeps capital letters, for one that does not. Like the real one, it writes
# accents for quotes.
write_sacctmgr() {
    cat >"$dir/bin/sacctmgr" <<END
#!/bin/bash
for word; do
    case \$word in
        jobid=*) id=\${word#*=} ;;
        AdminComment=*) text=\$(tr '"'"'" '\`\`' <<<"\${word#*=}") ;;
    esac
done
exec mariadb --no-defaults --user=root --socket=$dir/db/sock slurm \\
    -e "UPDATE private_job_table SET admin_comment='\$text' WHERE id_job=\$id"
END
    chmod 755 "$dir/bin/sacctmgr"
}

# --- helpers -----------------------------------------------------------------------------

in_sacct() {
    sacct -n -X -P -j "$1" -o AdminComment
}
# Run a job to its end, with the epilog writing TEXT by HOW. Sets 'job', 'record', 'stored'.
ends_with() {
    printf '%s' "$1" >"$dir/run/how"
    printf '%s' "$2" >"$dir/run/text"
    job=$(cluster_as_user sbatch --parsable -o /dev/null "${JOB[@]}" job.sh 2>/dev/null)
    record=$(cluster_job_field "$job" AdminComment)
    cluster_wait_job "$job" COMPLETED 180
    cluster_until 180 grep -qx "$job" "$dir/run/epilogs"
    stored=$(in_sacct "$job")
}
is_record() {
    python3 -c 'import json, sys; sys.exit(json.loads(sys.argv[1])["verdict"] != "change")' "$1"
}
logs() {
    grep -cF "$record" "$dir/trace/decisions.jsonl"
}

# --- the cluster ---------------------------------------------------------------------------

mkdir -p "$dir"/{bin,run,trace}
live_hardware
live_conf Mode=enforce "DecisionLog=$dir/trace/decisions.jsonl"
write_epilog
plugins=dnnest
if [[ -e $(_cluster_plugin_dir)/job_submit_lua.so ]]; then
    plugins=lua,dnnest
    cat >"$dir/etc/job_submit.lua" <<'END'
function slurm_job_submit(job, part_list, uid)
    if job.name == "lua" then job.admin_comment = "a rule of the site" end
    return slurm.SUCCESS
end
function slurm_job_modify(job, rec, part_list, uid)
    return slurm.SUCCESS
end
END
fi
live_start --plugin-dir "$plugin_dir" --conf "JobSubmitPlugins=$plugins" \
    --conf "EpilogSlurmctld=$dir/bin/epilog"
printf '#!/bin/sh\ntrue\n' >"$dir/home/job.sh"

# --- at the submission -----------------------------------------------------------------------

if [[ $plugins = lua,dnnest ]]; then
    job=$(cluster_as_user sbatch --parsable -H -J lua "${JOB[@]}" job.sh 2>/dev/null)
    like 'the text of a plugin before dnnest is kept, and the record follows it' \
        "$(cluster_job_field "$job" AdminComment)" '^a rule of the site \{"dnnest":1,.*\}$'
else
    skip 'the text of a plugin before dnnest is kept, and the record follows it' \
        'Slurm has no job_submit/lua'
fi

# --- who survives ------------------------------------------------------------------------------

ends_with sacctmgr "$(summary 0)"
is 'sacctmgr in an epilog replaces the record' "${stored,,}" "$(summary 0 | tr '[:upper:]' '[:lower:]')"
ok 'the record of a job whose AdminComment was replaced is in the decision log' \
    cluster_until 180 logs
is 'slurmctld still shows the record of a job whose AdminComment was replaced' \
    "$(cluster_job_field "$job" AdminComment)" "$record"

before=$stored
ends_with keep 'small letters'
like 'the text and the record are stored by the sacctmgr of this Slurm' \
    "$stored" '^small letters \{\[[^A-Za-z0-9]+\]\}$'
is 'the record that the sacctmgr of this Slurm has stored is found, byte by byte' \
    "$("$keep" --show "$job")" "$record"
if [[ $before != "$(summary 0)" ]]; then
    diag "sacctmgr of $(slurmctld -V) writes small letters, which jobstats cannot read"
    write_sacctmgr
    PATH=$dir/bin:$PATH
fi

for size in 0 1 2; do
    ends_with keep "$(summary $size)"
    like "with keep-record both are stored ($size)" "$stored" '^JS1:H4s[^ ]+ \{\[[^A-Za-z0-9]+\]\}$'
    is "with keep-record a reader of JS1: finds its data ($size)" \
        "$(read_as_jobstats "$stored")" 100
    is "with keep-record the record is found, byte by byte ($size)" \
        "$("$keep" --show "$job")" "$record"
done
ok 'the record that keep-record prints is JSON' is_record "$("$keep" --show "$job")"
is 'without keep-record text behind that of jobstats can be an error to its readers' \
    "$(read_as_jobstats "$(summary 0) $record" | cut -d ' ' -f 1)" error

ends_with keep JS1:Short
is 'a text of jobstats without data comes after the record' \
    "$(read_as_jobstats "$stored") ${stored##* }" 'nothing JS1:Short'
is 'the record before a text of jobstats without data is found' \
    "$("$keep" --show "$job")" "$record"
"$keep" "$job" "$(summary 1)" >/dev/null
stored=$(in_sacct "$job")
is 'a second text replaces the first, and the record stays' \
    "$(read_as_jobstats "$stored") $("$keep" --show "$job")" "100 $record"

ends_with keep 'text of another program'
is 'the text of any program is kept as it is' "${stored% '{['*}" 'text of another program'
is 'the record behind the text of any program is found' "$("$keep" --show "$job")" "$record"

job=$(cluster_as_user sbatch --parsable -o /dev/null -n 1 -t 5 job.sh)
cluster_wait_job "$job" COMPLETED 180
cluster_until 180 grep -qx "$job" "$dir/run/epilogs" || true
is 'a job without a record gets the text alone' "$(in_sacct "$job")" 'text of another program'
status=0
said=$("$keep" --show "$job" 2>&1) || status=$?
is 'keep-record says that a job has no record' \
    "$status $said" "1 keep-record: job $job has no record of dnnest"

done_testing
