#!/bin/bash
# 0030-advise.t - the dry run: scripts, options, modes and verdicts
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

cat > "$work/job.sh" <<JOB
#!/bin/bash
#SBATCH --job-name="my job" -p gpu   # a comment
#SBATCH -c 16 --ntasks=4 -N1

  # an indented comment does not end the head
#SBATCH --gpus=a100:4 --time 1-0
#DNNEST $short
srun python train.py
#SBATCH --time=5
#DNNEST batch=9999999
JOB
job=$work/job.sh

# The same without the line that is too late, which has a warning.
quiet=$work/quiet.sh
grep -v 9999999 "$job" > "$quiet"

gives 'the line that the user would see comes first' 0 \
    '^dnnest: time 1-00:00:00 -> 00:30:00, gpu a100:4 -> twin:4 \(1\.0x the time, 0\.3x the cost\), -c 16 -> 2 \(' advise "${moving[@]}" "$job"
gives 'the verdict and the mode are shown' 0 'verdict: change \(mode enforce\)' advise "${moving[@]}" "$job"
gives 'the request is shown before and after' 0 \
    'time +1-00:00:00 +00:30:00.*gpu +a100 +twin.*cpus per task +16 +2' advise "${moving[@]}" "$job"
gives 'a constraint that is added has no previous value' 0 'constraint +- +a100' \
    advise --snapshot="$work/idle" "$job"
gives 'the edits of fields are shown before and after' 0 \
    'time_limit +1440 +30.*tres_per_job +gres.gpu:a100:4 +gres.gpu:4' advise "${moving[@]}" "$job"
gives 'the reasons are shown' 0 'Reasons:.*time: the bound is 00:30:00' advise "${moving[@]}" "$job"
gives 'the candidates are shown' 0 'GPU +FITS .*twin +yes .*' advise "${moving[@]}" "$job"
is 'the script may come from stdin' "$(dn advise "${moving[@]}" - < "$job")" "$(dn advise "${moving[@]}" "$job")"
is 'arguments after the script belong to the script' \
    "$(dn advise "${moving[@]}" "$job" --time=7 -x --json)" "$(dn advise "${moving[@]}" "$job")"

json 'the members of the contract are there' \
    'list(d) == ["metadata", "spec", "decision", "message", "warnings", "edits", "reasons", "record",
     "candidates", "assumed", "app", "history", "enforced", "control_group"]' advise "${moving[@]}" "$job"
json 'the decision states what changes' \
    'd["decision"] == {"verdict": "change", "mode": "enforce", "time_limit_s": 1800,
     "time_min_s": None, "time_quantile": 0.99, "time_extended": False, "gpu": "twin", "open": ["a100", "twin"], "partition": None, "features": "twin",
     "cpus_per_task": 2, "cpus_each_gpu": None, "gpus": None, "mem_mb": None, "note": None,
     "chosen": "twin"}' \
    advise "${moving[@]}" "$job"
json 'GPUs that the description does not use are given back' \
    'd["decision"]["gpus"] == 1 and d["decision"]["mem_mb"] == 25 * 1024
     and {"field": "tres_per_node", "old": "gres:gpu:a100:4", "new": "gres:gpu:a100:1"} in d["edits"]
     and d["record"]["req"]["gpus"] == 4 and d["record"]["set"]["gpus"] == 1' \
    advise --set Gpus=choose --set GpuType=keep --gres=gpu:a100:4 -c 16 --mem=100G -N 1 \
    --comment="dnnest:$short,gpus=1" --wrap='python train.py'
json 'an edit has field, old and new' \
    '{"field": "time_limit", "old": 1440, "new": 30} in d["edits"]' advise "${moving[@]}" "$job"
json 'reasons are sentences' \
    'len(d["reasons"]) >= 3 and all(isinstance(r, str) for r in d["reasons"])' advise "${moving[@]}" "$job"
json 'the record keeps the original request' \
    'd["record"]["dnnest"] == 1 and d["record"]["req"]["time_s"] == 86400
     and d["record"]["req"]["gpu"] == "a100" and d["record"]["req"]["cpus_per_task"] == 16' \
    advise "${moving[@]}" "$job"
json 'the record is that of the admin comment' \
    '[json.loads(e["new"]) for e in d["edits"] if e["field"] == "admin_comment"]
     == [d["record"]]' advise "${moving[@]}" "$job"
json 'candidates are objects of predict with the figures of the site' \
    '[c["type"] for c in d["candidates"]] == ["a100", "twin"]
     and [c["requested"] for c in d["candidates"]] == [True, False]
     and all(c["gpu"] == "a100_sxm4_40gb" and c["blocked"] is None
             and c["step_ms"]["p50"] > 0 for c in d["candidates"])' advise "${moving[@]}" "$job"
json 'the number of GPUs comes from the request' 'd["spec"]["gpus"] == 4' advise "$job"

