#!/bin/bash
# messages.t - messages are in base/messages.inc, and nowhere else
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

readonly CATALOGUE=model/base/messages.inc

# literals FILE...: the texts with words in C files, as FILE:LINE: TEXT. Names of metrics,
# lists of words and formats of JSON are not texts with words.
literals() {
    (cd "$top" && python3 - "$@" <<'EOF'
import re
import sys

TOKEN = re.compile(r"""/\*.*?\*/ | ^\#\s*include[^\n]* | ^_Static_assert.*?; | \.help\ =\ "[^"]*"
    | \w*(?:keys|known)\[\]\ =\s.*?; | dn_json_(?:read|known)_keys\ \([^";]*"[^;]*;
    | ^static\ const\ struct\ dn_(gpu_)?key\ (gpu_)?keys\[\]\ =\ \{.*?^\};
    | ^(static\ )?const\ struct\ dn_(feature_key|constant_field)\ \w+\[\w+\]\ =\ \{.*?^\}; | '(?:[^'\\]|\\.)+'
    | "(?:[^"\\]|\\.)*" (?:\s* (?:PRI\w+ \s*)? "(?:[^"\\]|\\.)*")* (?:\s*PRI\w+)?""", re.X | re.S | re.M)
# Not said to anyone: keys of JSON, the help of keys, options, tasks and metrics, what a
# digest begins with, words that are looked for in scripts, and what SQL and other programs read. Nor
# what is said of each constant and feature: TOKEN skips their tables.
SILENT = [
    (r"model/base/base\.h", r"a name for each constant"),
    (r"model/(graph/(adapters|tune|zoo/names)|spec/synonyms|hardware/gpu_names)\.c", r"[a-z0-9]+([ _-][a-z0-9]+)*"),
    (r"model/policy/rules\.h|plugin/submit/versions\.h", r".*"),
    (r"model/policy/scope\.c", r".*(of the job|job names|of its owner).*"),
    (r"model/policy/control\.c", r"dnnest control group %d"),
    (r"model/request/(fingerprint|script|vocabulary)\.c", r"[^A-Z%]*|(\. :|Rscript|snakemake|false|jl R) .*|(-+\w+ ?)+"),
    (r"model/spec/spec\.c", r"amount of work"),
    (r"model/site\.h", r"(age|bytes|CPU time|days|director|energy|file|grams|images|jobs|public keys|seconds|table|text|tokens|URL|where)[a-z ]* .*"),
    (r"host/daemon_status\.h", r"[A-Z].*\."),
    (r"daemon/rescue/evidence\.c", r"oom.kill event|exceeded memory limit \("),
    (r"host/progress_file\.c", r"(report|out_of_memory) %d.*|.*[Oo]ut of memory|OOM when .*"),
    (r"daemon/dnnestd\.c", r"usage: .*|\\n  -D .*|\)\\n  --help .*|dnnestd %s\\n"),
    (r"guard/dnnest_guard\.c", r"usage: .*|\)\\n  --help .*|dnnest-guard %s\\n"),
    (r"daemon/ticks\.c", r"(dnnest|%s_|\# |1 if |[A-Z]).*"),
    (r"daemon/collect/collect_task\.c", r'\{\\"source\\".*'),
    (r"daemon/collect/prometheus\.c", r"( and nvidia_|\)|==0 and |<[0-9]+\) or ).*"),
    (r"jobs/finished\.c", r"None assigned"),
    (r"jobs/store(_read|_db)?\.c", r".*(SELECT|INSERT|DELETE|UPDATE|VALUES|WHERE|AND|ORDER|FROM|coalesce|PRAGMA|BEGIN|TABLE|NULL|SQLite format)( .*|)"),
    (r"plugin/submit/job_submit_dnnest\.c", r"dnnest: right-sizes deep-learning jobs"),
    (r"plugin/spank/spank_dnnest\.c", r"how the job trains: .*"),
    (r"plugin/spank/help\.c", r".*"),
    (r"plugin/trace/counters\.c", r"([A-Z#\\].*\.?|dnnest_.*)"),
]

def words(text):
    text = re.sub(r"%[-0-9.*]*(ll|l|z)?[a-zA-Z%]", "", text)
    piece = re.search(r"^ ?[a-z]{3,} $|^ [a-z]{3,}$", text)
    return piece or " " in text.strip(" ") and re.search(r"[A-Za-z]{2}", text)

for name in sys.argv[1:]:
    source = open(name).read()
    for token in TOKEN.finditer(source):
        if token[0][0] != '"':
            continue
        text = re.sub(r'"\s*PRI\w+\s*"', "d", token[0])
        text = re.sub(r'"\s*PRI\w+$', 'd"', text)
        text = re.sub(r'"\s*"', "", text)[1:-1]
        if words(text) and not any(re.fullmatch(file, name) and re.fullmatch(silent, text)
                                   for file, silent in SILENT):
            print(f"{name}:{source[:token.start()].count(chr(10)) + 1}: {text}")
EOF
    )
}

