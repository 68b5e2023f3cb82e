#!/bin/bash
# traces.t - the plugin's records, log and counters, and a changed dnnest.conf
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Records in slurmdbd on MariaDB, the decision log, the counters, and limits set by hand.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin traces job_submit_dnnest
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi

readonly JOB=dnnest:$LIVE_KEYS
readonly A100=(--gres=gpu:a100:4 -c 80 -t 1-0)
decisions=$dir/trace/decisions.jsonl
# The time to write a line or to find a change on a slow machine; usually a few seconds.
readonly FIND_S=60

# --- helpers -------------------------------------------------------------------------

write_conf() {
    live_conf "$LIVE_MOVES" "DecisionLog=$decisions" "Counters=$dir/trace/dnnest.prom" "$@"
}

has_logged() {
    logged | grep -q -- "$1"
}

# The lines of a decision log as Python sees them: lines PATH EXPRESSION-ON-d
lines() {
    python3 - "$@" <<'PYTHON'
import json
import sys

with open(sys.argv[1], "rb") as file:
    text = file.read()
assert text.endswith(b"\n") and all(32 <= c < 127 or c == 10 for c in text), "not printable"
d = [json.loads(x) for x in text.splitlines()]
result = eval("(%s)" % sys.argv[2])
print(result)
sys.exit(not result)
PYTHON
}
# The same for the job's line, when it has been written.
logs_job() {
    cluster_until "$FIND_S" lines "$decisions" "$2" || true
    ok "$1" lines "$decisions" "$2"
}

# Checks a file in Prometheus' text format: exposition PATH EXPRESSION-ON-v
exposition() {
    python3 - "$@" <<'PYTHON'
import re
import sys

with open(sys.argv[1], encoding="ascii") as file:
    text = file.read()
assert text.endswith("\n")
v, types, helps, last, closed = {}, {}, set(), None, set()
for line in text.splitlines():
    head = re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)", line)
    if head:
        kind, name, rest = head.groups()
        if kind == "HELP":
            assert name not in helps and rest.endswith("."), line
            helps.add(name)
        else:
            assert name in helps and name not in types, line
            assert rest in ("counter", "gauge", "histogram"), line
            types[name] = rest
            if last:
                closed.add(last)
            last = name
        continue
    sample = re.fullmatch(r'([a-z_]+)((?:\{[a-z_]+="[^"\\]*"(?:,[a-z_]+="[^"\\]*")*\})?) ([0-9.]+)', line)
    assert sample, line
    name, labels, value = sample.groups()
    family = re.sub("_(bucket|sum|count)$", "", name) if types[last] == "histogram" else name
    assert family == last and family not in closed, line
    assert (types[last] == "counter") == name.endswith("_total"), line
    assert name + labels not in v, line
    v[name + labels] = float(value)
assert set(types) == helps
for name, kind in types.items():
    if kind == "histogram":
        buckets = [(k, x) for k, x in v.items() if k.startswith(name + "_bucket")]
        values = [x for _, x in buckets]
        assert values == sorted(values) and 'le="+Inf"' in buckets[-1][0]
        assert values[-1] == v[name + "_count"] and name + "_sum" in v
if not eval("(%s)" % sys.argv[2]):
    sys.exit(repr(v))
PYTHON
}
counts() {
    cluster_until "$FIND_S" exposition "$dir/trace/dnnest.prom" "$2" || true
    ok "$1" exposition "$dir/trace/dnnest.prom" "$2"
}

# --- the cluster ---------------------------------------------------------------------

mkdir -p "$dir/trace"
live_hardware
write_conf Mode=enforce

live_start --plugin-dir "$plugin_dir"
live_see for-all
cat >"$dir/home/job.sh" <<'END'
#!/bin/sh
sleep "${1-0}"
END

# --- the thread ----------------------------------------------------------------------

