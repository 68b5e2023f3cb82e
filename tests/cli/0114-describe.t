#!/bin/bash
# 0114-describe.t - 'dnnest describe' of a job, of a script and of a program
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The programs write what the hook would write (python/dnnest.py). sacct is a stand-in.

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

export TMPDIR=$work/tmp
unset SLURM_JOB_ID
mkdir "$TMPDIR" "$work/bin" "$work/progress"
export PATH=$work/bin:$PATH
printf 'StateDir=%s\nProgressDir=%s\n' "$work/nowhere" "$work/progress" >>"$work/site.conf"
hook=(--hook "$top/cli/probe/hook")

# capture [MEMBER]: of a training that ran, with this sidecar
capture() {
    printf '{"dnnest_capture":1,"time":1795768909,"started":1795768900,
"software":{"framework":"pytorch","version":"2.4.0","cuda":"12.1","python":"3.11.2","arch":["sm_70","sm_80"]},
"devices":{"seen":4,"used":1,"name":"NVIDIA A100-SXM4-40GB"},%s
"run":{"world":1,"parallel":"single","trainings":1,"step":40,"steps":5000,"workers":4,"loader_share":0.02},
"measured":{"start_s":12.3,"step_ms":210.5,"step_p95_ms":230.1,"steps":30}}' "$1"
}
known='"sidecar":{"dnnest":1,"spec":{"model":"resnet50","batch":32,"precision":"bf16","optimizer":"adamw"}},'
own='"sidecar":{"dnnest":1,"spec":{"batch":8},"graph":{"ops":[{"op":"linear","in":[[1,100]],"out":[[1,50]],"params":5050}]}},'

cat >"$work/train.sh" <<'PROGRAM'
#!/bin/bash
echo 'its output'
cp "$1" "$DNNEST_PROGRESS_DIR/$SLURM_JOB_ID.new"
mv "$DNNEST_PROGRESS_DIR/$SLURM_JOB_ID.new" "$DNNEST_PROGRESS_DIR/$SLURM_JOB_ID.capture"
exec sleep 600
PROGRAM
chmod +x "$work/train.sh"
capture "$known" >"$work/known.json"

# --- a program ----------------------------------------------------------------------------

gives 'a program is ended when it has described itself' 0 \
    $'^# pytorch 2.4.0, on NVIDIA A100-SXM4-40GB, uses 1 of 4 GPUs\n# a step takes 210.5 ms, 95 % at most 230.1, the start-up 12 s, 2 % of the time it waits for data\n#DNNEST model=resnet50,batch=32,.*steps=5000' \
    describe "${hook[@]}" -- "$work/train.sh" "$work/known.json"
like 'the output of a program that is described goes to stderr' "$err" 'its output'
is 'nothing is left in the temporary directory' "$(ls "$TMPDIR")" ''
line=$(grep '^#DNNEST' <<<"$out")
printf '#!/bin/sh\n%s\npython train.py\n' "$line" >"$work/pasted.sh"
json 'the line can be pasted' 'd["spec"]["model"] == "resnet50" and d["spec"]["steps"] == 5000' \
    check "$work/pasted.sh"
json 'JSON has it' 'd["gpus_used"] == 1 and d["step_ms"] == 210.5 and d["job"] is None
    and d["kernels"] == "sm_70,sm_80"' \
    describe "${hook[@]}" -- "$work/train.sh" "$work/known.json"
documented 'dnnest(1) names every member of the JSON' describe "${hook[@]}" -- \
    "$work/train.sh" "$work/known.json"
try describe "${hook[@]}" -o "$work/out.json" -- "$work/train.sh" "$work/known.json"
json 'the file of -o is a sidecar' 'd["spec"]["batch"] == 32 and d["spec"]["steps"] == 5000' \
    check "$work/out.json"
