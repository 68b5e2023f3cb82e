#!/bin/bash
# soak.t - does slurmctld grow, or slow down, over many submissions?
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Held jobs come in ten parts, each of which is cancelled, and purged, before the next, to a
# controller with the plugin and then to one without. All differ in their description.
# Before each part dnnest.conf is broken, or mended, and read again. The first parts do not
# count: caches fill. Growth is only judged over many jobs: SOAK_JOBS=40000 tests/live/soak.t,
# before a release.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin soak job_submit_dnnest
if [[ ! -x $build/tests/live/submit_many ]]; then
    skip_all "tests/live/submit_many is not built: 'make check' builds it"
fi

readonly JOBS=${SOAK_JOBS:-500} PARTS=10
readonly JUDGED=20000                   # jobs of which growth and slowness are judged
readonly GROWTH=200                     # bytes a job, beyond those without the plugin
readonly KEYS=model=bert_base,precision=fp16,batch=2,optimizer=adamw,decode=text,since=2023
# From 23.11 on slurmctld is another process after a reconfiguration, and knows no earlier file.
gres=gres/gpu:a100:4 told=$((JOBS / 2))
if (($(_cluster_version) < 2311)); then gres=gres:gpu:a100:4 told=$JOBS; fi

no_jobs() { [[ $(scontrol show jobs 2>&1) = 'No jobs in the system' ]]; }

# submit COUNT: where a busy slurmctld has not answered, as many are made again.
submit() {
    local made=0 answered tries=99
    while ((made < $1 && tries-- > 0)); do
        answered=$(cluster_as_user "$dir/submit_many" $(($1 - made)) \
            "dnnest:$KEYS,steps=2#" "$gres" 2>>"$dir/away" | tee -a "$dir/times" | wc -l) || true
        made=$((made + answered))
    done
}

# run NAME: a line a part: KiB of memory, open files, and the median time of a submission.
run() {
    local pid part
    pid=$(cluster_pids slurmctld | head -n 1)
    for ((part = 0; part < PARTS; part++)); do
        : >"$dir/times"
        if ((part % 2 == 0)); then live_conf Mode=enforce Colour=red; else live_conf Mode=enforce; fi
        cluster_reconfigure
        submit $((JOBS / PARTS))
        scancel --user="$CLUSTER_USER"
        ((JOBS < JUDGED)) || cluster_until 300 no_jobs || diag 'jobs are not purged'
        echo "$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")" \
            "$(find "/proc/$pid/fd" -type l | wc -l)" \
            "$(sort -n "$dir/times" | sed -n "$((JOBS / PARTS / 2 + 1))p")"
    done >"$dir/$1"
    diag "$1: memory $(cut -d ' ' -f 1 "$dir/$1" | tr '\n' ' ')KiB;" \
        "a submission $(cut -d ' ' -f 3 "$dir/$1" | tr '\n' ' ')us"
}

# of NAME COLUMN PART
of() { sed -n "$3p" "$dir/$1" | cut -d ' ' -f "$2"; }

# grown NAME: bytes a job
grown() { echo $((($(of "$1" 1 10) - $(of "$1" 1 5)) * 1024 / (JOBS / 2))); }

# slower NAME: percent; of three parts the fastest, since the machine has other work
fastest() { sed -n "$2,$3p" "$dir/$1" | cut -d ' ' -f 3 | sort -n | head -n 1; }
slower() { echo $((100 * $(fastest "$1" 8 10) / $(fastest "$1" 3 5))); }

live_hardware
live_conf Mode=enforce
install -m 755 "$build/tests/live/submit_many" "$dir/submit_many"
CLUSTER_CTLD_VIA=(env MALLOC_ARENA_MAX=1) # else memory depends on how many threads met
live_start --plugin-dir "$plugin_dir" --no-accounting --no-nodes --conf MinJobAge=2 \
    --conf MaxJobCount=100000
run with
# One that was not answered may have been rewritten, too.
changed=$(logged | grep -c verdict=change) away=$(wc -l <"$dir/away")
ok 'every job was rewritten whose slurmctld had read a right file' \
    test "$changed" -ge "$told" -a "$changed" -le "$((told + away))"
sed -i /^JobSubmitPlugins/d "$SLURM_CONF"
ok 'slurmctld starts without the plugin' live_restart
run without
is 'without the plugin no job is' "$(logged)" ''

ok 'no file stays open' test "$(of with 2 10)" -le $(($(of with 2 5) + 2))
diag "bytes a job: $(grown with), $(grown without) without the plugin;" \
    "time of the last parts to those before: $(slower with) %, $(slower without) % without"
if ((JOBS < JUDGED)); then
    skip 'slurmctld does not grow' 'so few jobs do not tell; SOAK_JOBS'
    skip 'slurmctld does not slow down' 'so few jobs do not tell; SOAK_JOBS'
else
    ok 'slurmctld does not grow' test "$(grown with)" -le $(($(grown without) + GROWTH))
    ok 'slurmctld does not slow down' test "$(slower with)" -le $(($(slower without) + 50))
fi
live_end
