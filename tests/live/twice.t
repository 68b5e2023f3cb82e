#!/bin/bash
# twice.t - what scripts do that say less than they do, submitted twice as dnnest:auto
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The forms of tests/data/scripts/corpus.txt: several trainings, programs side by side,
# servers, staging, stop times, counted CPUs. Each runs once, with stand-ins for its
# programs, as dnnest:auto and as dnnest:off. What the real programs would have used goes
# into the accounting, and what they say of themselves into captures; dnnestd learns it.
# The next submission may lose nothing that was used, and runs as that of dnnest:off does.
# Then the same after three runs. FORMS=REGEX: only these.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin twice job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all "$dnnestd is not built"; fi
CLUSTER_GPUS=16
CLUSTER_CPUS='SocketsPerBoard=2 CoresPerSocket=128 ThreadsPerCore=1'
kinds='workers|allotted|computed|pinned|folds|passes|beside|server|staging|stop|several|steps|calls|elsewhere|language'

# --- the programs ------------------------------------------------------------------------

# All commands of the forms that are not the shell's or Slurm's. What each run of one stands
# for is in $HOME/used/JOB: hours, cores, GiB; and that it ran, in $HOME/ran/JOB.
programs='python python3 torchrun deepspeed mpirun yolo nnUNetv2_train apptainer singularity
    docker numactl taskset hwloc-bind likwid-pin timeout uv poetry parallel orion wandb
    nnUNetv2_train_folds_parallel snakemake jupyter jupyter-notebook code code-server sleep ray
    vllm ollama streamlit uvicorn Rscript julia matlab java octave node spark-submit th perl
    ruby zsh tar rsync pip huggingface-cli make wget unzip conda git aws pigz unsquashfs gdown
    dvc sbcast rclone cp nvidia-smi nvidia-cuda-mps-control bc nproc'
files='train_app simulator run_experiment.sh train.sh run.sh job.sh prepare_data.sh
    train_net.bash jobs/run_bert.sh scripts/pretrain.sh'
stand_in() {
    cat <<'END'
#!/bin/sh
name=${0##*/} cores=3 hours=2 gib=18 trainings=1 workers=2
case $name in
    nproc) echo "$SLURM_CPUS_ON_NODE" && exit ;;
    bc) read -r sum && echo $((sum)) && exit ;;
esac
echo "$name $*" | sed 's/[0-9-]*:[0-9:]*$/TIME/' >>"$HOME/ran/$SLURM_JOB_ID"
case $SLURM_JOB_NAME in
    workers*) cores=9 workers=16 ;;
    folds* | passes*) hours=17 trainings=5 ;;
    stop*) hours=23 ;;
    server*) hours=20 cores=11 gib=40 ;;
    language* | calls*) cores=11 gib=40 ;;
esac
case "$name $1" in
    'make '* | 'pigz '*) cores=14 hours=1 ;;
    'tar '* | 'rsync '* | 'pip '* | 'huggingface-cli '* | 'wget '* | 'unzip '* | 'conda '* | \
        'git '* | 'uv sync' | 'aws '* | 'unsquashfs '* | 'gdown '* | 'dvc '* | 'sbcast '* | \
        'rclone '* | 'poetry install' | 'cp '* | 'apptainer build' | prepare_data.sh*)
        cores=1 hours=1 trainings=0 ;;
    'nvidia-'* | 'sleep '[0-9] | 'sleep 10') exit ;;
esac
echo "$hours $cores $gib" >>"$HOME/used/$SLURM_JOB_ID"
case $SLURM_JOB_NAME in server* | language*) exit ;; esac
if [ $trainings = 0 ] || [ -z "$DNNEST_PROGRESS_DIR" ] || [ "${SLURM_PROCID:-0}" != 0 ]; then exit; fi
now=$(date +%s)
cat >"$DNNEST_PROGRESS_DIR/.$$" <<JSON
{"dnnest_capture": 1, "time": $now, "started": $((now - hours * 3600)),
 "software": {"framework": "pytorch", "version": "2.4.0", "arch": ["sm_70", "sm_80"]},
 "devices": {"seen": 2, "used": 2, "name": "NVIDIA A100-SXM4-40GB"},
 "run": {"world": 2, "parallel": "ddp", "trainings": $trainings, "step": 36000, "steps": 36000,
  "workers": $workers, "loader_share": 0.001},
 "sidecar": {"dnnest": 1, "spec": {"framework": "pytorch", "model": "resnet50", "batch": 128,
  "precision": "fp16", "optimizer": "momentum", "gpus": 2}},
 "network": {"parameters": 25557032, "trainable": 25557032},
 "measured": {"start_s": 30, "steps": 4096, "step_ms": $((hours * 100 / trainings)),
  "step_p95_ms": $((hours * 110 / trainings)), "gpu_allocated": 9000000000,
  "gpu_reserved": 10000000000}}
