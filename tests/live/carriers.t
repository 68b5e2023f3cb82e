#!/bin/bash
# carriers.t - every way for a job to describe itself, in a real Slurm, by an ordinary user
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The expected jobs are not written here: every carrier must have the same result as the
# comment, and a wrong one the same as no carrier.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin carriers job_submit_dnnest spank_dnnest

readonly KEYS=$LIVE_KEYS
readonly A100=(--gres=gpu:a100:4 -c 80 -t 1-0)

# --- helpers -------------------------------------------------------------------------

write_conf() {
    live_conf Mode=enforce "$LIVE_MOVES" "$@"
}

submit() {
    live_sbatch -H "${A100[@]}" "$@"
}

# A file of the user's.
give() {
    install -o "$CLUSTER_USER" -m "${2-644}" /dev/stdin "$1"
}

script() {
    printf '#!/bin/sh\n'
    printf '%s\n' "$@"
    printf 'srun hostname\n'
}

# same TITLE WANT OPTION...: the submission is as 'want' shows, with one line.
same() {
    local title=$1 want=$2
    shift 2
    submit "$@"
    is "$title" "$(request_of "$job")" "$want"
    like "$title: the user gets one line" "$said" "$one_line"
}

# wrong TITLE REGEX OPTION...: the job is submitted as written, and the user gets a message.
wrong() {
    local title=$1 regex=$2
    shift 2
    submit "$@"
    is "$title does not change the job" "$status $(request_of "$job")" "0 $plain"
    like "$title: the user gets the reason in one line" "$said" \
        "^sbatch: (error: )?dnnest: $regex; job submitted as written\$"
}

# --- the cluster ---------------------------------------------------------------------

live_hardware
python=$dir/share/python
hook=$python/hook
mkdir -p "$hook"
echo "optional spank_dnnest.so python=$python progress=$dir/progress" >"$dir/etc/plugstack.conf"
# The option of the plugin pyxis, which runs no container here.
read -ra cc <<<"$(live_cc)"
if "${cc[@]}" -shared -fPIC -o "$dir/pyxis.so" -x c - <<'END'; then
#include <stddef.h>

#include <slurm/spank.h>

SPANK_PLUGIN (pyxis, 1)

static int take (int value, const char *text, int remote)
{
    return value + remote < 0 || !text;
}

int slurm_spank_init (spank_t job, int argc, char **argv)
{
    static struct spank_option image = {"container-image", "IMAGE", "", 1, 0, take};

    return argc > 0 && argv ? -1 : spank_option_register (job, &image);
}
END
    echo "optional $dir/pyxis.so" >>"$dir/etc/plugstack.conf"
fi
write_conf

live_start --plugin-dir "$plugin_dir" --no-accounting
live_see for-all

home=$dir/home
one_line=$'^sbatch: dnnest: time 1-00:00:00 -> [^\n]*gpu a100:4 -> v100:4[^\n]*$'
script | give "$home/job.sh"
script "#DNNEST ${KEYS//,/ }" | give "$home/lines.sh"
script "#SBATCH --dnnest=$KEYS" | give "$home/option.sh"
script '#SBATCH --dnnest=train.json' | give "$home/file.sh"
script "#SBATCH --comment=dnnest:$KEYS" | give "$home/comment.sh"
json() {
    sed -E 's/([a-z_]+)=([^,]*)/"\1": "\2"/g; s/^/{"dnnest": 1,\n "spec": {/; s/$/}}/' <<<"$1"
}
json "$KEYS" | give "$home/train.json"

# --- all carriers say the same -------------------------------------------------------

submit job.sh
is 'a job without metadata is submitted in silence' "$status $said" '0 '
plain=$(request_of "$job")
submit --comment="dnnest:$KEYS" job.sh
want=$(request_of "$job")
like 'the comment moves a job' "$said" "$one_line"
not_ok 'the comment changes the job' test "$plain" = "$want"

same '--dnnest=FILE has the same result as the comment' "$want" --dnnest=train.json job.sh
same '--dnnest=KEYS has the same result as the comment' "$want" --dnnest="$KEYS" job.sh
same '#DNNEST lines have the same result as the comment' "$want" lines.sh
same '#SBATCH --dnnest=KEYS has the same result as the comment' "$want" option.sh
same '#SBATCH --dnnest=FILE has the same result as the comment' "$want" file.sh
same '#SBATCH --comment= has the same result as the comment' "$want" comment.sh

json "${KEYS/batch=2/batch=1}" | give "$home/first.json"
same 'keys beside a file override those of the file' \
    "$want" --dnnest=@first.json,batch=2 job.sh
