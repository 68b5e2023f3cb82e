#!/bin/bash
# 0160-completion.t - what may follow in a command line is what the tables have
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python
plan_later

# The options of a line for the site of the tests.
site=(--conf="$work/site.conf" --hardware="$work/hardware" --datasets="$work/datasets.conf")

# words WORD...: the answer for a line
words() {
    "$DNNEST" completion words "$@" 2>&1
}

# offers WORD...: its texts
offers() {
    words "$@" | grep -v '^: ' | cut -f1
}

# how WORD...: its last line
how() {
    words "$@" | tail -n 1
}

# of_site COMMAND WORD...: the same in a line that names the site
of_site() {
    offers dnnest "$1" "${site[@]}" "${@:2}"
}

# list EXPRESSION COMMAND...: the texts of the Python list that 'dnnest COMMAND --json' gives
list() {
    dn "$2" --json "${@:3}" | python3 -c "
import json, sys
d = json.load(sys.stdin)
print('\n'.join(sorted($1)))"
}

sorted() { LC_ALL=C sort; }

# --- commands and options ---------------------------------------------------------------

commands=$("$DNNEST" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
is 'every command is offered, in the order of the help' "$(offers dnnest '')" \
    "$commands"$'\nhelp'
is 'the options without a command are offered' "$(offers dnnest --)" $'--help\n--version'
# With sanitizers a program starts slowly, and the tables are the same.
if [[ ${DNNEST_SANITIZERS-} = yes ]]; then commands='predict config'; fi
for command in $commands; do
    help=$("$DNNEST" "$command" --help)
    is "every option of $command is offered" \
        "$(offers dnnest "$command" -- | sed 's/=$//' | sorted | uniq)" \
        "$(sed -nE 's/^  (-., |    )(--[a-z-]+).*/\2/p' <<<"$help" | sorted | uniq)"
    while read -r option argument; do
        case $argument in
            FILE) is "$command $option completes files" \
                "$(how dnnest "$command" "$option=x")" ": $((${#option} + 1)) files" ;;
            DIR) is "$command $option completes directories" \
                "$(how dnnest "$command" "$option=x")" ": $((${#option} + 1)) directories" ;;
            *'|'*)
                if [[ $argument != *[[:upper:]]* ]]; then
                    is "$command $option completes its values" \
                        "$(offers dnnest "$command" "$option=")" "${argument//|/$'\n'}"
                fi
                ;;
        esac
    done < <(sed -nE 's/^  (-., |    )(--[a-z-]+)\[?=([^] ]+)\]? .*/\2 \3/p' <<<"$help")
done
is 'an option that needs an argument is offered with = only' \
    "$(offers dnnest advise --gpus-per-n)" '--gpus-per-node='
is 'an option whose argument may be left out is offered both ways' \
    "$(offers dnnest predict --cpu-c)" $'--cpu-curve\n--cpu-curve='
is 'an unknown command has nothing' "$(words dnnest predikt --)" ': 0'
is 'the value of an option is completed in a word of its own' \
    "$(of_site predict --gpu tw)" twin
is 'after -- a command is completed, then files' \
    "$(how dnnest probe model=resnet50 -- '')$(how dnnest probe -- python x)" \
    ': 0 commands: 0 files'
is 'a command without arguments offers its options' \
    "$(offers dnnest report '')" "$(offers dnnest report --)"
is 'each argument is completed by its place' \
    "$(how dnnest-dev train --out x y)$(how dnnest-dev records x)$(how dnnest-dev train --out y)" \
    ': 0 files: 0 files: 0 directories'
is 'verbs are completed, then what they take' \
    "$(offers dnnest model s)$(how dnnest model show x)" $'show\nsign: 0 files directories'
is 'a group of report is completed' "$(offers dnnest report --by=a)" $'account\napp'

# --- GPUs, networks, rules --------------------------------------------------------------

is 'GPUs are the types of Gpu lines and their devices' \
    "$(of_site explain --gpu= | sorted)" $'a100\na100_sxm4_40gb\ntwin'
is 'a GPU that no line has is completed from the catalogue' \
    "$(of_site explain --gpu=h100_p)" h100_pcie_80gb
echo '# nothing' > "$work/none.conf"
is 'without Gpu lines all devices are offered' \
    "$(offers dnnest-dev hardware --conf="$work/none.conf" --hardware="$work/hardware" \
        --datasets "$work/datasets.conf" '' | sorted)" \
    "$(list '[x["name"] for x in d["devices"]]' hardware | sorted)"
