#!/bin/bash
# readme.t - the commands of README.md and of the guides that need a cluster do what they say
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The blocks of kind 'sh cluster' (tests/lint/guides.py), one after the other, as an ordinary
# user of a private Slurm with accounting, the SPANK plugin and dnnestd.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin readme job_submit_dnnest spank_dnnest
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi
if [[ ! -x $build/dnnestd ]]; then skip_all 'dnnestd is not built'; fi

# --- the cluster -----------------------------------------------------------------------

conf=$dir/etc/dnnest.conf
mkdir -p "$dir/dnnestd" "$dir/bin"
live_hardware
live_conf Mode=enforce "StateDir=$dir/dnnestd" WatchInterval=2 GuardInterval=2
echo "required $dir/plugins/spank_dnnest.so" >"$dir/etc/plugstack.conf"
live_start --plugin-dir "$plugin_dir"
export SLURM_CONF
live_daemons
is_well() {
    "$dnnest" status --conf "$conf" >"$dir/status" 2>&1
}
ok 'dnnestd and dnnest-guard are well' cluster_until 180 is_well

# The command as installed, for the configuration of this cluster
printf '#!/bin/sh\ncommand=$1\nshift\nexec "%s" "$command" --conf="%s" "$@"\n' \
    "$dnnest" "$conf" >"$dir/bin/dnnest"
cat >"$dir/home/job.sh" <<'END'
#!/bin/sh
#SBATCH --gres=gpu:a100:4 -c 80 -t 1-0 --mem=100G -o /dev/null
#DNNEST model=resnet50 batch=64 precision=fp16 optimizer=momentum epochs=10 dataset=imagenet
true
END
printf '{"dnnest": 1, "spec": {"model": "resnet50", "batch": 64, "precision": "fp16"}}\n' \
    >"$dir/home/train.json"
chmod 755 "$dir/bin/dnnest" "$dir/home/job.sh"
chmod 644 "$dir/home/train.json"
if ! cluster_as_user test -x "$dnnest"; then skip_all "user $CLUSTER_USER cannot run $dnnest"; fi

# --- the commands ----------------------------------------------------------------------

# typed COMMAND: as in a shell of an ordinary user; sets said and status
typed() {
    status=0
    said=$(cluster_as_user env PATH="$dir/bin:$PATH" bash -c "$1" 2>&1 </dev/null) || status=$?
}

ran=0 submitted=0
while IFS=$'\t' read -r place command; do
    typed "$command"
    is "$place: $command" "$status" 0
    case $command in
        *dnnest:off*) not_ok "$place: an opt-out has no message" grep -q 'dnnest:' <<<"$said" ;;
        sbatch*)
            like "$place: the user is told what changes" "$said" 'sbatch: dnnest: time 1-00:00:00 ->'
            submitted=$((submitted + 1))
            ;;
        'dnnest config --discover')
            like "$place: Gpu lines are printed" "$said" $'\nGpu Type=a100 Device=a100_'
            ;;
    esac
    if [[ $status != 0 ]]; then diag "$said"; fi
    ran=$((ran + 1))
done < <(python3 "$top/tests/lint/guides.py" commands "$top" "$dir" 'sh cluster')
ok 'there are commands, and submissions among them' test "$ran" -ge 10 -a "$submitted" -ge 4
has_record() {
    typed 'sacct -X -S now-1hours -o JobID,User,AdminComment%200'
    [[ $said = *'{"dnnest":1'* ]]
}
ok 'sacct shows the records' cluster_until 180 has_record
typed 'sbatch --no-such-option job.sh'
not_ok 'a command that fails is found' test "$status" = 0
diag "$ran commands run, $submitted submissions"
done_testing
