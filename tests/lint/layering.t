#!/bin/bash
# layering.t - a room includes only what stands to its left

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
plan_later

# In the order of the data; the files that stand above the rooms come last.
rooms=(base request spec graph hardware predict policy rewrite)

# The headers of our own that a file includes.
own_includes() { sed -n 's/^# *include "\(.*\)"/\1/p' "$top/$1"; }
system_includes() { sed -n 's/^# *include <\(.*\)>/\1/p' "$top/$1"; }

# violations FOLDER ALLOWED-REGEX: includes that do not match
violations() {
    local file header
    for file in $(c_files "$1"); do
        for header in $(own_includes "$file"); do
            [[ $header =~ ^($2)$ ]] || echo "$file includes $header"
        done
    done
}

allowed=
for room in "${rooms[@]}"; do
    allowed+="${allowed:+|}$room/.*"
    # A file may name a header of its own folder without it.
    is "model/$room includes nothing to its right" \
        "$(violations "model/$room" "$allowed|[a-z_]+\.h" | while read -r file _ header; do
            [[ $header = */* || -e $top/${file%/*}/$header ]] && [[ $header = */* ]] \
                || [[ -e $top/${file%/*}/$header ]] || echo "$file includes $header"
        done)$(violations "model/$room" "$allowed|[a-z_]+\.h")" ''
done

is 'no room includes site.h or advise.h' \
    "$(for room in "${rooms[@]}"; do
        for file in $(c_files "model/$room"); do
            own_includes "$file" | grep -E '^(site|advise)\.h$' | sed "s|^|$file includes |"
        done
    done)" ''
is 'model/import uses what stands up to graph, and nothing else' \
    "$(violations model/import '(base|request|spec|graph|import|generated)/.*')" ''
is 'only model/import, cli/ and tests/ know import/' \
    "$(for file in $(c_files model plugin | grep -v '^model/import/'); do
        own_includes "$file" | grep '^import/' | sed "s|^|$file includes |"
    done)" ''
is 'every folder of model/ is a room' \
    "$(cd "$top/model" && for dir in */; do
        [[ " ${rooms[*]} import learn data " = *" ${dir%/} "* ]] || echo "$dir"
    done)" ''
is 'model/learn uses the rooms and nothing else' "$(violations model/learn "$allowed|learn/.*")" ''
is 'only model/learn, cli/ and tests/ know learn/' \
    "$(for file in $(c_files model plugin | grep -v '^model/learn/'); do
        own_includes "$file" | grep '^learn/' | sed "s|^|$file includes |"
    done)" ''
is 'only model/learn and cli/ read and write CSV' \
    "$(for file in $(c_files model plugin | grep -v '^model/learn/'); do
        system_includes "$file" | grep '^csv\.h$' | sed "s|^|$file includes |"
    done)" ''
is 'only model/predict/residual.c and model/learn know libxgboost' \
    "$(for file in $(c_files model plugin cli | grep -v '^model/learn/'); do
        system_includes "$file" | grep -q '^xgboost/' && echo "$file"
    done)" 'model/predict/residual.c'
is 'only the store of records knows SQLite' \
    "$(for file in $(c_files model plugin cli); do
        system_includes "$file" | grep -q '^sqlite3\.h$' && echo "$file"
    done)" 'model/learn/records_db.h'
is 'model/ includes no header of Slurm, of files or of the system' \
    "$(for file in $(c_files model | grep -v '^model/learn/'); do
        system_includes "$file" \
            | grep -E '^(slurm/|sys/|unistd|fcntl|dirent|time\.h|pthread|signal|locale|assert|errno|curl/|sqlite)' \
            | grep -v '^errno.h$' | sed "s|^|$file includes |"
    done)" ''
is 'only model/base/err.c knows errno' \
    "$(for file in $(c_files model | grep -v '^model/learn/'); do
        system_includes "$file" | grep -q '^errno.h$' && echo "$file"
    done)" 'model/base/err.c'
is 'only plugin/submit and plugin/spank know Slurm' \
    "$(for file in $(c_files plugin cli | grep -Ev '^plugin/(submit|spank)/'); do
        system_includes "$file" | grep '^slurm/' | sed "s|^|$file includes |"
    done)" ''
is 'plugin/ does not know cli/' \
    "$(cd "$top" && for file in $(c_files plugin); do
        for header in $(own_includes "$file"); do
            [[ -e cli/$header ]] && echo "$file includes $header"
        done
    done)" ''
is 'cli/ knows of plugin/ only how files are loaded' \
    "$(for file in $(c_files cli); do
        own_includes "$file" | grep -E '^(submit|spank)/|\.\./' | sed "s|^|$file includes |"
    done)" ''
is 'names of C files are unique in the tree' \
    "$(c_files model plugin cli | sed 's|.*/||' | sort | uniq -d)" ''
done_testing
