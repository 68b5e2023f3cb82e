#!/bin/bash
# layering.t - a room includes only rooms to its left
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# In the order of the data. The files above the rooms come last.
rooms=(base request spec graph hardware predict policy rewrite)

# The includes of every file, found once: the headers of our own, and the others.
declare -A own=() system=()
while IFS=: read -r file text; do
    text=${text#*[\"<]}
    header=${text%%[\">]*}
    if [[ $text = "$header\""* ]]; then own[$file]+=" $header"; else system[$file]+=" $header"; fi
done < <(cd "$top" && grep -rE --include='*.[ch]' '^# *include ["<]' "${OURS[@]}")

# knows FOLDER REGEX: of our own headers, a file of FOLDER includes only those in its
# directory or below FOLDER, or that match.
knows() {
    local folder=$1 file header
    for file in $(c_files "$folder"); do
        for header in ${own[$file]-}; do
            [[ $header =~ ^($2)$ || -e $top/${file%/*}/$header || -e $top/$folder/$header \
                || $header = "$folder"/* && -e $top/$header ]] || echo "$file includes $header"
        done
    done
}

allowed=
for room in "${rooms[@]}"; do
    allowed+="${allowed:+|}$room/.*"
    is "model/$room includes nothing to its right" "$(knows "model/$room" "$allowed")" ''
done

is 'no room includes site.h, cache.h or advise.h' \
    "$(for file in $(c_files "${rooms[@]/#/model/}"); do
        for header in ${own[$file]-}; do
            [[ ! $header =~ ^(site|cache|advise)\.h$ ]] || echo "$file includes $header"
        done
    done)" ''
is 'every folder of model/ is a room' \
    "$(cd "$top/model" && for dir in */; do
        [[ " ${rooms[*]} " = *" ${dir%/} "* ]] || echo "$dir"
    done)" ''

# --- around the model ------------------------------------------------------------------

model="$allowed|site\\.h|cache\\.h|advise\\.h"
is 'host/ knows model/' "$(knows host "$model")" ''
is 'plugin/ knows model/, host/ and, on the client, one importer' \
    "$(knows plugin "$model|host/.*|import/hf_config\\.h")" ''
is 'learn/ knows the rooms' "$(knows learn "$allowed")" ''
is 'import/ knows the rooms up to graph' \
    "$(knows import '(base|request|spec|graph|generated)/.*')" ''
is 'jobs/ knows model/, host/ and learn/' "$(knows jobs "$model|(host|learn)/.*")" ''
is 'cli/ knows model/, host/, learn/, jobs/ and import/' \
    "$(knows cli "$model|(host|learn|jobs|import|generated)/.*")" ''
is 'dev/ knows model/, host/, learn/, jobs/, import/ and what every command has' \
    "$(knows dev "$model|(host|learn|jobs|import|generated|output|process)/.*|[a-z_]+\\.h")" ''
is 'daemon/ knows model/, host/, learn/, jobs/ and, of captures, one importer' \
    "$(knows daemon "$model|(host|learn|jobs)/.*|import/hf_capture\\.h")" ''
is 'guard/ knows model/, host/ and the loop of daemon/' \
    "$(knows guard "$model|host/.*|(slurm/slurm_link|task|loop|round)\\.h")" ''
is 'bench/ knows model/, host/, learn/ and what every command has' \
    "$(knows bench "$model|(host|learn)/.*|(common|replace|dev_commands)\\.h|(process|output)/.*")" ''

# --- libraries and the system ------------------------------------------------------------

# who_includes REGEX: the files that include a header of the system that matches.
who_includes() {
    local file
    for file in $(c_files "${OURS[@]}"); do
        for header in ${system[$file]-}; do
            if [[ $header =~ $1 ]]; then
                echo "$file"
                break
            fi
        done
    done
}

is 'only learn/ knows libxgboost' "$(who_includes '^xgboost/' | grep -v '^learn/')" ''
is 'only the store of finished jobs knows SQLite' \
    "$(who_includes '^sqlite3\.h$')" 'jobs/store_parts.h'
is 'only daemon/collect knows libcurl' \
    "$(who_includes '^curl/' | grep -v '^daemon/collect/')" ''
is 'model/ includes no header of Slurm, of files or of the system' \
    "$(who_includes '^(slurm/|sys/|unistd|fcntl|dirent|time\.h|pthread|signal|locale|assert|errno|curl/|sqlite|csv\.h)' \
        | grep '^model/')" 'model/base/err.c'
is 'model/base/err.c includes errno.h and no other of these headers' \
    "$(tr ' ' '\n' <<<"${system[model/base/err.c]}" | grep -E '^(errno|sys/|unistd)')" 'errno.h'
is 'only plugin/submit, plugin/spank and daemon/slurm know Slurm' \
    "$(who_includes '^slurm/' | grep -Ev '^(plugin/(submit|spank)|daemon/slurm)/')" ''
# The script of a submission is read in one pass. Besides it, the gate of advise.c looks
# for the first mark, and the draw of a control group takes the text as a seed.
is 'one file of model/ cuts a script into words' \
    "$(cd "$top" && grep -rlE 'dn_tokens_(of|next) \(' model --include='*.c' | sort | xargs)" \
    'model/request/script.c model/request/tokens.c'
is 'the pass, the gate and the draw alone take the text of a script' \
    "$(cd "$top" && grep -rlE 'job->script\b' model --include='*.c' | sort | xargs)" \
    'model/advise.c model/policy/control.c model/request/steps.c'
is 'names of C files are unique in the tree' \
    "$(c_files "${OURS[@]}" | sed 's|.*/||' | sort | uniq -d)" ''
done_testing