thread=
for pid in $(cluster_pids slurmctld); do
    thread+=$(grep -lsx dnnest /proc/"$pid"/task/*/comm || true)
done
ok 'the plugin has its own thread' test -n "$thread"
blocked=$(sed -n 's/^SigBlk:\t//p' "${thread%comm}status")
# All but SIGKILL, SIGSTOP and the two of libc.
is 'the thread of the plugin takes no signals of slurmctld' "$blocked" fffffffe7ffbfeff

# --- record and log ------------------------------------------------------------------

held "${A100[@]}" -J first --comment="$JOB"
record=$(cluster_job_field "$job" AdminComment)
like 'scontrol shows the record' "$record" \
    '^\{"dnnest":1,"version":"[0-9.]+","mode":"enforce","verdict":"change","req":\{"time_s":86400,'
ok 'the record is shorter than 1 KiB' test "${#record}" -lt 1024
logs_job 'the decision is in the log, with its old and new values and how long it took' \
    "[x for x in d if x['name'] == 'first' and x['uid'] == $(id -u "$CLUSTER_USER")
      and x['kind'] == 'batch' and x['verdict'] == 'change' and x['applied'] is True
      and 0 < x['us'] < 10000000 and len(x['reasons']) >= 3
      and x['record']['req']['gpu'] == 'a100' and x['record']['set']['gpu'] == 'v100'
      and x['record']['pred']['bound_s'] > x['record']['pred']['train_s'] > 0
      and 0 < x['record']['pred']['conf'] <= 100]"
is 'the log has the same record as the job' "$(lines "$decisions" \
    "json.dumps([x['record'] for x in d if x['name'] == 'first'][0], separators=(',', ':'))")" \
    "$record"
is 'the log is for its owner and group only' "$(stat -c '%a %U' "$decisions")" '640 root'

held "${A100[@]}" -p gpu -A research -J other --comment='dnnest:colour=red'
logs_job 'an error is in the log, with partition and account' \
    "[x for x in d if x['name'] == 'other' and x['verdict'] == 'error'
      and x['partition'] == 'gpu' and x['account'] == 'research'
      and 'colour' in x['error'] and not x['applied']]"
held --gres=gpu:1 -J third --comment="$JOB"
logs_job 'what was not rewritten is in the log' \
    "[x for x in d if x['name'] == 'third' and not x['applied']]"

if python3 -c 'import jsonschema' 2>/dev/null; then
    ok 'every line is as the schema says' python3 - "$top/etc" "$decisions" <<'PYTHON'
import json
import sys

import jsonschema


def load(name):
    with open("%s/%s.schema.json" % (sys.argv[1], name), encoding="utf-8") as file:
        return json.load(file)


schema = load("decision-log")
schema["properties"]["record"] = load("record")
check = jsonschema.Draft202012Validator(schema)
with open(sys.argv[2], encoding="ascii") as file:
    for line in file:
        check.validate(json.loads(line))
PYTHON
else
    skip 'every line is as the schema says' 'no jsonschema for Python'
fi

# --- accounting ----------------------------------------------------------------------

live_sbatch "${A100[@]}" --comment="$JOB" job.sh
ok 'a rewritten job completes' cluster_wait_job "$job" COMPLETED 180
record=$(cluster_job_field "$job" AdminComment)
in_sacct() {
    sacct -n -X -P -j "$job" -o AdminComment | grep -qxF "$record"
}
ok 'the record of a completed job is in slurmdbd, whole' cluster_until 180 in_sacct
limit=$(cluster_job_field "$job" TimeLimit)
has_limit() {
    [[ $(sacct -n -X -P -j "$job" -o Timelimit) = "$limit" ]]
}
ok 'slurmdbd has the limit that the job ran under' cluster_until 180 has_limit

# --- a changed dnnest.conf -----------------------------------------------------------

# The mode that the next job's record names.
mode_is() {
    held "${A100[@]}" --comment="$JOB"
    [[ $(cluster_job_field "$job" AdminComment) = *"\"mode\":\"$1\""* ]]
}
write_conf Mode=observe
ok 'a changed dnnest.conf is in force without a reconfiguration' cluster_until "$FIND_S" mode_is observe
mark
write_conf Mode=sideways
ok 'a broken dnnest.conf is named' \
    cluster_until "$FIND_S" has_logged 'sideways.*the configuration in use is kept'
ok 'a broken dnnest.conf leaves the old one in force' mode_is observe
write_conf Mode=enforce
ok 'a repaired dnnest.conf is in force' cluster_until "$FIND_S" mode_is enforce

# --- counters ------------------------------------------------------------------------

counts 'counters are written as Prometheus reads them' \
    "v['dnnest_changed_total{field=\"gpu_type\"}'] >= 2
     and v['dnnest_errors_total{kind=\"range\"}'] == 1
     and v['dnnest_submissions_total'] > v['dnnest_opted_out_total'] == 0
     and v['dnnest_submission_seconds_count'] >= v['dnnest_described_total']"
held --comment=dnnest:off
counts 'a job that opts out is counted' "v['dnnest_opted_out_total'] == 1"
is 'every user may read the file' "$(stat -c %a "$dir/trace/dnnest.prom")" 644
if command -v promtool >/dev/null; then
    is 'promtool reports nothing' "$(promtool check metrics 2>&1 <"$dir/trace/dnnest.prom")" ''
else
    skip 'promtool reports nothing' 'promtool is not installed'
fi

# --- limits set by hand --------------------------------------------------------------

held "${A100[@]}" --comment="$JOB" --requeue
mine=$job
like 'a job is rewritten' "$(cluster_job_field "$mine" TimeLimit)" '^[0-9:]+$'
ok 'the owner of a job sets another limit' \
    cluster_as_user scontrol update job="$mine" TimeLimit=777
is 'the limit of the owner is in force' "$(cluster_job_field "$mine" TimeLimit)" 12:57:00
before=$(cluster_job_field "$mine" AdminComment)
# slurmctld refuses it until slurmdbd knows the job.
cluster_until 180 cluster_as_user scontrol update job="$mine" Comment="$JOB"
is 'the limit of the owner is kept when the description is updated' \
    "$(cluster_job_field "$mine" TimeLimit)" 12:57:00
cluster_reconfigure
is 'the limit of the owner is kept after a reconfiguration' \
    "$(cluster_job_field "$mine" TimeLimit)" 12:57:00
cluster_restart_ctld
is 'the limit of the owner is kept after a restart' \
    "$(cluster_job_field "$mine" TimeLimit)" 12:57:00
# After a restart Slurm refuses updates until slurmdbd has given the job an index.
cluster_until 180 scontrol update job="$mine" TimeLimit=1-12:00:00
is 'an admin may set a limit above the request' \
    "$(cluster_job_field "$mine" TimeLimit)" 1-12:00:00

live_sbatch "${A100[@]}" --comment="$JOB" --requeue job.sh 600
ok 'a rewritten job runs' cluster_wait_job "$job" RUNNING 180
gpus=$(cluster_job_field "$job" TresPerNode)
scontrol update job="$job" TimeLimit=1-12:00:00
is 'an admin extends the limit of a running job' \
    "$(cluster_job_field "$job" TimeLimit)" 1-12:00:00
scontrol requeuehold "$job"
ok 'a running job is requeued' cluster_wait_job "$job" PENDING 180
is 'a requeued job keeps its limit' "$(cluster_job_field "$job" TimeLimit)" 1-12:00:00
is 'a requeued job keeps its GPUs' "$(cluster_job_field "$job" TresPerNode)" "$gpus"
is 'records are not written again' "$(cluster_job_field "$mine" AdminComment)" "$before"
counts 'updates are counted' "v['dnnest_modifications_total'] >= 1"

# --- the end -------------------------------------------------------------------------

held "${A100[@]}" -J last --comment="$JOB"
is 'slurmctld ends by itself' "$(_cluster_end slurmctld 2>&1)" ''
ok 'the last decision is in the log' lines "$decisions" "d[-1]['name'] == 'last'"
live_end