try describe "${hook[@]}" -- sh -c 'exit 3'
is 'a program that fails has its own exit code' "$code" 3
refuses 'a program that describes nothing' 1 'capture' describe "${hook[@]}" -- true
refuses 'a program that is none' 2 'cannot be run' describe "${hook[@]}" -- "$work/none"
refuses 'no command' 2 'COMMAND is missing' describe --
head -c 300 "$work/known.json" >"$work/cut.json"
try describe "${hook[@]}" -- "$work/train.sh" "$work/cut.json"
is 'what is cut is no description' "$code" 1

cat >"$work/steps.sh" <<'PROGRAM'
#!/bin/bash
cp "$1" "$DNNEST_PROGRESS_DIR/$SLURM_JOB_ID.capture"
for ((i = 1; i <= 1000; i++)); do echo "step $i"; sleep 0.05; done
PROGRAM
chmod +x "$work/steps.sh"
gives 'a probe without a description predicts by it' 0 'sbatch .*model=resnet50.*steps=5000' \
    probe --pattern='^step' --gpu=a100_sxm4_40gb --steps=3 --warmup=1 -- "$work/steps.sh" "$work/known.json"

# --- a job, a script ----------------------------------------------------------------------

# jobs LINE...: NUMBER|NAME|SUBMITTED|RECORD
jobs() {
    printf '%s\n' "$@" >"$work/jobs"
}
cat >"$work/bin/sacct" <<PROGRAM
#!/bin/bash
d=\${3#--delimiter=}
while IFS='|' read -r id name time record; do
    if [[ \$6 = -j && \$7 != "\$id" ]]; then continue; fi
    line="\$id|\$id|c|ann|$UID|lab|gpu|normal|\$name|\$time|\$time|\$time|\$time|00:00:00|9|COMPLETED|1|n1|cpu=1|00:00:00||"
    printf '%s%s%s0:0\n' "\${line//|/\$d}" "\$record" "\$d"
done <"$work/jobs"
PROGRAM
chmod +x "$work/bin/sacct"
cp "$work/known.json" "$work/progress/12.capture"
jobs '11|job.sh|1000|' '12|job.sh|2000|' '13|other|3000|' \
    '14|named|4000|{"dnnest":1,"spec":"model=bert_base,batch=2"}'
printf '#!/bin/bash\n#SBATCH --job-name=named\npython train.py\n' >"$work/named.sh"
gives 'a job' 0 $'^# job 12, job.sh\n# pytorch.*\n#DNNEST model=resnet50' describe 12
gives 'the newest job of a script' 0 '^# job 12, ' describe "$work/job.sh"
gives 'one that has only its own words' 0 $'^# job 14, named\n#DNNEST model=bert_base,batch=2$' \
    describe "$work/named.sh"
refuses 'a job that has described nothing' 1 '13.capture' describe 13
refuses 'a script that never ran' 1 'no job with the name never.sh' describe "$work/never.sh"
capture "$own" >"$work/progress/13.capture"
gives 'of a network without a name there is no line' 0 $'-o FILE writes.*\n#DNNEST auto$' describe 13
gives 'the file of -o is named for sbatch' 0 $'\n#SBATCH --dnnest=.*/own.json$' describe 13 -o "$work/own.json"
json 'the file of -o has the network' 'd["spec"]["batch"] == 8' check "$work/own.json"

# What dnnestd has kept of a job whose file is gone.
mkdir "$work/nowhere"
{
    echo 'cluster,raw_id,submit_s,start_s,end_s,job,user,state,step_ms,captured'
    printf 'c,11,1000,1000,1000,11,5,COMPLETED,77,"%s"\n' "$(tr -d '\n' <"$work/known.json" | sed 's/"/""/g')"
} >"$work/kept.csv"
dn jobs "$work/kept.csv" --db="$work/nowhere/records.db" >/dev/null
gives 'a job whose file is gone is known by the store' 0 $'# a step takes 77.0 ms.*\n#DNNEST model=resnet50' describe 11
rm -r "$work/nowhere"

printf '{' >"$work/progress/13.capture"
refuses 'a hostile file' 1 '13.capture' describe 13
ln -sf "$work/known.json" "$work/progress/13.capture"
refuses 'a link' 1 '13.capture' describe 13
done_testing