same '#DNNEST lines override the sidecar, and the option the comment' "$want" \
    --dnnest=@first.json,steps=20000 --comment=dnnest:batch=2,steps=1 lines.sh
same 'the option of the command line replaces that of the script' "$want" \
    --dnnest="$KEYS" file.sh
ln -s train.json "$home/link.json"
same 'a link of the user is followed on the client' "$want" --dnnest=link.json job.sh

graph='"graph": {"name": "mine", "ops": ['
for i in {1..400}; do
    graph+='{"op": "linear", "name": "layer.'$i'", "in": [[256]], "out": [[256]], "params": 65536},'
done
graph=${graph%,}']}'
printf '{"dnnest": 1, "spec": {"batch": 64, "precision": "fp16", "steps": 1000}, %s}' "$graph" |
    give "$home/graph.json"
submit --dnnest=graph.json job.sh
like 'a network of the user'"'"'s own is predicted by its layers' \
    "$(scontrol show job -o "$job")" 'AdminComment=.*"spec":"model=mine,batch=64,'

for off in --dnnest=off --comment=dnnest:off; do
    submit "$off" lines.sh
    is "$off opts out, with any lines in the script" "$said $(request_of "$job")" " $plain"
done

# --- images of containers ------------------------------------------------------------

if [[ ! -e $dir/pyxis.so ]]; then
    skip "images of containers" "no compiler"
else
    image=nvcr.io/nvidia/pytorch # "#" would begin a comment of sbatch
    script "#DNNEST ${KEYS//,/ }" "#SBATCH --container-image=$image:25.08-py3" |
        give "$home/image.sh"
    same 'an image with kernels for all types changes nothing' \
        "$want" --container-image=$image:24.05-py3 lines.sh
    same 'an image of the command line counts in place of that of the script' \
        "$want" --container-image=$image:24.05-py3 image.sh
    for option in "--container-image=$image:25.08-py3 lines.sh" image.sh; do
        # shellcheck disable=SC2086
        submit $option
        like "sbatch $option stays on a type that the image has kernels for" \
            "$(request_of "$job")" 'gpu:a100:4'
    done
fi

# --- help ----------------------------------------------------------------------------

