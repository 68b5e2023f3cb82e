#!/bin/bash
# 0161-completion-shells.t - bash, zsh and fish complete what dnnest says
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bash and zsh are asked by typing at a terminal, bash also by calling its function, fish by
# its command 'complete -C'. A shell that is not installed is left out.

. "$(dirname "$0")/lib.sh"
if [[ ${DNNEST_SANITIZERS-} = yes ]]; then skip_all 'the scripts are run in the other build'; fi

scripts=$work/scripts
mkdir "$scripts"
for shell in bash zsh fish; do "$DNNEST" completion $shell > "$scripts/dnnest.$shell"; done
mkdir "$work/bin" "$work/home" "$work/files"
ln -s "$(realpath "$DNNEST")" "$work/bin/dnnest"
PATH=$work/bin:$PATH
export HOME=$work/home XDG_DATA_HOME=$work/home/data XDG_CONFIG_HOME=$work/home/config
touch "$work/files/train.json" "$work/files/my script.sh"
touch "$work/files/odd\$(touch run)\`touch run\`.sh"
mkdir "$work/files/jobs"
site="--conf=$work/site.conf --hardware=$work/hardware --datasets=$work/datasets.conf"

export DNNEST_SCRIPT=$scripts/dnnest.bash

has() { command -v "$1" >/dev/null; }

# --- bash, by its function --------------------------------------------------------------