JSON
mv "$DNNEST_PROGRESS_DIR/.$$" "$DNNEST_PROGRESS_DIR/$SLURM_JOB_ID.capture"
END
}

# The forms as scripts, and what they find.
make_home() {
    local name
    mkdir -p "$dir"/home/{bin,jobs,scripts,b,ran,used} "$dir/progress"
    chmod 1777 "$dir/progress"
    for name in $programs; do
        if [[ ! -e $dir/home/bin/python ]]; then stand_in | install -m 755 /dev/stdin "$dir/home/bin/python"; fi
        [[ -e $dir/home/bin/$name ]] || ln -s python "$dir/home/bin/$name"
    done
    for name in $files; do ln -s "$dir/home/bin/python" "$dir/home/$name"; done
    : >"$dir/home/bin/activate"
    touch "$dir"/home/{1,2}.yaml
    mkdir "$dir/home/cfgs" && touch "$dir/home/cfgs/a.yaml"
    printf '%s\n' 1.yaml 2.yaml >"$dir/home/list.txt"
    echo python train.py >"$dir/home/cmds.txt"
    echo '0 python train.py' >"$dir/home/jobs.conf"
    awk -v kinds="^($kinds)[0-9]+:$" -v dir="$dir/home" '
        /^### / { file = $2 ~ kinds ? dir "/" substr ($2, 1, length ($2) - 1) ".form" : ""
            if (file) print substr ($0, 5) >(dir "/forms")
            next }
        file { gsub (/\/home\/u\/bin/, "."); gsub (/~\//, "./"); print >file }
        ' "$top/tests/data/scripts/corpus.txt"
    chown -R "$CLUSTER_USER" "$dir/home"
}

# --- helpers -----------------------------------------------------------------------------

daemon() {
    "$dnnestd" "$1" --once --conf="$dir/etc/dnnest.conf" >>"$dir/log/dnnestd.log" 2>&1
}
# submit WHAT COMMENT [OPTION]...: all forms, their numbers into WHAT: FORM JOB
submit() {
    local what=$1 comment=$2
    shift 2
    # shellcheck disable=SC2016  # the user's shell expands
    cluster_as_user env PATH="$dir/home/bin:$PATH" bash -c 'out=$1 comment=$2 && shift 2
        for form in $(cut -d : -f 1 forms); do
            job=$(sbatch --parsable -J "$form" -o /dev/null -c 16 -t 1-0 --gres=gpu:a100:2 \
                --comment="$comment" "$@" "$form.form" 2>"said.$out.$form") &&
                echo "$form $job"
        done >"$out"' - "$what" "$comment" "$@"
}
# The accounting is late: its rows begin without a user.
accounted() {
    [[ $(_cluster_sql "SELECT COUNT(*) FROM slurm.private_job_table j JOIN
        slurm.private_step_table s USING (job_db_inx) WHERE id_step = -5 AND s.time_end > 0
        AND j.time_end > 0 AND id_user > 0" | tail -n 1) -ge $1 ]]
}
# field NAME TEXT: the value of Name=value in a job of scontrol; of TRES, ReqTRES from 23.02 on
field() {
    [[ " $2 " =~ " "(Req)?"$1="([^ ]*) ]] && printf '%s' "${BASH_REMATCH[2]}"
}
# look WHAT: the jobs' fields, into the arrays text[WHAT FORM], with the state
declare -A text job_of
look() {
    local form id line
    scontrol show job -o >"$dir/jobs"
    while read -r form id; do
        job_of[$1 $form]=$id
        line=$(grep "^JobId=$id " "$dir/jobs") || line=
        text[$1 $form]=$line
    done <"$dir/home/$1"
}
# ran WHAT FORM: what its programs were
ran() {
    sort "$dir/home/ran/${job_of[$1 $2]}" 2>/dev/null || true
}
# request WHAT FORM: hours, CPUs, GiB and features
request() {
    local job=${text[$1 $2]} mem
    mem=$(field TRES "$job" | grep -oE 'mem=[0-9]+[MG]' | cut -c 5-)
    case $mem in *G) mem=${mem%G} ;; *) mem=$((${mem%M} / 1024)) ;; esac
    echo "$(minutes "$(field TimeLimit "$job")") $(field NumCPUs "$job") $mem $(field Features "$job")$(
        field TresPerNode "$job" | sed 's/gres/ &/')"
}
# used FORM: minutes, CPU seconds and GiB of its first run: one after another, or, of
# programs side by side, all at once
used() {
    awk -v at_once="$([[ $1 != beside* ]] || echo 1)" '
        { cpu += $1 * $2 * 3600; sum += $1; gib += $3
          if ($1 > most) most = $1
          if ($3 > peak) peak = $3 }
        END { if (NR) print 60 * (at_once ? most : sum), cpu, at_once ? gib : peak }
        ' "$dir/home/used/${job_of[first $1]}" 2>/dev/null || true
}

# The accounting of the first runs as their programs would have left it, and of N more
# like each on the days before.
account() {
    local form minutes cpu gib rows=
    while read -r form _; do
        read -r minutes cpu gib <<<"$(used "$form")"
        [[ -z $minutes ]] || rows+="(${job_of[first $form]}, $minutes, $cpu, $gib),"
    done <"$dir/home/first"
    _cluster_sql "USE slurm;
        CREATE TABLE used (id INT PRIMARY KEY, minutes INT, cpu INT, gib INT);
        INSERT INTO used VALUES ${rows%,};
        UPDATE private_job_table j JOIN used ON id = id_job SET time_start = time_end - 60 * minutes,
            time_submit = time_start, time_eligible = time_start;
        UPDATE private_step_table s JOIN private_job_table j USING (job_db_inx) JOIN used ON id = id_job
            SET s.time_start = j.time_start, user_sec = 0, user_usec = 0, sys_sec = 0, sys_usec = 0;
        UPDATE private_step_table s JOIN private_job_table j USING (job_db_inx) JOIN used ON id = id_job
            SET user_sec = cpu, tres_usage_in_tot = CONCAT('1=', 1000 * cpu, ',2=', gib << 30)
            WHERE id_step = -5" 2>&1
}
again() {
    _cluster_sql "USE slurm;
        CREATE TABLE j AS SELECT j.* FROM private_job_table j JOIN used ON id = id_job
            WHERE id > (SELECT MAX(id) FROM used) - 100000;
        CREATE TABLE s AS SELECT s.* FROM private_step_table s JOIN j USING (job_db_inx);
        UPDATE j SET job_db_inx = job_db_inx + 100000, id_job = id_job + 100000,
            time_start = time_start - 86400, time_end = time_end - 86400,
            time_submit = time_submit - 86400, time_eligible = time_eligible - 86400;
        UPDATE s SET job_db_inx = job_db_inx + 100000, time_start = time_start - 86400,
            time_end = time_end - 86400;
        INSERT INTO private_job_table SELECT * FROM j;
        INSERT INTO private_step_table SELECT * FROM s;
        DROP TABLE j, s; INSERT IGNORE INTO used SELECT id + 100000, minutes, cpu, gib FROM used" 2>&1
}

# Only the first runs are in the accounting.
forget() {
    _cluster_sql 'DELETE FROM slurm.private_job_table WHERE id_job NOT IN (SELECT id FROM slurm.used)' 2>&1
}

# harm WHAT FORM: what the submission has lost
harm() {
    local form=$2 keeps=$3 had now type minutes cpu peak factor
    had=$(request off "$form") now=$(request "$1" "$form")
    [[ $had != "$now" ]] || return 0
    read -r _ _ _ type <<<"$now"
    read -r minutes cpu peak <<<"$(used "$form")"
    if [[ -z ${minutes-} ]]; then
        echo "$form: $had -> $now without a run"
        return
    fi
    factor=1
    if [[ $type != "${had#* * * }" ]]; then
        factor=$(grep -oE '[0-9.]+x the time' "$dir/home/said.$1.$form" | cut -d x -f 1) || factor=9
        [[ $keeps != *' gpu' || $form != steps* ]] || echo "$form: its GPU type: $now"
    fi
    awk -v had="$had" -v now="$now" -v form="$form" -v keeps="$keeps" -v minutes="$minutes" \
        -v cores="$(awk "BEGIN { print $cpu / 60 / $minutes }")" -v peak="$peak" -v factor="$factor" '
        BEGIN {
            if (factor < 1) factor = 1
            split (had, h); split (now, n)
            if (n[1] < 1.05 * minutes * factor && n[1] < h[1]) print form ": limit " n[1] " of " minutes " x " factor
            if (n[1] < h[1] && form ~ /^(server|stop)/) print form ": limit " n[1] " of a stop time or a session"
            if (n[1] < minutes * factor) print form ": limit " n[1] " below " minutes " x " factor
            if (n[2] < h[2] && n[2] < 1.05 * cores) print form ": CPUs " n[2] " of " cores
            if (n[2] < h[2] && form ~ /^(allotted|computed|pinned|workers|steps)/ && keeps ~ /cpus/) print form ": counted CPUs " n[2]
            if (n[3] < h[3] && n[3] < 1.1 * peak) print form ": memory " n[3] " of " peak
        }'
}
# harms WHAT: of all forms
harms() {
    local form keeps
    look "$1"
    while IFS=: read -r form keeps; do harm "$1" "$form" "$keeps"; done <"$dir/home/forms"
}
# differ WHAT: forms that ended in another way, or were run with other words, than off; a
# number of CPUs may be that of the job
differ() {
    local form state cpus
    look "$1"
    while read -r form _; do
        state=$(field JobState "${text[$1 $form]}")
        if [[ $state != "$(field JobState "${text[off $form]}")" ]]; then
            echo "$form: $state, not $(field JobState "${text[off $form]}")"
        fi
        cpus=$(field NumCPUs "${text[$1 $form]}")
        [[ $(ran "$1" "$form") = "$(ran off "$form")" || $(ran "$1" "$form") = "$(ran off "$form" |
            sed -E "s/\b16\b/$cpus/g")" ]] || echo "$form: ran $(ran "$1" "$form" | xargs), not $(ran off "$form" | xargs)"
    done <"$dir/home/$1"
}

# --- the cluster -------------------------------------------------------------------------

live_hardware
live_conf Mode=enforce EvidenceTime=words TimeLimit=limit "ProgressDir=$dir/progress"
live_partition_lines
live_start --plugin-dir "$plugin_dir" --conf JobAcctGatherType=jobacct_gather/linux \
    --conf 'SchedulerParameters=batch_sched_delay=0,sched_interval=1' "${partitions[@]}"
scontrol update NodeName='v[1-2]' AvailableFeatures=v100,ib ActiveFeatures=v100,ib
scontrol update NodeName='a[1-2]' AvailableFeatures=a100,ib ActiveFeatures=a100,ib
make_home
if [[ ${FORMS-} ]]; then
    grep -E "$FORMS" "$dir/home/forms" >"$dir/forms"
    cp "$dir/forms" "$dir/home/forms"
fi
n=$(wc -l <"$dir/home/forms")
live_see for-all

# --- the first runs ----------------------------------------------------------------------

submit off dnnest:off
submit first dnnest:auto
ok "$n forms run twice" cluster_until 300 all_ended
ok 'the accounting has them' cluster_until 60 accounted $((2 * n))
look off
is 'the first submission has the request of dnnest:off, and runs as it does' \
    "$(look first; while IFS=: read -r form _; do
        [[ $(request first "$form") = "$(request off "$form")" ]] || echo "$form"
    done <"$dir/home/forms"; differ first)" ''
look first
mostly=$(grep -c 'JobState=COMPLETED' <<<"$(printf '%s\n' "${text[@]}")")
ok "most of them complete ($mostly of $((2 * n)))" test "$mostly" -ge $((2 * n * 9 / 10))

# --- the second submission, and those after three runs -------------------------------------

# learn NAME: from the accounting alone, and submit held
learn() {
    rm -f "$dir"/seen/records.db*
    # shellcheck disable=SC2016  # eval expands
    ok "$1: the runs are learned" eval 'daemon collect && daemon learn && test -s "$dir/seen/history"'
    live_looked
    submit "$1" dnnest:auto -H
    is "$1: no form loses what it used" "$(harms "$1")" ''
}
# release NAME: the jobs that are changed as none before
declare -A seen
release() {
    local form id now ids=
    look "$1"
    while read -r form id; do
        now="$form $(request "$1" "$form")"
        if [[ ${now#* } != "$(request off "$form")" && -z ${seen[$now]-} ]]; then
            ids+=",$id" seen[$now]=1
        else
            scancel -Q "$id"
            sed -i "/^$form /d" "$dir/home/$1"
        fi
    done < <(cat "$dir/home/$1")
    ok "$1: some are changed ($(wc -l <"$dir/home/$1") of $n)" scontrol release "${ids#,}"
    ok "$1: they end" cluster_until 300 all_ended
    is "$1: they end and run as with dnnest:off" "$(differ "$1")" ''
    [[ -z ${VERBOSE-} ]] || while read -r form _; do
        diag "$form $(used "$form"): $(request off "$form") -> $(request "$1" "$form")"
    done <"$dir/home/$1"
}
account
learn 'after one run'
release 'after one run'
forget && again && again
learn 'after three runs'
release 'after three runs'
rm "$dir"/progress/*.capture
forget
learn 'after three runs without captures'
release 'after three runs without captures'
live_end
