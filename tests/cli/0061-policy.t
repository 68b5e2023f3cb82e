#!/bin/bash
# 0061-policy.t - whom a rule applies to, settings of slurm.conf, and all errors in one run
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

owner=$(id -un)
uid=$(id -u)

# conf LINE...: the site with these lines after its two Gpu lines, from line 4 on
conf() {
    sed -n 2,3p "$work/site.conf" > "$work/new.conf"
    printf '%s\n' 'Mode=advise MinConfidence=0' "$@" >> "$work/new.conf"
}
slurm_conf() { printf '%b' "$*" > "$work/slurm.conf"; }
# rule TITLE KEY VALUE FROM ARGUMENT...: what 'dnnest config' prints for one rule
rule() {
    json "$1" "[(r['value'], r['from']) for r in d['rules'] if r['key'] == '$2'] == [('$3', '$4')]" \
        config --conf "$work/new.conf" "${@:5}"
}

# --- submitters ----------------------------------------------------------------------

conf 'Policy Partition=debug,test Mode=observe' 'Policy Account=course Mode=enforce TimeMargin=0.5' \
    'Policy Partition=test Account=course QOS=exam TimeMargin=0.3' \
    "Policy User=$owner Cpus=keep" 'Policy User=1234 Group=0,77 GpuType=keep'
rule 'without a submitter the rules are those of the site' Mode advise new.conf:3
rule 'a default is marked as one' Cpus choose default
rule 'a partition has its own rules' Mode observe new.conf:4 --partition=debug
rule 'the strictest value of two lines holds' Mode observe new.conf:4 -A course -p debug
rule 'a user is matched by name' Cpus keep new.conf:7 --user="$owner"
rule 'a group is matched by name' \
    GpuType keep new.conf:8 --user=1234 --group="$(getent group 0 | cut -d: -f1)"
json 'JSON has the lines, and which of them match' \
    '[(p["line"], p["for"], p["sets"], p["matches"]) for p in d["policies"]][:2] == [
        (4, {"Partition": "debug,test"}, {"Mode": "observe"}, True),
        (5, {"Account": "course"}, {"Mode": "enforce", "TimeMargin": "0.5"}, False)]' \
    config --conf "$work/new.conf" -p debug
json 'JSON has the scopes' \
    '[k["key"] for k in d["policy_keys"]] == ["Partition", "Account", "QOS", "User", "Group"]' \
    config --conf "$work/new.conf"
json 'JSON states which value is stricter' \
    '{r["key"]: r["stricter"] for r in d["rules"]}["TimeLimit"] == "keep time_min auto limit"
     and {r["key"]: r["stricter"] for r in d["rules"]}["NeverRaise"] == "yes no"
     and {r["key"]: r["stricter"] for r in d["rules"]}["TimeMargin"] == "more"
     and {r["key"]: r["stricter"] for r in d["rules"]}["Message"] is None' config
gives 'the text has file and line of a value' 0 \
    $'\nMode +observe +new.conf:4 .*\nline 4: Policy Partition=debug,test Mode=observe \(matches\)\nline 5: Policy Account=course .* \(does not match\)' \
    config --conf "$work/new.conf" -p debug
gives 'without a submitter the Policy lines are only shown' 0 \
    $'\nline 4: Policy Partition=debug,test Mode=observe\n' config --conf "$work/new.conf"
rule '--set overrides Policy lines' Mode enforce --set --set=Mode=enforce -p debug
rule '--set overrides Policy lines for its own key only' \
    TimeMargin 0.5 new.conf:5 --set=Mode=enforce -A course
refuses 'a user that does not exist is an error' 2 "--user: User: 'no-such-user' is not known" \
    config --user=no-such-user
refuses 'a group that does not exist is an error' 2 "--group: Group: 'no-such-group' is not known" \
    config --group=no-such-group

# --- slurm.conf and dnnest.conf ------------------------------------------------------

slurm_conf 'ClusterName=x\n' 'slurmctldparameters = enable_rpc_queue,dnnest_mode=observe # x\n'
rule 'slurm.conf overrides dnnest.conf' Mode observe slurm.conf
rule '--set overrides slurm.conf' Mode enforce --set --set=Mode=enforce
slurm_conf 'SlurmctldParameters=dnnest_mode=enforce\n'
rule 'jobs of no Policy line get the setting of slurm.conf' Mode enforce slurm.conf
slurm_conf 'NodeName=a CPUs=1 \\\n' '   SlurmctldParameters="dnnest_mode=observe,dnnest_cpus=keep"\n' \
    '#SlurmctldParameters=dnnest_mode=enforce\n'
