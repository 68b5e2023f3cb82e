# dnnest.bash - completion of dnnest, and of job metadata in sbatch, salloc and srun
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# shellcheck shell=bash disable=SC2034
#
# The table has the words, and 'dnnest completion' the names of the site. readline replaces
# only what follows the last '=', ':' or '@' of a word, by COMP_WORDBREAKS, and splits
# COMP_WORDS there.

# Rows "GROUP WORD KINDS HELP"; cmd_completion.c says more.
_dnnest_table='
@TABLE@
'

# The line up to the cursor in 'words': without quotes, and joined where
# no blank is. 'kept': the beginning of the last word that readline keeps.
_dnnest_split() {
    local line=${COMP_LINE:0:COMP_POINT} blank piece='' i
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        blank=${line%%[![:space:]]*}
        line=${line#"$blank"}
        piece=${COMP_WORDS[i]}
        # The word of the cursor may go on after it.
        ((i < COMP_CWORD)) || piece=$line
        line=${line:${#piece}}
        if ((i == 0)) || [[ -n $blank ]]; then
            words+=("$piece")
        else
            words[-1]+=$piece
        fi
    done
    [[ $piece = *[!"$COMP_WORDBREAKS"]* || $piece = [\"\']* ]] || piece=
    kept=${words[-1]%"$piece"}
    kept=${kept//[\"\'\\]/}
    words=("${words[@]//[\"\'\\]/}")
}

# Set 'kinds' to those of a word in a group of the table; fail if it is not there.
_dnnest_find() {
    [[ $_dnnest_table =~ $'\n'"$1 $2 "([^ ]+)" " ]] && kinds=${BASH_REMATCH[1]}
}

@COMMON@

# Set COMPREPLY to what one of these functions offers.
_dnnest_reply() {
    local -a words offers=() names=() found=() site=()
    local kept='' word before rest text head mixed nospace='' pairs='' status=0
    local n second after='' kind
    COMPREPLY=()
    ((${#COMP_LINE} < 32768)) || return 1
    _dnnest_split
    word=${words[-1]} before=${words[-2]-} rest=$word
    n=${#words[@]} second=${words[1]-}
    head=" ${words[*]:2} "
    [[ ${head%"$word "} != *' -- '* ]] || after=1
    for text in "${words[@]}"; do
        [[ $text != --@(conf|hardware|datasets|zoo)=* ]] || site+=("$text")
    done
    "$1" || status=1
    head=${word%"$rest"}
    for text in "${offers[@]}"; do
        text=${text%% *}
        [[ ${text,,} = "${rest,,}"* && $head$text = "$kept"* ]] || continue
        [[ $text != *= ]] || nospace=1
        COMPREPLY+=("${head:${#kept}}$text")
    done
    mixed=${COMPREPLY[*]}
    [[ -n $mixed ]] || compopt -o filenames 2>/dev/null
    for kind in "${names[@]}"; do
        # Files, directories, commands or users, by the first letter.
        mapfile -t found < <(compgen "-${kind:1:1}" -- "$rest")
        for text in "${found[@]}"; do
            [[ -z $mixed || ! -d $text ]] || text+=/
            [[ $head$text != "$kept"* ]] || COMPREPLY+=("${head:${#kept}}$text")
        done
    done
    compopt -o nosort 2>/dev/null
    [[ -z $nospace ]] || compopt -o nospace 2>/dev/null
    return $status
}

_dnnest() {
    _dnnest_reply _dnnest_line
    return 0
}

complete -F _dnnest dnnest

# --- sbatch, salloc, srun ---------------------------------------------------------------

# What completed them before, which is asked where the word is no metadata, and for which
# commands it has been looked for.
declare -gA _dnnest_others _dnnest_tried

# Complete sbatch, salloc and srun, and remember what has done so until now.
_dnnest_hook() {
    local command spec
    for command in sbatch salloc srun; do
        spec=$(complete -p "$command" 2>/dev/null) || spec=
        case $spec in
            *' -F _dnnest_slurm '*) continue ;;
            *' -F '*) _dnnest_others[$command]=$spec ;;
            '') ;;
            # Words or a program: they stay alone.
            *) continue ;;
        esac
        complete -F _dnnest_slurm "$command"
    done
}

# Load what the package bash-completion has for a command.
_dnnest_load() {
    if declare -F _comp_load >/dev/null; then
        _comp_load "$1"
    elif declare -F __load_completion >/dev/null; then
        __load_completion "$1"
    fi
} 2>/dev/null

# Go on with what completed the command before.
_dnnest_other() {
    local spec=${_dnnest_others[$1]-} function
    if [[ ! $spec =~ ' -F '([^ ]+) ]]; then
        compopt -o default 2>/dev/null
        return
    fi
    function=${BASH_REMATCH[1]}
    while [[ $spec =~ ' -o '([a-z]+)(.*) ]]; do
        spec=${BASH_REMATCH[2]}
        compopt -o "${BASH_REMATCH[1]}" 2>/dev/null
    done
    "$function" "$@"
}

_dnnest_slurm() {
    local -a ours
    if [[ -z ${_dnnest_others[$1]-}${_dnnest_tried[$1]-} ]]; then
        _dnnest_tried[$1]=1
        complete -r "$1"
        _dnnest_load "$1"
        _dnnest_hook
    fi
    _dnnest_reply _dnnest_metadata && return 0
    ours=("${COMPREPLY[@]}")
    COMPREPLY=()
    _dnnest_other "$@"
    COMPREPLY+=("${ours[@]}")
    return 0
}

# Slurm's file is loaded for any of its commands, and completes all of them itself.
_dnnest_slurm_file() {
    complete -r "$1"
    _dnnest_load "$1"
    _dnnest_hook
    return 124
}

_dnnest_hook
for _dnnest_command in sacct sacctmgr sattach sbcast scancel scontrol sdiag sinfo sprio \
    squeue sreport sshare sstat; do
    complete -p "$_dnnest_command" &>/dev/null \
        || complete -F _dnnest_slurm_file "$_dnnest_command"
done
unset _dnnest_command