json 'the command line overrides the script' \
    '{"field": "time_limit", "old": 7200, "new": 30} in d["edits"]' advise -t 5-0 "$job"
json '--mem of the command line overrides --mem-per-cpu of the script' \
    'd["decision"]["cpus_per_task"] == 2
     and not any(e["field"] == "mem_per_node" for e in d["edits"])' \
    advise --mem=8G - \
    < <(sed 's/-N1/-N1 --mem-per-cpu=1G/' "$job")
json '--set=Mode=advise proposes without edits' \
    'd["decision"]["mode"] == "advise" and d["decision"]["verdict"] == "change"
     and [e["field"] for e in d["edits"]] == ["admin_comment"]
     and "would suffice" in d["message"]' advise --set=Mode=advise "$job"
dn advise --json "$job" >"$work/enforced.json"
json 'the decision of enforce is there in mode advise, too, and the same' \
    "d['enforced'] == json.load(open('$work/enforced.json'))['decision'] and d['enforced']['mode'] == 'enforce'" \
    advise --set=Mode=advise "$job"
gives 'the text ends with it' 0 $'with Mode=enforce: change\ndnnest: .*\ntime_limit ' advise --set=Mode=observe "$job"
gives 'jobs that may be drawn are said' 0 'of such jobs 30 % are left as they are' \
    advise --set=ControlGroup=30 "$job"
json 'a job of a control group by applications is left' 'd["decision"]["verdict"] == "control"
    and [e["field"] for e in d["edits"]] == ["admin_comment"] and d["message"] is None' \
    advise --set=ControlGroup=99.9 --set=ControlBy=app "$job"
json '--set=Mode=observe gives the user no message' 'd["message"] is None' \
    advise --set=mode=observe "$job"
json '--set may be repeated' \
    'd["decision"]["time_limit_s"] is None and d["decision"]["gpu"] is None' \
    advise --set=TimeLimit=keep --set=GpuType=keep "$job"
json '--set=Record=none leaves the record out' 'd["record"] is None' \
    advise --set=Record=none "$job"
json 'the comment overrides #DNNEST lines' 'd["spec"]["batch"] == 16' \
    advise --comment=dnnest:batch=16 "$job"
json 'the comment alone is enough' 'd["decision"]["verdict"] == "change"' \
    advise --comment="mine; dnnest:$short" -G a100:1 -t 1-0 --wrap=true

abstains() {
    local title=$1 regex=$2
    shift 2
    gives "$title" 1 "$regex" advise "$@"
}
abstains 'without metadata the exit code is 1' 'no metadata' -G a100:1 -t 60
abstains 'a job that opts out is unchanged' 'opts out' --comment=dnnest:off "$job"
abstains 'a job with an unmapped GPU type is unchanged' "type 'h100' has no Gpu line" -G h100:4 "$job"
abstains 'a job without GPUs is unchanged' 'no GPU was requested' \
    --comment="dnnest:$short" -c 4 -t 60
abstains 'a network that does not fit is reported' 'GPU memory' \
    --comment=dnnest:model=gpt2_xl,batch=512,seq_len=1024,steps=10 -G a100:1 -t 60
abstains 'a prediction without confidence is reported' 'confidence .* below MinConfidence' \
    --set=MinConfidence=1 "$job"
json 'without a decision its members are null in JSON' \
    'd["metadata"] == "none" and d["spec"] is None and d["record"] is None
     and d["edits"] == [] and d["candidates"] == []
     and d["decision"]["verdict"] == "none"' advise -t 60
json 'JSON states that a job opts out' 'd["metadata"] == "off"' advise --comment=dnnest:off

keeps() {
    local title=$1 reason=$2
    shift 2
    json "$title" "d['decision']['gpu'] is None and any('$reason' in r for r in d['reasons'])" \
        advise "${moving[@]}" "$@" "$job"
}
keeps 'named nodes keep the GPU type' 'nodes were named' -w n1
keeps 'a node file keeps the GPU type' 'nodes were named' -F nodes.txt
keeps 'a reservation keeps the GPU type' 'reservation' --reservation=r
keeps 'a constraint keeps the GPU type' 'constraint' -C 'a100|v100'
keeps 'a list of excluded nodes that is not counted keeps the GPU type' 'excluded' -x nodes/bad
keeps 'a clock of the GPUs keeps the GPU type' '--gpu-freq' --gpu-freq=low
keeps 'temporary disk keeps the GPU type where that of a node is unknown' 'unknown how many MB of temporary disk' --tmp=1G
keeps 'whole cores keep the GPU type where threads per core are unknown' \
    'unknown how many threads per core' --hint=nomultithread
json 'a clock of the GPUs keeps the time' \
    "d['decision']['time_limit_s'] is None and any('time: kept, a clock' in r for r in d['reasons'])" \
    advise --gpu-freq=low "$job"