rule 'lines of slurm.conf may be continued, and values quoted' Cpus keep slurm.conf
slurm_conf 'SlurmctldParameters=dnnest_mode=observe\nSlurmctldParameters=dnnest_mode=enforce'
rule 'the last of two lines of slurm.conf counts' Mode enforce slurm.conf
slurm_conf 'SlurmctldParameters=dnnest_mode=wild\n'
refuses 'a wrong value in slurm.conf is an error that names it' 3 \
    "slurm.conf: SlurmctldParameters: Mode: 'wild' is unknown" config --conf "$work/new.conf"
slurm_conf 'SlurmctldParameters=dnnest_mood=enforce\n'
refuses 'an unknown key in slurm.conf is an error that names it' 3 \
    "unknown key 'mood'" config --conf "$work/new.conf"
head -c 9999 /dev/urandom > "$work/slurm.conf"
try config --conf "$work/new.conf"
is 'a slurm.conf of noise does no harm' "$code" 0
slurm_conf "SlurmctldParameters=$(printf 'x%.0s' {1..5000})\n"
try config --conf "$work/new.conf"
like 'a line of slurm.conf that is too long has a warning and is left out' "$code $err" \
    '^0 dnnest: .*slurm.conf: line 1: SlurmctldParameters: .*longer than 4095 characters; going on without'

# --- files that slurm.conf includes ----------------------------------------------------

# part NAME TEXT...: a file beside slurm.conf
part() {
    mkdir -p "$(dirname "$work/$1")"
    printf '%b' "${@:2}" > "$work/$1"
}
mode() { rule "$1" Mode "$2" slurm.conf; }
# broken TITLE REGEX: slurm.conf has a warning, and is left out
broken() {
    try config --conf "$work/new.conf"
    like "$1" "$code $err" "^0 dnnest: $work/$2; going on without slurm.conf$"
    rule "$1: its other lines are left out, too" Mode advise new.conf:3
}
part parts.conf 'SlurmctldParameters=dnnest_mode=observe\n'
slurm_conf 'Include parts.conf\n'
mode 'a file that slurm.conf includes is read' observe
slurm_conf 'SlurmctldParameters=dnnest_mode=enforce\ninclude \\\n' "  $work/parts.conf\\t# all\n"
mode 'a value of an included file overrides an earlier one' observe
slurm_conf 'INCLUDE parts.conf\nSlurmctldParameters=dnnest_mode=enforce\n'
mode 'a value after the Include line overrides that of the file' enforce
slurm_conf '#Include parts.conf\n Include parts.conf\nIncludes parts.conf\nSlurmctldParameters=dnnest_mode=enforce\n'
mode 'Include counts only as the first word of a line' enforce
slurm_conf 'ClusterName=Alpha\nInclude %c/%c.conf\n'
part alpha/alpha.conf 'Include nested.conf\n'
part nested.conf 'SlurmctldParameters=dnnest_mode=observe\n'
part alpha/nested.conf 'SlurmctldParameters=dnnest_mode=enforce\n'
mode '%c is ClusterName, and a relative file is beside slurm.conf' observe
rm "$work/nested.conf"
mode 'a relative file that is not there is beside the file that includes it' enforce
slurm_conf 'Include %c.conf\nClusterName=alpha\nSlurmctldParameters=dnnest_mode=enforce\n'
broken '%c before ClusterName is an error' 'slurm.conf: line 1: Include: %c needs a ClusterName before it'
slurm_conf 'SlurmctldParameters=dnnest_mode=enforce\n\nInclude alpha/alpha.conf\n'
part alpha/alpha.conf '# a \\\n# b\nInclude none.conf\n'
broken 'a missing file is an error with the line that includes it' \
    'alpha/alpha.conf: line 3: .*: No such file or directory'
part alpha/alpha.conf "SlurmctldParameters=$(printf 'x%.0s' {1..5000})\n"
broken 'a line of an included file that is too long is an error with its place' \
    'alpha/alpha.conf: line 1: SlurmctldParameters: .*longer than 4095 characters'
rm "$work/alpha/alpha.conf"
mkfifo "$work/alpha/alpha.conf"
broken 'an included FIFO is an error' 'slurm.conf: line 3: .*: not a regular file'
slurm_conf 'SlurmctldParameters=dnnest_mode=enforce\nInclude slurm.conf\n'
broken 'a file that includes itself is an error' \
    'slurm.conf: line 2: Include: files nest more than 16 deep'
