#!/bin/bash
# soak.t - the soak of tests/live/soak, for a minute at most
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Three hundred submissions, one restart, one kill, munge stopped once. tests/live/soak
# describes the checks. Here it must find nothing, and must have done its work.

# shellcheck source=tests/live/lib/live.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/live.sh"
live_begin soak job_submit_dnnest spank_dnnest
if ! command -v python3 >/dev/null; then skip_all 'no python3'; fi
if (($(_cluster_version) != 2205)); then
    skip_all 'the requests of the soak test are those of 22.05'
fi
for program in live/crowd unit/make_bundle; do
    if [[ ! -x $build/tests/$program ]]; then
        skip_all "tests/$program is not built: 'make check' builds it"
    fi
done

said=$dir/said
soak() {
    DNNEST=$dnnest DNNEST_PLUGIN_DIR=$plugin_dir abs_top_builddir=$build \
        "$here/soak" "$@" >"$said" 2>&1
}
# Its value in the table; 0 if absent.
told() {
    sed -n "s/^ *$1  *\([0-9]*\).*/\1/p" "$said" | grep . || echo 0
}

if soak --jobs=300 --minutes=0.5 --restarts=1 --kills=1 --munge-stops=1; then
    pass 'nothing unexpected happens to three hundred submissions'
else
    fail 'nothing unexpected happens to three hundred submissions'
    diag "$(grep -A8 VIOLATION "$said" | cut -c1-600 || true)"
fi
diag "$(grep -A99 '^submissions' "$said" || tail -20 "$said")"
is 'three hundred jobs were submitted' "$(told submissions)" 300
is 'slurmctld was restarted' "$(told restarts)" 1
is 'slurmctld was killed' "$(told kills)" 1
is 'munge was stopped' "$(told 'munge stops')" 1
ok 'configurations were swapped' test "$(told 'configurations swapped')" -gt 0
ok 'jobs were changed' test "$(told changed)" -gt 5
ok 'jobs were submitted as written' test "$(told 'as written')" -gt 10

done_testing