readonly ROOMS=(model host plugin daemon guard jobs)
mapfile -t files < <(c_files "${ROOMS[@]}")
is "no message is written in ${ROOMS[*]}" "$(literals "${files[@]}")" ''

# The check itself: what it finds, and what it does not.
sample=$work/sample.c
cat >"$sample" <<'EOF'
_Static_assert(N == 1,
               "a reason of the compiler");
/* "a comment" */
#include "base/text.h"
f ("moved to %s", "time_limit", "%s: %s", 'x', "\"");
f ("a long "
   "text %" PRId64 " here", " kept", "kept ");
EOF
is 'a message elsewhere is found' "$(literals "$sample" | sed 's/.*:\([0-9]*: \)/\1/')" \
    '5: moved to %s
6: a long text %d here
7:  kept
7: kept '
# with_message FILE...: the files below $work, each with a new message at its end
with_message() {
    local file
    for file; do
        mkdir -p "$work/${file%/*}" \
            && { cat "$top/$file" && echo 'f ("node %s is not known");'; } >"$work/$file"
    done
}
# But for files that have other texts only, such as the help of options.
readonly WHOLE='policy/rules\.h|submit/versions\.h|spank/help\.c'
mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -vE "$WHOLE")
with_message "${files[@]}"
is 'a new message is found in each file of these rooms' \
    "$(top=$work literals "${files[@]}" | grep -c ': node %s is not known$')" "${#files[@]}"

# logged FILE...: lines of dnnestd's log, also without words, that are literals
logged() { cat "$@" | tr -s ' \n' ' ' | grep -oE 'dn_log \([^,"]*, "[^"]*"' | grep -v '"%s"$'; }
is 'each line of the log of dnnestd is in the catalogue' \
    "$(mapfile -t sources < <(c_files daemon); cd "$top" && logged "${sources[@]}")" ''
is 'a line of the log elsewhere is found' \
    "$(printf 'dn_log (DN_LOG_INFO,\n        "guard: %%s",\n        text);\n' | logged -)" \
    'dn_log (DN_LOG_INFO, "guard: %s"'

ids() {
    sed -nE -e 's/^DN_(MESSAGE|LISTED) \([A-Z]+, ([a-z0-9_]+),.*/\2/p' \
        -e 's/^DN_ERROR \([A-Z]+, ([a-z0-9_]+),.*/err_\1/p' "$top/$CATALOGUE"
}
ok 'the catalogue has messages' test "$(ids | wc -l)" -gt 150
# used: the ids in the code; a reason is also made by DN_REASON (id, ...), and an error by
# dn_refuse (err, id, ...)
used() {
    (cd "$top" && find host jobs learn model plugin daemon guard -name '*.c' -exec cat {} + \
        | tr -s ' \n' ' ' | grep -oE '(dn_say_|DN_REASON_|DN_REASON \( ?)[a-z0-9_]+' \
        | sed -E 's/^(dn_say_|DN_REASON_|DN_REASON \( ?)//'
    cd "$top" && find host jobs learn model plugin daemon guard -name '*.c' -exec cat {} + \
        | tr -s ' \n' ' ' | grep -oE 'dn_(build_)?refuse \( ?[^,]+, [a-z0-9_]+' \
        | sed -E 's/.*, /err_/') | sort -u
}
is 'each message is used' "$(comm -13 <(used) <(ids | sort))" ''
ok 'the compiler checks formats, also that they are not variables' \
    grep -q 'DN_FLAGS -Wformat=2"' "$top/configure.ac"

# The lists of messages in the pages are made from the catalogue.
is 'the pages have the lists of all messages that the catalogue lists' \
    "$(cd "$top" && sed -n 's/^@MESSAGES //p' plugin/submit/*.scd daemon/*.scd | sort)" \
    "$(sed -nE 's/^DN_LISTED \(([A-Z]+),.*/\1/p' "$top/$CATALOGUE" | sort -u)"
done_testing