slurm_conf '# a comment \\\nSlurmctldParameters="dnnest_mode=observe" # \\\n'
mode 'a backslash at the end of a comment joins no lines' observe
slurm_conf 'SlurmctldParameters=\\ \t\ndnnest_mode=observe\n'
mode 'blanks may follow the backslash at the end of a line' observe
part empty.conf ''
slurm_conf "SlurmctldParameters=dnnest_mode=enforce\n$(printf 'Include empty.conf\\n%.0s' {1..1001})"
broken 'more than a thousand files are an error' 'slurm.conf: line 1002: Include: more than 1000 files'
printf '%*s' 9000000 '' > "$work/large.conf"
slurm_conf 'Include large.conf\nInclude large.conf\n'
broken 'files of more than 16 MiB are an error' 'slurm.conf: line 2: .*: 9000000 bytes, expected at most [0-9]+'
rm "$work/slurm.conf"

# --- the minimum time ----------------------------------------------------------------

conf TimeLimit=time_min Mode=enforce
job=(--comment="dnnest:$short" -G a100:1 -t 1-0)
is 'TimeLimit=time_min is refused in one line if Slurm has no soft limit' \
    "$(dn advise --conf "$work/new.conf" --slurm=24.11 "${job[@]}" 2>&1 >/dev/null)" \
    'dnnest: TimeLimit=time_min needs Slurm 24.11 and SchedulerParameters=time_min_as_soft_limit: time limits are kept'
slurm_conf 'SchedulerParameters=bf_interval=2,time_min_as_soft_limit'
json 'with 24.11 and a soft limit TimeLimit=time_min sets the minimum time' \
    'd["decision"]["time_min_s"] == 1800 and d["decision"]["time_limit_s"] is None
     and {"field": "time_min", "old": None, "new": 30} in d["edits"]
     and not [e for e in d["edits"] if e["field"] == "time_limit"]' \
    advise --conf "$work/new.conf" --slurm=24.11 "${job[@]}"
# tests/unit/extend.c and tests/unit/site.c have what auto is.

# advises TITLE VERSION REGEX: of the check of a right file
advises() {
    gives "$1" 0 "$3" config --check --slurm="$2" "$work/new.conf"
}
conf Mode=enforce
slurm_conf 'SchedulerParameters=bf_interval=2'
parameter='SchedulerParameters=time_min_as_soft_limit in slurm.conf lets Slurm plan'
advises 'the parameter is recommended from 24.11 on' 24.11 "new.conf: ok"$'\n'"advice: $parameter"
advises 'before 24.11 a guard is recommended' 24.05 'advice: no guard is alive: while dnnestd runs'
json 'JSON has the advice' "d['advice'].startswith('$parameter')" \
    config --check --slurm=25.05 "$work/new.conf"
slurm_conf 'SchedulerParameters=time_min_as_soft_limit'
json 'with the parameter there is no advice' 'd["advice"] is None' \
    config --check --slurm=24.11 "$work/new.conf"
conf TimeLimit=limit
advises 'a guard is recommended where limits are to be lowered with 24.11, too' 24.11 \
    'advice: no guard is alive'
conf TimeLimit=keep
json 'without limits by dnnest there is no advice' 'd["advice"] is None' \
    config --check --slurm=22.05 "$work/new.conf"
mkdir "$work/state"
chmod 755 "$work/state"
conf TimeLimit=limit StateDir="$work/state"
for seconds in 0 400; do
    printf '%s\n' "Guard Version=2 Time=$(($(date +%s) - seconds)) Interval=60" "End Users=0" \
        >"$work/state/guard"
    chmod 644 "$work/state/guard"
    json "a guard that was alive $seconds s ago" "(d['advice'] is None) == ($seconds == 0)" \
        config --check --slurm=22.05 "$work/new.conf"
done
refuses 'a version that is none is a usage error of config' 2 "'x' is not a version" \
    config --slurm=x
rm "$work/slurm.conf"

# --- the dry run ---------------------------------------------------------------------

conf Mode=enforce 'Policy Partition=debug Mode=observe' "Policy User=$uid MaxSlowdown=2.5"
json 'advise has the rules of the job' 'd["decision"]["mode"] == "observe" and d["message"] is None' \
    advise --conf "$work/new.conf" -p debug "${job[@]}"
