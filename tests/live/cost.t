#!/bin/bash
# cost.t - the programs that measure the cost of submissions work, on a few submissions
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The cost itself is not tested: tests/bench/cost measures it.

. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin cost job_submit_dnnest
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi
if [[ ! -x $build/tests/live/submit_many || ! -x $build/tests/plugin/cost ]]; then
    skip_all "tests/live/submit_many is not built: 'make check' builds it"
fi
export abs_top_srcdir=$top abs_top_builddir=$build

# --- in a controller -----------------------------------------------------------------

# The program itself checks that dnnest has decided only what it should.
status=0
table=$("$top/tests/bench/submit" --quick 2>"$dir/said") || status=$?
is 'submissions are timed in six controllers' "$status" 0
diag "$(<"$dir/said")"
for queue in 0 100; do
    for name in 'no plugin' 'no plugin, again' 'dnnest, no metadata' \
        'dnnest, eight candidates, repeated' 'dnnest, eight candidates, new'; do
        like "$name is timed with $queue jobs in the queue" "$table" \
            "\| $queue \| $name \| 20 \| [0-9]+ \| [+-][0-9]+ \| [0-9.]+ \|"
    done
done
for goal in 'a repeated full decision at most 60 us' 'a new full decision at most 150 us'; do
    like "what came out is in the table beside the goal: $goal" "$table" \
        "\| $goal: us, sdiag \| -?[0-9]+ \| -?[0-9]+ \|"
done
like "the plugin's own time is in the table" \
    "$table" "own clock: mean us \| [0-9]+ \| [0-9]+ \|"
like 'the decisions that were given up are counted' "$table" \
    'new: [0-9]+ of 60 jobs were decided, [0-9]+ given up after DecisionTime'

# The plugin's one thread.
threads() {
    sed -nE "s/^\| $1 \| [0-9.]+ \| ([0-9]+) \|$/\1/p" <<<"$table"
}
is 'a controller that decides has the same threads as one that need not' \
    "$(threads 'dnnest, eight candidates, new')" "$(threads 'dnnest, no metadata')"
resident=$(sed -nE 's/^\| dnnest, eight candidates, new \| ([0-9]+)[0-9.]* \| [0-9]+ \|$/\1/p' <<<"$table")
plain=$(sed -nE 's/^\| no plugin \| ([0-9]+)[0-9.]* \| [0-9]+ \|$/\1/p' <<<"$table")
ok 'a controller with the plugin has at most 64 MiB more than one without it' \
    test "$((resident - plain))" -le 64

# --- in the plugin -------------------------------------------------------------------

table=$("$build/tests/plugin/cost" 2)
while read -r name; do
    like "$name is timed in the plugin alone" "$table" "\| $name \| warm \| [0-9.]+ \|"
done < <("$build/tests/plugin/cost" --list)

done_testing
