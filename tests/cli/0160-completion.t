#!/bin/bash
# 0160-completion.t - the scripts for shells have the words of the tables
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

"$DNNEST" completion bash | sed -n "/^_dnnest_table='/,/^'/p" | sed '1d;$d' > "$work/table"

# rows GROUP: its words and their kinds
rows() {
    sed -n "s/^$1 \([^ ]* [^ ]*\) .*/\1/p" "$work/table"
}

# row WORD: of rows on standard input, its kinds
row() {
    sed -n "s/^$1 //p"
}

# list EXPRESSION COMMAND...: the texts of the Python list that 'dnnest COMMAND --json' gives
list() {
    dn "$2" --json "${@:3}" | python3 -c "
import json, sys
d = json.load(sys.stdin)
print('\n'.join(sorted($1)))"
}

sorted() { LC_ALL=C sort -u; }

# --- the table --------------------------------------------------------------------------

for shell in zsh fish; do
    is "$shell has the table of bash" \
        "$("$DNNEST" completion $shell | grep -cxFf "$work/table")" "$(wc -l < "$work/table")"
done
not_ok 'no apostrophe ends the table' grep -q "'" "$work/table"
commands=$("$DNNEST" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
is 'every command is offered, in the order of the help' "$(rows dnnest | cut -d' ' -f1)" \
    "$commands"$'\nhelp\n--help\n--version'
for command in $commands; do
    help=$("$DNNEST" "$command" --help)
    is "every option of $command is offered" \
        "$(rows "$command" | grep -- ^-- | sed 's/[= ].*//' | sorted)" \
        "$(sed -nE 's/^  (-., |    )(--[a-z-]+).*/\2/p; /^  --/s/ +/\n/gp' <<<"$help" \
            | grep . | sorted)"
    while read -r option argument; do
        kinds=$(rows "$command" | row "$option=")
        case $argument in
            FILE) like "$command $option completes files" "$kinds" '@files' ;;
            DIR) is "$command $option completes directories" "$kinds" @directories ;;
            *'|'*)
                if [[ $argument != *[[:upper:]]* ]]; then
                    is "$command $option completes its values" "$kinds" "${argument//|/,}"
                fi
                ;;
        esac
    done < <(sed -nE 's/^  (-., |    )(--[a-z-]+)\[?=([^] ]+)\]? .*/\2 \3/p' <<<"$help")
done
is 'an option whose argument may be left out is offered both ways' \
    "$(rows predict | grep cpu-curve)" $'--cpu-curve -\n--cpu-curve= -'
is 'arguments are completed by what the usage calls them' \
    "$(for command in predict check zoo model; do rows "$command" | row -; done)" \
    $'@name,@spec\n@name,@spec,@files,@files\n@networks\nshow,verify,@directories'
is 'a group of report is completed' "$(rows report | row --by=)" \
    user,account,partition,model,app,type
is 'every metadata key is offered' "$(rows spec | sed 's/ .*//' | sorted)" \
    "$(list '[x["key"] + "=" for x in d["keys"]]' check --keys | sorted)"
is 'the values of keys are offered' \
    "$(list '[x["key"] + "= " + x["range"].replace(" ", ",") for x in d["keys"]
        if x["type"] == "enum"]' check --keys | LC_ALL=C comm -23 - <(rows spec | sorted))" ''
is 'rules and numbers of dnnest.conf are offered' "$(rows rule | sed 's/ .*//' | sorted)" \
    "$(list '[x["key"] + "=" for x in d["rules"]] + [x["key"] + "=" for x in d["site"]
        if x["range"]]' config | sorted)"
is 'the values of rules are offered' \
    "$(list '[x["key"] + "= " + x["range"].replace(" ", ",") for x in d["rules"]
        if x["type"] == "enum"]' config | LC_ALL=C comm -23 - <(rows rule | sorted))" ''
refuses 'a shell that has no script is refused' 2 "'csh' is unknown" completion csh
refuses 'a shell must be named' 2 'is missing' completion

# --- the names of a site ----------------------------------------------------------------

# names KIND [CONF]: those of the site of the tests, or with another dnnest.conf
names() {
    timeout 60 "$DNNEST" completion "$1" --conf="${2-$work/site.conf}" \
        --hardware="$work/hardware" --datasets="$work/datasets.conf" --zoo="$work/zoo" 2>&1
}

is 'GPUs are the types of Gpu lines and their devices' "$(names gpus | sorted)" \
    $'a100\na100_sxm4_40gb\ntwin'
echo '# nothing' > "$work/none.conf"
is 'without Gpu lines all devices are offered' "$(names gpus "$work/none.conf" | sorted)" \
    "$(list '[x["name"] for x in d["devices"]]' hardware | sorted)"
names networks | sorted > "$work/networks"
is 'every network of the zoo is offered' \
    "$(list '[x["name"] for x in d["networks"]]' zoo | sorted \
        | LC_ALL=C comm -23 - "$work/networks")" ''
is 'a name of a hub that is offered is known' \
    "$(grep - "$work/networks" | sed -n '1~7p' | while read -r name; do
        dn zoo "$name" >/dev/null 2>&1 || echo "$name"
    done)" ''
is 'a publisher is offered no network of another' \
    "$(names networks/Qwen/ | grep -c resnet || :)" 0
ok 'names of hubs are offered' test "$(grep -c - "$work/networks")" -gt 60
is 'data sets are those of the site' "$(names datasets | sorted)" \
    "$(sed -n 's/^Dataset=\([^ ]*\).*/\1/p' "$work/datasets.conf" | sorted)"
{ cat "$work/site.conf"; printf 'Nonsense=1\nGpu Type=x Device=none\n\xff\n'; } > "$work/bad.conf"
like 'a broken dnnest.conf counts as far as it can be read' "$(names gpus "$work/bad.conf")" twin
for name in 'tw$(id)' 'tw`id`' "tw'x" 'tw x' 'tw\x' 'tw;x' 'tw>x' 'tw*'; do
    printf 'Gpu Type="%s" Device=t4_16gb\n' "$name" > "$work/shell.conf"
    not_ok "a name that a shell would interpret is not offered: $name" \
        grep -qF "$name" <(names gpus "$work/shell.conf")
done
mkfifo "$work/fifo.conf"
head -c 3000000 /dev/urandom > "$work/large.conf"
for conf in missing fifo large; do
    not_ok "no dnnest.conf is no error: $conf" grep -q dnnest: <(names gpus "$work/$conf.conf")
done
done_testing