keeps 'an untyped request keeps the GPU type' 'untyped' -G 4

keeps_cpus() {
    local title=$1
    shift
    json "$title" "d['decision']['cpus_per_task'] is None" advise "$@" "$job"
}
keeps_cpus 'whole nodes keep CPUs' --exclusive
keeps_cpus 'whole nodes of one user keep CPUs' --exclusive=user
keeps_cpus 'overcommitted CPUs are kept' -O
keeps_cpus 'CPUs that follow GPUs are kept' --cpus-per-gpu=8
keeps_cpus 'core specialisation keeps CPUs' -S 2
keeps_cpus 'two threads per core keep CPUs' --threads-per-core=2
keeps_cpus 'one core per socket keeps CPUs' --hint=memory_bound
json 'a component of a heterogeneous job is not predicted' \
    'd["decision"]["verdict"] == "abstain" and d["candidates"] == []
     and d["reasons"] == ["component of a heterogeneous job"]' \
    advise - < <(sed 's/^#DNNEST/#SBATCH hetjob\n#SBATCH -c 1\n#DNNEST/' "$job")
json 'an unlimited time is kept' 'd["decision"]["time_limit_s"] is None' \
    advise -t UNLIMITED "$job"
json 'no time limit is not set' 'd["decision"]["time_limit_s"] is None' \
    advise --comment="dnnest:$short" -G a100:1

try advise --set=DecisionTime=0.0001 "$job"
is 'a decision that takes too long for slurmctld is still made' "$code" 0
like 'a decision that takes too long for slurmctld has a warning' "$err" \
    '^dnnest: the decision takes .* ms here; slurmctld would give it up after 0.0001 ms'
try advise --set=DecisionTime=0 "$quiet"
is 'DecisionTime=0 has no warning' "$code:$err" '0:'
refuses 'a DecisionTime out of range is refused' 3 \
    '^dnnest: .*DecisionTime: 1001 out of range' \
    advise --set=DecisionTime=1001 "$job"

refuses 'an option that sbatch does not have is an error' 2 \
    "unknown option '--made-up=3' " advise --made-up=3 "$job"
refuses 'a letter that sbatch does not have is an error' 2 "unknown option '-K' " \
    advise -K "$job"
try advise <(sed '2i#SBATCH --made-up=3 -K' "$job")
is 'an unknown option of a script is ignored' "$code" 0
like 'an unknown long option of a script has a warning' \
    "$err" "^dnnest: warning: #SBATCH: option '--made-up=3' is unknown and ignored"
like 'an unknown short option of a script has a warning' "$err" \
    "warning: #SBATCH: option '-K' is unknown"
refuses 'a mistyped option of dnnest is an error' 2 \
    "unknown option '--josn', did you mean --json\?" advise --josn "$job"
refuses 'a mistyped option of sbatch is an error' 2 \
    "unknown option '--gers=gpu:1', did you mean --gres\?" advise --gers=gpu:1 "$job"
try advise --array=1-9 --hold -J name -o out -d afterok:1 --mail-type=END -H --nice -Q \
    --parsable --time-min=1 -A acct -q qos --export ALL "$quiet"
is 'options without effect are accepted without a message, with their arguments' "$code:$err" '0:'
# Metadata that are not read, or not used.
try advise --comment="'dnnest:$short'" -G a100:4 --time=1-0
is 'a comment with inner quotes is no metadata, and the user is told' "$code ${out%%$'\n'*}" \
    "1 dnnest: warning: metadata ignored: the comment has a quote before 'dnnest:'; write \
--comment=dnnest:... without inner quotes"
refuses 'an error because of a blank after a comma names the blank' 2 \
    "batch: missing, expected batch=N per GPU; metadata ignored: 'batch=8' in the comment is after a" \
    advise --comment='dnnest:model=resnet50, batch=8, precision=fp16' -G a100:4 -N1 --time=1-0
json 'a key after a blank is named' '"after a blank" in d["warnings"][0]["text"]' \
    advise --comment="dnnest:$short, epochs=3" -G a100:4 -N1 --time=1-0
json 'the job of a key that the network does not read is not changed, and its user is told' \
    'd["decision"]["verdict"] == "abstain" and d["decision"]["time_limit_s"] is None
     and d["message"] == "dnnest: job unchanged (key experts= is not read by mistral_7b: the "
         "prediction would be of another network)"' \
    advise --comment=dnnest:model=mistral_7b,batch=1,experts=8,steps=10 -G a100:4 -N1 --time=1-0
json 'a key that the prediction does not use makes it less sure' \
    '"confidence: lower, the prediction does not use eval_every=" in d["reasons"]' \
    advise --comment="dnnest:$short,eval_every=9" -G a100:4 -N1 --time=1-0
done_testing
