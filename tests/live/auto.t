#!/bin/bash
# auto.t - dnnest:auto with real trainings: the first run tells what the next ones are
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Programs without a description run once. What they have described of themselves is collected
# and learned, and the same submission is compared with that of dnnest:off. They run with the
# Python of 'packaging/setup --frameworks', or with Debian's, or with DNNEST_PYTHON; programs
# whose packages it lacks are skipped. VERBOSE=1 shows what is true and what was said.
# PROGRAMS: only these.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin auto job_submit_dnnest
if [[ ! -x $dnnestd ]]; then skip_all "$dnnestd is not built"; fi
frameworks=/var/cache/dnnest-frameworks
if [[ -e $frameworks/lock ]]; then flock -s "$frameworks/lock" true; fi
python=/usr/bin/python3
if [[ -e $frameworks/installed ]]; then python=$frameworks/python/bin/python; fi
python=${DNNEST_PYTHON:-$python}
if ! "$python" -c 'import torch' 2>/dev/null; then skip_all "$python has no torch"; fi

kernels=$("$python" -c 'import torch; print(*torch.cuda.get_arch_list())')

# Jobs run as another user. setpriv itself may still enter every folder.
# shellcheck disable=SC2016  # that shell expands
if ! setpriv --reuid="$CLUSTER_USER" --regid="$(id -g "$CLUSTER_USER")" --clear-groups \
    sh -c '"$0" -c ""' "$python" 2>/dev/null; then
    skip_all "$CLUSTER_USER cannot run $python"
fi

# --- helpers -----------------------------------------------------------------------------

# submit NAME COMMENT [OPTION]...: sets 'job' and 'said'
submit() {
    live_need -t 1-0 "--gres=gpu:a100:$gpus" -c 16 --mem=64G -o "$dir/home/$1-%j.out" --comment="$2" \
        "${@:3}" "$1.sh"
}
# learned KEY: collects and learns; accounting is late, and later with a job's steps
learned() {
    daemon collect && daemon learn && grep -q "^Captured Key=$1 " "$dir/seen/history" &&
        grep -q "^App Key=$1 .* Cores=" "$dir/seen/history"
}
# waited KEY: how long its steps waited for data, in millionths of their time
waited() {
    sed -n "s/^Captured Key=$1 .* Loader=\([0-9]*\).*/\1/p" "$dir/seen/history"
}
# trainings ARGUMENT...
trainings() {
    PYTHONPATH=$top/python PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore "$python" \
        "$dir/home/trainings.py" "$@" 2>&1
}

# --- the cluster -------------------------------------------------------------------------