cat > "$work/reply.bash" <<'END'
# Words are cut at blanks, and before and after what COMP_WORDBREAKS has besides.
COMP_WORDBREAKS=${2-$COMP_WORDBREAKS}
. "$DNNEST_SCRIPT"
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=()
mapfile -t COMP_WORDS < <(python3 -c 'import re, sys
for word in sys.argv[1].split(" "):
    cut = "[%s]+|[^%s]+" % (2 * (re.escape(sys.argv[2]),)) if sys.argv[2] else ".+"
    for part in re.findall(cut, word) or [""]:
        print(part)' "$1" "${COMP_WORDBREAKS//[$'"\' \t\n']/}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
spec=$(complete -p "${COMP_WORDS[0]}") || exit
spec=${spec#* -F }
"${spec%% *}" "${COMP_WORDS[0]}"
printf '%s\n' "${COMPREPLY[@]}"
END

# reply LINE [BREAKS]: COMPREPLY for the line
reply() {
    bash --norc "$work/reply.bash" "$@" 2>&1
}

is 'bash: a command is completed' "$(reply 'dnnest pred')" predict
is 'bash: an option is completed' "$(reply 'dnnest predict --bud')" --budget=
is 'bash: a value is what follows the last =' "$(reply "dnnest predict $site --gpu=tw")" twin
is 'bash: nothing typed after = is completed, too' "$(reply 'dnnest replay --guard=')" $'yes\nno'
is 'bash: a key is completed after a comma' \
    "$(reply 'dnnest predict model=resnet50,prec')" resnet50,precision=
is 'bash: a value in a list is completed' \
    "$(reply 'dnnest predict batch=8,precision=fp3')" fp32
is 'bash: metadata in a comment is completed' \
    "$(reply 'sbatch --comment=dnnest:model=gpt2_x')" gpt2_xl
is 'bash: whole words are given where = and : do not cut them' \
    "$(reply 'sbatch --comment=dnnest:model=gpt2_x' $' \t\n')" '--comment=dnnest:model=gpt2_xl'
is 'bash: the option of the SPANK plugin is completed' "$(reply 'srun --dnn')" --dnnest=
is 'bash: files are completed after @' \
    "$(cd "$work/files" && reply 'sbatch --dnnest=@tr')" train.json
is 'bash: a word that cannot be completed has no answer' "$(reply 'dnnest predict --gpu=zzz')" ''
is 'bash: a long word has no answer' \
    "$(reply "dnnest predict $(head -c 40000 /dev/zero | tr '\0' x)")" ''
is 'bash: without dnnest nothing is printed' \
    "$(PATH=/usr/bin:/bin; has dnnest || reply 'dnnest predict --gpu=')" ''
is 'bash: options are offered after two dashes' "$(reply 'dnnest explain --' | grep -x -- --top=)" --top=
is 'bash: the name of a network is completed alone' \
    "$(reply "dnnest predict $site gpt2_x")" gpt2_xl
is 'bash: so it is below its publisher' \
    "$(reply "dnnest check $site openai-community/gpt2-x")" openai-community/gpt2-xl
is 'bash: files and programs follow two dashes where a program is run' \
    "$(cd "$work/files" && reply 'dnnest describe -- python tr')" train.json

# --- bash and zsh, at a terminal --------------------------------------------------------

# types SHELL LINE WANT: what a line becomes, '^' being a tab
typed=()
types() {
    typed+=("$1"$'\t'"$2"$'\t'"$3")
}

# run_typed NAME SHELL...: type all lines that were given, and report
run_typed() {
    local name=$1 row title line want i=0
    local -a got
    shift
    mapfile -t got < <(cd "$work/files" && for row in "${typed[@]}"; do
        IFS=$'\t' read -r title line want <<<"$row"
        printf '%s\n' "${line//^/$'\t'}"
    done | timeout 300 python3 "$top/tests/cli/type_line.py" 'READY> ' "$@")
    for row in "${typed[@]}"; do
        IFS=$'\t' read -r title line want <<<"$row"
        is "$name: $title" "${got[i]-}" "$want"
        i=$((i + 1))
    done
}

types 'a command is completed' 'dnnest predi^' '<dnnest><predict><X>'
types 'an option is completed' 'dnnest predict --budg^' '<dnnest><predict><--budget=X>'
types 'a network is completed, and the word goes on' \
    'dnnest predict model=gpt2_x^' '<dnnest><predict><model=gpt2_xlX>'
types 'a key in a list is completed, and its value' \
    'dnnest predict model=resnet50,prec^fp3^' '<dnnest><predict><model=resnet50,precision=fp32X>'
types 'a GPU type of the site is completed' \
    "dnnest predict $site --gpu=tw^" "<dnnest><predict><${site// /><}><--gpu=twin><X>"
types 'a rule and its value are completed' \
    'dnnest config --set=OptI^his^' '<dnnest><config><--set=OptIn=history><X>'
types 'metadata in a comment is completed' \
    'sbatch --comment=dnnest:mod^gpt2_x^' '<sbatch><--comment=dnnest:model=gpt2_xlX>'
types 'metadata of an option of a job is completed' \
    'salloc -N1 --dnnest=batch=1,opt^adamw^' '<salloc><-N1><--dnnest=batch=1,optimizer=adamwX>'
types 'a file is completed' 'dnnest check ./tra^' '<dnnest><check><./train.json><X>'
types 'a file with a blank is completed' 'dnnest advise ./my^' '<dnnest><advise><./my script.sh><X>'
types 'a name that a shell would run is quoted' \
    'dnnest advise ./od^' '<dnnest><advise><./odd$(touch run)`touch run`.sh><X>'
types 'a directory is completed' 'dnnest model show ./jo^' '<dnnest><model><show><./jobs/X>'

# Completion of other commands, as Slurm's package brings it.
mkdir -p "$XDG_DATA_HOME/bash-completion/completions"
cat > "$XDG_DATA_HOME/bash-completion/completions/sbatch" <<'END'
_others() { COMPREPLY=($(compgen -W '--exclusive --distribution --comment=' -- "$2")); }
complete -o nosort -F _others sbatch salloc srun squeue
END
ln -s sbatch "$XDG_DATA_HOME/bash-completion/completions/squeue"
cat > "$work/bashrc" <<END
PS1='READY> '
HISTFILE=
PATH=$PATH
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
if [[ -r /usr/share/bash-completion/bash_completion ]]; then
    . /usr/share/bash-completion/bash_completion
fi
. $scripts/dnnest.bash
END
all=("${typed[@]}")
types 'a quoted comment is completed' "sbatch --comment='dnnest:model=gpt2_x^" \
    '<sbatch><--comment=dnnest:model=gpt2_xlX>'
if [[ -r /usr/share/bash-completion/bash_completion ]]; then
    types 'what else completes a command of Slurm is kept' 'squeue --excl^' '<squeue><--exclusive><X>'
    types 'what else completes it does not replace that of metadata' \
        'sbatch --dnnest=mod^' '<sbatch><--dnnest=model=X>'
    types 'options of both are offered' 'sbatch --excl^ --dnn^' '<sbatch><--exclusive><--dnnest=X>'
fi
run_typed bash bash --noprofile --rcfile "$work/bashrc" -i
typed=("${all[@]}")

if has zsh; then
    mkdir "$work/functions"
    cp "$scripts/dnnest.zsh" "$work/functions/_dnnest"
    cat > "$work/functions/_sbatch" <<'END'
#compdef sbatch
compadd -- --exclusive --distribution
END
    cat > "$HOME/.zshrc" <<END
PS1='READY> '
unset HISTFILE
PATH=$PATH
unsetopt prompt_cr prompt_sp
setopt no_beep
bindkey -e
fpath=($work/functions \$fpath)
autoload -U compinit
compinit -u -d $work/zcompdump
END
    types 'what else completes a command of Slurm is kept' 'sbatch --excl^' '<sbatch><--exclusive><X>'
    run_typed zsh zsh -i
    typed=()
    sed -i "s|^fpath=.*|fpath=(\$fpath)|; \$a source <(dnnest completion zsh)" "$HOME/.zshrc"
    types 'the script can be read by .zshrc' 'dnnest predi^' '<dnnest><predict><X>'
    types 'the script that .zshrc has read completes metadata' 'srun --comment=dnnest:mod^' '<srun><--comment=dnnest:model=X>'
    run_typed zsh zsh -i
else
    skip 'zsh completes what dnnest says' 'zsh is not installed'
fi

# --- fish -------------------------------------------------------------------------------

# fish_says LINE: the completions of fish, without what they mean
fish_says() {
    (cd "$work/files" && fish -c 'source $argv[1]; complete -c sbatch -l exclusive -f
        complete -C $argv[2]' "$scripts/dnnest.fish" "$1" 2>&1) | cut -f1
}

if has fish; then
    is 'fish: a command is completed' "$(fish_says 'dnnest predi')" predict
    is 'fish: an option is completed' "$(fish_says 'dnnest predict --bud')" --budget=
    is 'fish: a single text gets a second one with a comma' \
        "$(fish_says 'dnnest predict model=gpt2_x')" $'model=gpt2_xl\nmodel=gpt2_xl,'
    is 'fish: a key in a list is completed' \
        "$(fish_says 'dnnest predict model=resnet50,prec')" model=resnet50,precision=
    is 'fish: a GPU type of the site is completed' "$(fish_says "dnnest predict $site --gpu=tw")" \
        --gpu=twin
    is 'fish: texts keep their order' "$(fish_says 'dnnest predict precision=' | head -n 2)" \
        $'precision=fp32\nprecision=tf32'
    is 'fish: metadata in a comment is completed' \
        "$(fish_says 'sbatch --comment=dnnest:precision=fp3')" \
        $'--comment=dnnest:precision=fp32\n--comment=dnnest:precision=fp32,'
    is 'fish: metadata in a word of its own is completed' \
        "$(fish_says 'srun --dnnest optimizer=adamw')" $'optimizer=adamw\noptimizer=adamw,'
    is 'fish: a file is completed' "$(fish_says 'dnnest advise ./trai')" ./train.json
    is 'fish: a file is completed after =' \
        "$(fish_says 'dnnest predict --conf=tr')" --conf=train.json
    is 'fish: what else completes a command of Slurm is kept' "$(fish_says 'sbatch --excl')" \
        --exclusive
    is 'fish: a word that cannot be completed has no answer' \
        "$(fish_says 'dnnest predict --gpu=zzz')" ''
else
    skip 'fish completes what dnnest says' 'fish is not installed'
fi
not_ok 'no shell has run what a name of a file says' test -e "$work/files/run"
done_testing
