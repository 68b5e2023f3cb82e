#!/bin/bash
# demo.t - packaging/demo tells its five stories, and leaves nothing
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The demonstration compares what slurmctld has with what should be, and fails where it differs.

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin demo job_submit_dnnest
if [[ ! -x $build/dnnestd ]]; then skip_all 'dnnestd is not built'; fi

chmod 755 "$dir"
export TMPDIR=$dir
status=0
said=$("$top/packaging/demo" --no-setup --build="$build" 2>&1) || status=$?
is 'the demonstration succeeds' "$status" 0
[[ $status = 0 ]] || diag "$(tail -n 20 <<<"$said")"

# told N TITLE REGEX: the story has that line
told() {
    like "$2" "$(sed -n "/^== $1[.]/,/^== $(($1 + 1))[.]/p" <<<"$said" | tr '\n' ' ')" "$3"
}
told 1 'a job is right-sized' 'Slurm has job [0-9]+: time limit 0[0-9:]+, GPUs a100:1, [0-9] CPUs'
told 2 'a GPU type is left open' 'gpu a100:4 -> a100 or v100, .* Slurm has job [0-9]+: .*, GPUs 4, '
told 3 'a job is warned of' 'dnnest: warning: needs about [0-9]+ GiB of GPU memory, a100 has 40'
told 4 'a job is limited by earlier runs' 'by 3 of your runs.* It has completed'
told 5 'a job is extended past its limit' \
    'time limit 00:02:00, .* has extended the limit to .* completed after 00:0[2-9]:'
like 'the report has the job that was extended' "$said" 'limits extended: 1 times, of 1 jobs'
is 'no line of the text is wider than 100 columns, but those of files' \
    "$(grep -vE '(DataDir|StateDir)=' <<<"$said" | awk 'length > 100')" ''
is 'nothing is left' "$(ls -A "$dir")" ''

# A demonstration that cannot fail shows nothing.
status=0
said=$("$top/packaging/demo" --no-setup --build="$dir/absent" 2>&1) || status=$?
like 'a build that does not exist is an error' "$status $said" "^1 .*demo: .*$dir/absent"
done_testing