live_hardware
mkdir -p "$dir/progress" "$dir/share/hook"
chmod 1777 "$dir/progress"
install -m 644 "$top/python/hook/sitecustomize.py" "$dir/share/hook/"
install -m 644 "$top"/python/*.py "$dir/share/"
live_conf Mode=enforce EvidenceTime=auto "ProgressDir=$dir/progress" "PythonDir=$dir/share"
chmod -R go-w "$dir/etc" "$dir/seen" "$dir/share"
live_partition_lines
live_start --plugin-dir "$plugin_dir" --conf JobAcctGatherType=jobacct_gather/linux \
    --conf JobAcctGatherFrequency=1 "${partitions[@]}"
scontrol update NodeName='v[1-2]' AvailableFeatures=v100 ActiveFeatures=v100
scontrol update NodeName='a[1-2]' AvailableFeatures=a100 ActiveFeatures=a100
live_daemons
cluster_until 90 test -s "$dir/seen/cluster.snapshot"
install -m 644 "$top/tests/data/torch/trainings.py" "$dir/home/"
names=()
for name in ${PROGRAMS-loop nanogpt timm full trainer lightning accelerate ddp fsdp fsdp2 deepspeed keras jax}; do
    missing=$(trainings --missing "$name")
    if [[ -n $missing ]]; then
        skip "$name" "$python has no $missing"
        continue
    fi
    names+=("$name")
    run=$python
    if [[ $name = @(ddp|fsdp*|deepspeed) ]]; then
        run="$python -m torch.distributed.run --nproc_per_node 2 --master-port $((20000 + $$ % 10000))"
    fi
    # shellcheck disable=SC2016  # the job's shell expands
    printf '%s\n' '#!/bin/sh' \
        'export OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 TMPDIR=$HOME' \
        "$run trainings.py $name" >"$dir/home/$name.sh"
done

# --- the first and the second run ----------------------------------------------------------

for name in "${names[@]}"; do
    gpus=1
    if [[ $name = @(ddp|fsdp*|deepspeed) ]]; then gpus=2; fi
    submit "$name" dnnest:auto
    first=$job
    is "$name: the first run is as it was requested" "$said" ''
    if ! ended=$(cluster_wait_job "$first" COMPLETED 300 2>&1); then
        fail "$name: it completes"
        diag "$ended" "$(tail -n 5 "$dir/home/$name-$first.out")"
        continue
    fi
    pass "$name: it completes"
    is "$name: it has described itself" \
        "$(trainings --compare "$name" "$dir/progress/$first.capture")" ''
    ok "$name: this is learned" cluster_until 120 learned "$(key_of "$(member "$first" app)")"
    [[ -z ${VERBOSE-} ]] || diag "$(trainings --table "$name" "$dir/progress/$first.capture" || true)"
    live_looked
    submit "$name" dnnest:auto -H
    [[ -z ${VERBOSE-} ]] || diag "$said"
    case $name in
        nanogpt | trainer)
            is "$name: the second run keeps its type, which alone has bf16" \
                "${said//*gpu a100*/}" "$said" ;;
        loop)
            if [[ -z $kernels || $kernels = *sm_70* ]]; then
                like "$name: the second run may have either type" "$said" \
                    'gpu a100:1 -> a100 or v100'
            else
                is "$name: the second run keeps its type, which alone this PyTorch has kernels for" \
                    "${said//*gpu a100*/}" "$said"
            fi ;;
    esac
    if [[ $name = loop || $name = nanogpt ]]; then
        if (($(waited "$(key_of "$(member "$first" app)")") >= 50000)); then
            is "$name: its CPUs stay, for the first has waited for its data" "${said//*-c 16*/}" "$said"
        else
            like "$name: its CPUs are those that the first has used" "$said" \
                '-c 16 -> [1-4] .*by 1 of your runs'
        fi
    fi
    submit "$name" dnnest:off -H
    is "$name: with dnnest:off nothing changes" "$said" ''
    scancel -u "$CLUSTER_USER"
done

# --- in a container, which has of the host what its runtime binds --------------------------

# contain NAME OPTION...: the program 'loop', in bubblewrap, as NAME.sh
contain() {
    sed "\$s|^|bwrap --ro-bind / / --dev /dev --bind $dir/home $dir/home ${*:2} |" "$dir/home/loop.sh" \
        >"$dir/home/$1.sh"
    submit "$1" dnnest:auto
    ok "$1: a program in a container completes" cluster_wait_job "$job" COMPLETED 300
    is "$1: it says nothing of dnnest" "$(grep -i dnnest "$dir/home/$1-$job.out")" ''
}
gpus=1
if [[ " ${names[*]} " != *' loop '* ]] || ! command -v bwrap >/dev/null; then
    skip 'programs in containers' 'no bubblewrap, or loop does not run'
else
    contain bare --tmpfs "$dir/share" --tmpfs "$dir/progress"
    contain mute --tmpfs "$dir/progress"
    contain bound --bind "$dir/progress" "$dir/progress"
    is 'a program in a container describes itself if both folders are bound' \
        "$(trainings --compare loop "$dir/progress/$job.capture")" ''
fi
live_end