for deadline in now+10minutes now+10minute now+600 "$(date -d '+10 min' +%FT%T)"; do
    json "a move keeps --deadline=$deadline" \
        'd["decision"]["gpu"] is None and any("might not meet the deadline" in r for r in d["reasons"])' \
        advise --conf "$work/new.conf" --deadline="$deadline" "${moving[@]}" "${job[@]}"
done
json 'a deadline that is far away does not matter' 'd["decision"]["gpu"] == "twin"' \
    advise --conf "$work/new.conf" --deadline=now+2days "${moving[@]}" "${job[@]}"
try advise --conf "$work/new.conf" --deadline=teatime "${job[@]}"
like 'a deadline in another form has a warning and is ignored' "$code $err" \
    '^0 dnnest: warning: --deadline=teatime is not supported'

# --- all errors ----------------------------------------------------------------------

# faults TITLE LINE...: 'config --check' prints exactly these, and exits with 3
faults() {
    local title=$1
    shift
    try config --check "$work/new.conf"
    is "$title" "$code $out$(sed "s|^dnnest: $work/new.conf: ||; s|^dnnest: ||" "$work/err" | sort)" \
        "3 $(printf '%s\n' "$@" | sort)"
}
conf 'Mode=wild TimeMargin=-1' 'Policy User=no-such-user Mode=observe' 'Gpu Type=x Device=y' \
    'DecisionLog=here' '"' 'Policy Partition=a'
faults 'all errors are reported, each with its line' \
    "line 4: Mode: 'wild' is unknown, expected one of observe advise enforce" \
    'line 4: TimeMargin: -1 out of range 0..10' \
    "warning: $work/new.conf: line 5: User: 'no-such-user' is not known, the name is skipped" \
    "line 6: Device: 'y' is not in the hardware catalogue" \
    "line 7: DecisionLog: 'here' is not an absolute path" \
    "line 8: '?' is not of the form Key=Value" \
    'line 9: a Policy line needs a scope (Partition=, Account=, QOS=, User=, Group=) and a rule'
try config --check --json "$work/new.conf"
is 'all errors are reported in JSON' \
    "$code $(value 'len(d["errors"]), d["errors"][0].endswith("is not an absolute path")' "$work/out")" \
    '3 (6, True)'
conf 'DataDir=/nonexistent' 'Mode=wild' 'Gpu Type=x Device=y'
try config --check="$work/new.conf"
like 'a missing catalogue does not stop the check of the rest' "$code $err" \
    "^3 dnnest: /nonexistent/hardware: cannot be opened.*"$'\n'"dnnest: .*line 5: Mode: 'wild'"
conf 'Policy User=no-such-user,root Mode=observe' 'Policy Group=no-such-group Cpus=keep' \
    TimeLimit=keep
try config --check "$work/new.conf"
is 'a user and a group that do not exist are warnings, and the file is right' "$code $out $err" \
    "0 $work/new.conf: ok dnnest: warning: $work/new.conf: line 4: User: 'no-such-user' is not known, the name is skipped
dnnest: warning: $work/new.conf: line 5: Group: 'no-such-group' is not known, the name is skipped"
json 'JSON has them as warnings' \
    'd["errors"] == [] and [w[:7] for w in d["warnings"]] == ["line 4:", "line 5:"]' \
    config --check "$work/new.conf"
rule 'the other names of their line match' Mode observe new.conf:4 --user=root
rule 'a line without another name matches no job' Cpus choose default --user=root
conf
gives 'a file without errors is right' 0 'new.conf: ok' config --check "$work/new.conf"
gives '--check=FILE reports that the file is right' 0 \
    'new.conf: ok' config --check="$work/new.conf"
gives '--check of a file given with --conf reports that it is right' 0 \
    'new.conf: ok' config --conf "$work/new.conf" --check
json 'a file without errors has an empty list in JSON' \
    'd["errors"] == [] and d["conf"].endswith("/new.conf")' \
    config --check "$work/new.conf"
refuses '--check takes one file' 2 'unexpected argument' config --check a b
refuses 'config without --check takes no file' 2 'unexpected argument' config "$work/new.conf"

{
    sed -n 2,3p "$work/site.conf"
    for ((i = 0; i < 100000; i++)); do echo 'Policy QOS=a'; done | head -c 1000000
} > "$work/new.conf"
try config --check "$work/new.conf"
is 'a hundred thousand wrong lines end in a hundred messages' \
    "$code $(wc -l < "$work/err") $(tail -1 "$work/err")" '3 101 dnnest: and 76824 more'
done_testing
