#!/bin/bash
# demo.t - packaging/demo tells its five stories, and leaves nothing
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The demonstration compares what slurmctld has with what should be, and with what became of the
# same job with dnnest:off, and fails where it differs. Here is what it says of both.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin demo job_submit_dnnest
if [[ ! -x $build/dnnestd ]]; then skip_all 'dnnestd is not built'; fi
if [[ -e /var/cache/dnnest-frameworks/lock ]]; then flock -s /var/cache/dnnest-frameworks/lock true; fi

chmod 755 "$dir"
export TMPDIR=$dir
status=0
said=$("$top/packaging/demo" --no-setup --build="$build" 2>&1) || status=$?
is 'the demonstration succeeds' "$status" 0
[[ $status = 0 ]] || diag "$(tail -n 20 <<<"$said")"

# twins N TITLE WITH WITHOUT: what the story N says of the job and of its twin
twins() {
    local story
    story=$(sed -n "/^== $1/,/^== /p" <<<"$said")
    like "$2" "$(sed -n 's/^with dnnest: *//p' <<<"$story")" "^$3\$"
    like "$2: not so with dnnest:off" "$(sed -n 's/^dnnest:off: *//p' <<<"$story")" "^$4\$"
}
twins '1[.]' 'a limit is lowered on words' 'limit 00:30:00' 'limit 12:00:00'
like 'the wrong description is seen' "$said" 'expected end [0-9: -]+, AFTER that of its limit'
twins '3[.]' 'the second run is right-sized' '2 CPUs, [0-9]G of memory' '90 CPUs, 439G of memory'
twins '4[.]' 'an open type starts' 'started after [0-9]+ s on v[12], which has A40' 'PENDING, .*'
twins '5[.]' 'two jobs share a node' 'jobs [0-9 ]+: side by side' 'jobs [0-9 ]+: one after the other'
twins '2,' 'a dead guard ends no job' 'job [0-9]+ runs, limit 12:00:00' 'limit 12:00:00'
like 'every ten seconds comes what it waits for' "${said//$'\n'/ }" \
    '\[ +[0-9]+ s\] until .*\[ +[0-9]+ s\] until '
is 'no line of the text is wider than 100 columns' "$(awk 'length > 100' <<<"$said")" ''
is 'nothing is left' "$(ls -A "$dir")" ''

# A demonstration that cannot fail shows nothing.
status=0
said=$("$top/packaging/demo" --no-setup --build="$dir/absent" 2>&1) || status=$?
like 'a build that does not exist is an error' "$status $said" "^1 .*demo: .*$dir/absent"
done_testing