jobs_before=$(squeue -h -o %A | wc -l)
for command in 'sbatch job.sh' 'salloc true' 'srun true'; do
    status=0
    # shellcheck disable=SC2086
    said=$(cluster_as_user timeout 180 ${command% *} --dnnest=help ${command#* } 2>&1) || status=$?
    like "${command% *} --dnnest=help lists the keys" "$status $said" \
        $'^0 --dnnest=KEY.*\n  batch +samples per GPU'
done
is '--dnnest=help submits nothing' "$(squeue -h -o %A | wc -l)" "$jobs_before"

# --- wrong ones ----------------------------------------------------------------------

printf '{"dnnest": 1,\n "spec": {"batch": }}' | give "$home/bad.json"
script '#DNNEST batch=many' | give "$home/bad.sh"
install -m 600 "$home/train.json" "$home/secret.json"

wrong 'a wrong key' '--dnnest: column 22: batch: -4 out of range .*' \
    --dnnest=model=resnet50,batch=-4 lines.sh
wrong 'a wrong sidecar' '--dnnest: bad.json: sidecar: line 2, column 20: .*' \
    --dnnest=bad.json lines.sh
wrong 'a file of another user' '--dnnest: secret.json: Permission denied' \
    --dnnest=secret.json job.sh
wrong 'a wrong line of the script' 'script line 2: column 15: batch: .*' \
    bad.sh
submit --dnnest=none.json --quiet job.sh
job=$(squeue -h -o %A | sort -n | tail -1) # --quiet prints no number
is 'with --quiet a wrong sidecar does not change the job' "$status $(request_of "$job")" "0 $plain"

# --- inside a job --------------------------------------------------------------------

script | give "$home/inner.sh"
give "$home/outer.sh" 755 <<'END'
#!/bin/sh
env | grep DNNEST | grep -v '^DNNEST_PROGRESS_DIR=' >inner.env
srun true >inner.srun 2>&1; echo "status $?" >>inner.srun
sbatch --parsable -H --gres=gpu:a100:4 -c 80 -t 1-0 inner.sh >inner.id 2>inner.said
touch inner.done
END
cluster_as_user sbatch -Q -o /dev/null -n 1 -t 60 --dnnest=@train.json,batch=2 outer.sh
ok 'a job with a sidecar runs' cluster_until 120 test -e "$home/inner.done"
is 'a job with a sidecar does not have it in its environment' "$(<"$home/inner.env")" ''
is 'srun inside a job with a sidecar is silent' "$(<"$home/inner.srun")" 'status 0'
is 'sbatch inside a job with a sidecar does not inherit it' \
    "$(<"$home/inner.said") $(request_of "$(<"$home/inner.id")")" " $plain"

# As in a job of a cluster whose slurmctld does not remove it.
inherit=(env "SLURM_SPANK__SLURM_SPANK_OPTION_dnnest_dnnest=none.json"
    "SLURM_SPANK_DNNEST_OPTION=$KEYS")
for script in job.sh lines.sh option.sh; do
    expect=$want
    if [[ $script = job.sh ]]; then expect=$plain; fi
    id=$(cluster_as_user "${inherit[@]}" sbatch --parsable -H "${A100[@]}" $script 2>"$dir/said")
    is "entries of an outer job are ignored by $script" "$(request_of "$id")" "$expect"
    not_ok "what an outer job has left is no error to $script" grep -q error "$dir/said"
done

# --- salloc and srun -----------------------------------------------------------------

limit() {
    sed -En 's/.*TimeLimit=([^ ]+).*/\1/p'
}
# What an allocation with that option shows of itself, including its steps.
allocate() {
    status=0
    # shellcheck disable=SC2016
    shows=$(cluster_as_user timeout 120 "$1" "${A100[@]}" "$2" \
        sh -c 'scontrol show job "$SLURM_JOB_ID"; srun --overlap true' 2>"$dir/said") || status=$?
}
for how in salloc srun; do
    allocate "$how" --comment="dnnest:$KEYS"
    time_want=$(limit <<<"$shows")
    not_ok "$how --comment= has its time limit lowered" test "$time_want" = 1-00:00:00
    allocate "$how" --dnnest=train.json
    is "$how --dnnest=FILE has the same result" "$status $(limit <<<"$shows")" "0 $time_want"
    like "$how --dnnest=FILE keeps the GPUs" "$shows" 'gpu:a100:4'
    like "$how --dnnest=FILE reports the new time limit" \
        "$(<"$dir/said")" "$how: dnnest: time 1-00:00:00 -> $time_want"
    is "$how --dnnest=FILE has one line of dnnest" "$(grep -c dnnest "$dir/said")" 1
    allocate "$how" --dnnest=none.json
    is "$how with a wrong sidecar runs unchanged" "$status $(limit <<<"$shows")" '0 1-00:00:00'
    like "$how with a wrong sidecar prints the reason" \
        "$(<"$dir/said")" "$how: error: dnnest: --dnnest: none.json: No such"
done
like 'srun without GPUs or description is not changed' \
    "$(cluster_as_user timeout 120 srun -n 1 -t 60 hostname 2>&1)" '^[^ ]+$'

# --- jobs that describe themselves ---------------------------------------------------

give "$home/tasks.sh" 755 <<'END'
#!/bin/sh
echo "script <${PYTHONPATH-none}> <${DNNEST_JOB_CAPTURE-none}> <${DNNEST_PROGRESS_DIR-none}>"
export PYTHONPATH=/mine
srun sh -c 'echo "task <$PYTHONPATH>"'
if [ -n "$1" ]; then sbatch -W -Q -n 1 -t 60 -o "$1" --comment=dnnest:off tasks.sh; fi
END
# What a job of those options and arguments printed.
captured() {
    local options=()
    while [[ $1 != -- ]]; do options+=("$1") && shift; done
    cluster_as_user env PYTHONPATH=/lib timeout 300 sbatch -W -Q -o "$home/tasks.out" \
        --gres=gpu:a100:1 -n 1 -t 60 "${options[@]}" tasks.sh "${@:2}" || echo "status $?"
    cat "$home/tasks.out"
}
plain_tasks=$'script </lib> <none> <none>\ntask </mine>'
with_hook="script <$hook:/lib> <$hook> <$dir/progress>"$'\n'"task <$hook:/mine>"
write_conf "PythonDir=$python" "ProgressDir=$dir/progress"
cluster_reconfigure
describes_itself() {
    [[ $(captured --comment=dnnest:auto --) = "$with_hook" ]]
}
ok 'a script with dnnest:auto and its tasks have the hook before their PYTHONPATH' \
    cluster_until 180 describes_itself
is '#DNNEST auto and --dnnest=auto do the same' \
    "$(captured --dnnest=auto --)" "$with_hook"
is 'a job without metadata has no hook' "$(captured --)" "$plain_tasks"
is 'dnnest:off has no hook' "$(captured --comment=dnnest:off --)" "$plain_tasks"
is 'capture=no has no hook' "$(captured --comment=dnnest:auto,capture=no --)" "$plain_tasks"
captured --comment=dnnest:auto -- "$home/child.out" >/dev/null
is 'a job with dnnest:off that such a job submits describes nothing' \
    "$(sed -n 's/^script <.*> <\(.*\)> <.*>$/\1/p; s/^task/&/p' "$home/child.out")" \
    $'none\ntask </mine>'
# NONE asks for the environment of a login, and Slurm 26.05 holds the jobs of who has none.
environment=NONE
if (($(_cluster_version) >= 2605)); then environment=NIL; fi
like '--export=NONE and an array are no error' \
    "$(captured --comment=dnnest:auto --export=$environment --array=1-2 --)" "^script <$hook> "
# shellcheck disable=SC2016
for how in salloc srun; do
    is "a task of $how --dnnest=auto has the hook" \
        "$(cluster_as_user timeout 120 "$how" --gres=gpu:a100:1 -n 1 -t 60 --dnnest=auto \
            sh -c 'if [ -z "$SLURM_STEP_ID" ]; then exec srun "$0" -c "$1"; else eval "$1"; fi' sh \
            'echo "$PYTHONPATH $DNNEST_PROGRESS_DIR"' 2>/dev/null)" "$hook $dir/progress"
done
write_conf "PythonDir=$python" "ProgressDir=$dir/progress" Capture=yes
cluster_reconfigure
describes_unasked() {
    [[ $(captured --) = "$with_hook" ]]
}
ok 'with Capture=yes a job without metadata has the hook' cluster_until 180 describes_unasked
is 'with Capture=yes capture=no has no hook' \
    "$(captured --comment=dnnest:capture=no --)" "$plain_tasks"

# --- SidecarDir ----------------------------------------------------------------------

wrong 'a file in a comment, without SidecarDir,' 'comment: .@train.json.: sidecars of .*' \
    --comment=dnnest:@train.json job.sh

below=$dir/sidecars
mkdir -m 1777 "$below"
install -d -o "$CLUSTER_USER" "$below/sub"
write_conf "SidecarDir=$below"
cluster_reconfigure
give "$below/train.json" <"$home/train.json"
give "$below/sub/train.json" <"$home/first.json"
install -m 644 "$home/train.json" "$below/root.json"
ln -s sub "$below/dirlink"
give "$below/bad.json" <"$home/bad.json"

reads_comments() {
    submit -H --comment=dnnest:@train.json job.sh
    [[ $said != *'are not read here'* ]]
}
cluster_until 180 reads_comments || true
submit --comment=dnnest:@train.json job.sh
if [[ $said = *openat2* ]]; then
    skip 'files of comments are read' 'the kernel has no openat2'
else
    same 'a file below SidecarDir has the same result as the comment' "$want" \
        --comment=dnnest:@train.json job.sh
    same 'keys after a file below SidecarDir override those of the file' "$want" \
        --comment=dnnest:@sub/train.json,batch=2 job.sh
    same 'the file of the option is taken instead of that of the comment' "$want" \
        --comment=dnnest:@none.json --dnnest=train.json job.sh
    wrong 'a wrong sidecar below SidecarDir' 'sidecar: line 2, column 20: .*' \
        --comment=dnnest:@bad.json job.sh
    wrong 'a linked directory' 'comment: dirlink/train.json: goes through .*' \
        --comment=dnnest:@dirlink/train.json job.sh
    wrong 'a file of root' 'comment: root.json: owned by uid 0, .*' \
        --comment=dnnest:@root.json job.sh

    # Swapped continuously with a link to another user's file, which is valid for another
    # job.
    json "${KEYS/steps=20000/steps=1}" >"$below/victim.json"
    (
        while [[ -e $below/victim.json ]]; do
            ln -sf victim.json "$below/swap.new" && mv "$below/swap.new" "$below/swap.json"
            cp -p "$below/train.json" "$below/swap.new" && mv "$below/swap.new" "$below/swap.json"
        done 2>/dev/null
    ) &
    swapper=$!
    outcomes=
    for _ in {1..20}; do
        submit --comment=dnnest:@swap.json job.sh
        case $(request_of "$job") in
            "$want") outcomes+=m ;;
            "$plain") outcomes+=p ;;
            *) outcomes+=X ;;
        esac
    done
    rm "$below/victim.json"
    wait "$swapper" || true
    like 'a file that is swapped is read as it is or not at all' "$outcomes" '^[mp]+$'
    diag "20 submissions while a file was swapped: $outcomes"
fi

is 'no node complained about the plugin' \
    "$(grep -hi 'spank' "$dir"/log/slurmd-*.log | grep -ci 'error\|warn' || true)" 0
live_end
