# shellcheck shell=bash
# tap.sh - a small TAP producer for shell tests, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
#   ok TITLE COMMAND...         passes when the command succeeds
#   not_ok TITLE COMMAND...     passes when the command fails
#   is TITLE GOT WANT           passes when the two strings are equal
#   like TITLE GOT REGEX        passes when GOT matches the extended regular expression
#   pass TITLE, fail TITLE      the verdict is already known
#   skip TITLE REASON           counts as skipped
#   skip_all REASON             no test can run here: says so and exits 0
#   diag TEXT...                a comment; several lines become several comments
#   done_testing                prints the plan; its status is the test file's
#
# A title is a sentence that is true. A failed check still returns 0, so that under 'set -e'
# one failure does not hide the next; done_testing gives the verdict.

tap_count=0
tap_failed=0

diag() {
    local text="$*"
    # To stdout as well, so that a comment stays beside its test in a log.
    printf '# %s\n' "${text//$'\n'/$'\n# '}"
}

pass() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s\n' "$tap_count" "$1"
}

fail() {
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$1"
    diag "at ${BASH_SOURCE[-1]##*/} line ${BASH_LINENO[-2]}"
}

skip() {
    tap_count=$((tap_count + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$1" "$2"
}

ok() {
    local title=$1 out status=0
    shift
    out=$("$@" 2>&1) || status=$?
    if ((status == 0)); then
        pass "$title"
        return
    fi
    fail "$title"
    diag "exit status $status of: $*"
    [[ -z $out ]] || diag "$out"
}

not_ok() {
    local title=$1 out
    shift
    if ! out=$("$@" 2>&1); then
        pass "$title"
        return
    fi
    fail "$title"
    diag "unexpected success of: $*"
    [[ -z $out ]] || diag "$out"
}

is() {
    if [[ $2 = "$3" ]]; then
        pass "$1"
        return
    fi
    fail "$1"
    diag "     got: $2"
    diag "expected: $3"
}

like() {
    if [[ $2 =~ $3 ]]; then
        pass "$1"
        return
    fi
    fail "$1"
    diag "          got: $2"
    diag "does not match: $3"
}

skip_all() {
    printf '1..0 # SKIP %s\n' "$1"
    exit 0
}

done_testing() {
    printf '1..%d\n' "$tap_count"
    if ((tap_failed > 0)); then
        diag "$tap_failed of $tap_count failed"
        return 1
    fi
}