is 'types are completed before a number of GPUs' "$(of_site advise --gpus=t)" 'twin:'
is 'every network of the zoo is offered' \
    "$(list '[x["name"] for x in d["networks"]]' zoo | LC_ALL=C sort -u \
        | LC_ALL=C comm -23 - <(of_site predict model= | sorted))" ''
is 'a name with a hyphen is completed as hubs write it' \
    "$(offers dnnest predict model=gpt2-x)$(offers dnnest predict model=gpt2_x)" gpt2-xlgpt2_xl
is 'a publisher is kept before the name of a network' \
    "$(words dnnest predict model=google/vit_b_1 | tail -n 2)" $'vit_b_16\tvit\n: 13 nospace'
# The names of hubs, those with a hyphen where the zoo has none.
for letter in {a..z}; do offers dnnest predict "model=$letter"; done \
    | sorted | uniq | LC_ALL=C comm -23 - <(of_site predict model= | sorted) > "$work/hub"
ok 'names of hubs are offered when one is begun' test "$(wc -l <"$work/hub")" -gt 60
is 'a name of a hub that is offered is known' \
    "$(sed -n '1~7p' "$work/hub" | while read -r name; do
        dn zoo "$name" >/dev/null 2>&1 || echo "$name"
    done)" ''
is 'rules and numbers of dnnest.conf are offered for --set' \
    "$(of_site config --set= | sorted)" \
    "$(list '[x["key"] + "=" for x in d["rules"]] + [x["key"] + "=" for x in d["site"]
        if x["range"]]' config | sorted)"
while read -r rule values; do
    is "the values of $rule are offered" "$(of_site advise "--set=$rule=" | tr '\n' ' ')" \
        "$values "
done < <(list '[x["key"] + " " + x["range"] for x in d["rules"] if x["type"] == "enum"]' config)
is 'letter case of a rule does not count' "$(of_site config --set=timeq)" 'TimeQuantile='

# --- metadata ---------------------------------------------------------------------------

for command in predict explain check probe; do
    is "every metadata key is offered by $command" "$(offers dnnest "$command" '' | sorted)" \
        "$(list '[x["key"] + "=" for x in d["keys"]]' check --keys | sorted)"
done
while read -r key values; do
    is "the values of $key= are offered" "$(of_site predict "batch=2,$key=" | tr '\n' ' ')" \
        "$values "
done < <(list '[x["key"] + " " + x["range"] for x in d["keys"] if x["type"] == "enum"]' \
    check --keys)
is 'a key is completed after each comma, but not a second time' \
    "$(offers dnnest predict optimizer=adam,o)" $'offload=\nobjective='
is 'the bytes before a text are counted' "$(how dnnest predict model=gpt2,batch)" ': 11 nospace'
is 'data sets are those of the site' "$(of_site predict dataset= | sorted)" \
    "$(sed -n 's/^Dataset=\([^ ]*\).*/\1/p' "$work/datasets.conf" | sorted)"
is 'a key that is 0 or 1 has these values' "$(offers dnnest check compile=)" $'0\n1'
is 'parts are completed after each +' "$(offers dnnest check frozen=norm+bi)" bias
is 'a sidecar is a file, and keys follow it' \
    "$(how dnnest predict @x)$(offers dnnest predict @x.json,optim)" ': 1 filesoptimizer='
for program in sbatch salloc srun /usr/bin/sbatch; do
    is "keys and values are completed in --comment= of $program" \
        "$(offers "$program" --comment=dnnest:batch=1,precision=fp3)" fp32
    is "keys and values are completed in --dnnest= of $program" \
        "$(offers "$program" -N1 --dnnest model=gpt2_x)" gpt2_xl
done
is 'the mark is completed in a comment' "$(offers sbatch --comment=d)" dnnest:
is 'text before the mark is kept' "$(offers sbatch '--comment=mine;dnnest:batc')" batch=
is 'a mark that does not begin a word is none' "$(offers sbatch --comment=mine,dnnest:batc)" ''
is 'text after the metadata has no answer' "$(offers sbatch '--comment=dnnest:batch=1;batc')" ''
is 'jobs can be left alone' "$(offers sbatch --comment=dnnest:of)" $'offload=\noff'
is 'other options are those of Slurm' "$(words sbatch --mem)" ': 0 nospace open'

# --- hostile input ----------------------------------------------------------------------

like 'options before words are named' "$("$DNNEST" completion --conf=x words dnnest 2>&1)" \
    'words: options before it are not accepted'
like 'help is offered' "$(words dnnest hel)" '^help.print the help of a command'
is 'help is of a command' "$(words dnnest help predic | cut -f1)" $'predict\n: 0'
is 'a line is needed' "$("$DNNEST" completion words dnnest 2>&1; echo $?)" \
    "dnnest: words: a command line is missing (try 'dnnest completion --help')"$'\n2'
for word in $'model=\x01\xff' $'--gpu=\n' $'\xc3\xa9,' '=' ',' ',,=,' '--' '---' '-' '--=' '@' '@,' \
    '--set==' '--gpu' '+' '/' 'model=//' '--comment=' '%s%n' "'" '`id`' '$(id)' ': 0'; do
    for command in predict advise config ''; do
        last=$(how dnnest ${command:+"$command"} "${site[@]}" "$word")
        like "an odd word has an answer: $command ${word@Q}" "$last" '^: [0-9]+( [a-z]+)*$'
    done
done
long=$(head -c 65536 /dev/zero | tr '\0' ,)
is 'a word of 64 KiB has no answer' "$(words dnnest predict "$long")" ': 0'
is 'a word of 64 KiB before the last one does not matter' \
    "$(offers dnnest predict "$long" --j)" --json
is 'thousands of words do not matter' \
    "$(offers dnnest predict $(seq 5000) --j)" --json

# with_conf FILE: the GPUs that begin with t in a line with this dnnest.conf
with_conf() {
    timeout 60 "$DNNEST" completion words dnnest predict --conf="$1" \
        --hardware="$work/hardware" --datasets="$work/datasets.conf" --gpu=tw 2>&1
}
{ cat "$work/site.conf"; printf 'Nonsense=1\nGpu Type=x Device=none\n\xff\n'; } > "$work/bad.conf"
like 'a broken dnnest.conf counts as far as it can be read' "$(with_conf "$work/bad.conf")" '^twin'
printf 'Policy User=nobody-has-this-name Mode=observe\nGpu Type=twin Device=t4_16gb\n' \
    > "$work/user.conf"
like 'no user is looked up' "$(with_conf "$work/user.conf")" '^twin'
printf 'Gpu Type=tw$(id) Device=t4_16gb\nGpu Type=tw`id` Device=t4_16gb\n' > "$work/shell.conf"
is 'a name that a shell would interpret is not offered' "$(with_conf "$work/shell.conf")" ': 6'
for name in "tw'x" 'tw x' 'tw\x' 'tw;x' 'tw>x' 'tw*' 'tw"x'; do
    printf 'Gpu Type="%s" Device=t4_16gb\n' "$name" > "$work/shell.conf"
    is "a name with a sign of shells is not offered: $name" "$(with_conf "$work/shell.conf")" ': 6'
done
mkfifo "$work/fifo.conf"
head -c 3000000 /dev/urandom > "$work/large.conf"
for conf in missing fifo large hardware; do
    [[ $conf = hardware ]] || conf+=.conf
    is "no dnnest.conf is no error: $conf" "$(with_conf "$work/$conf")" ': 6'
done

# --- time -------------------------------------------------------------------------------

# time_of COMMAND...: the microseconds that it takes
time_of() {
    local start=${EPOCHREALTIME/./}
    "$@" >/dev/null
    echo $((${EPOCHREALTIME/./} - start))
}
# The three take turns, so that other work on the machine delays them alike.
for _ in {1..21}; do
    time_of "$DNNEST" predict "${site[@]}" --model=none --all "$short" >> "$work/whole"
    time_of "$DNNEST" completion words dnnest predict "${site[@]}" --gpu= >> "$work/gpus"
    time_of "$DNNEST" completion words dnnest predict model=r >> "$work/names"
done
# median FILE: the median of its 21 numbers
median() {
    sort -n "$1" | sed -n 11p
}
whole=$(median "$work/whole")
gpus=$(median "$work/gpus")
names=$(median "$work/names")
diag "medians: GPUs $gpus us, networks $names us, a prediction $whole us"
ok 'GPUs are offered in about the time of a prediction' test "$gpus" -lt $((2 * whole))
ok 'networks are offered in about the time of a prediction' test "$names" -lt $((2 * whole))
done_testing
