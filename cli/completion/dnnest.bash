# dnnest.bash - completion of dnnest, and of job metadata in sbatch, salloc and srun
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# shellcheck shell=bash
#
# 'dnnest completion words' knows what may follow; nothing of it is written here. It gives
# whole words. readline replaces only what follows the last '=', ':' or '@' of a word, by
# COMP_WORDBREAKS, and splits COMP_WORDS there.

# The line up to the cursor as dnnest gets it, in 'words': without quotes, and joined where
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

# Names of files or the like that the shell knows, for the flags of an answer.
_dnnest_names() {
    local flag
    for flag in "${flags[@]:1}"; do
        case $flag in
            files) compgen -f -- "$1" ;;
            directories) compgen -d -- "$1" ;;
            commands) compgen -c -- "$1" ;;
            users) compgen -u -- "$1" ;;
        esac
    done
}

# Set COMPREPLY and 'flags' for the line; fail if dnnest gives no answer.
_dnnest_ask() {
    local -a words answer
    local kept='' word text name
    COMPREPLY=() flags=()
    ((${#COMP_LINE} < 32768)) || return 1
    _dnnest_split
    mapfile -t answer < <(command dnnest completion words "${words[@]}" </dev/null 2>/dev/null)
    ((${#answer[@]} > 0)) && [[ ${answer[-1]} = ': '* ]] || return 1
    read -ra flags <<<"${answer[-1]#: }"
    unset 'answer[-1]'
    word=${words[-1]}
    for text in "${answer[@]}"; do
        text=${word:0:flags[0]}${text%%$'\t'*}
        [[ $text != "$kept"* ]] || COMPREPLY+=("${text#"$kept"}")
    done
    [[ " ${flags[*]:1} " != *' nospace '* && ${COMPREPLY[*]} != *= ]] \
        || compopt -o nospace 2>/dev/null
    compopt -o nosort 2>/dev/null
    [[ ${#COMPREPLY[@]} -gt 0 ]] || compopt -o filenames 2>/dev/null
    while IFS= read -r name; do
        [[ ${#answer[@]} -eq 0 || ! -d $name ]] || name+=/
        text=${word:0:flags[0]}$name
        [[ $text != "$kept"* ]] || COMPREPLY+=("${text#"$kept"}")
    done < <(_dnnest_names "${word:flags[0]}")
}

_dnnest() {
    local -a flags
    _dnnest_ask
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
    local -a flags=() ours=()
    if [[ -z ${_dnnest_others[$1]-}${_dnnest_tried[$1]-} ]]; then
        _dnnest_tried[$1]=1
        complete -r "$1"
        _dnnest_load "$1"
        _dnnest_hook
    fi
    if [[ ${COMP_LINE:0:COMP_POINT} = *--[cd]* ]] && _dnnest_ask; then
        [[ " ${flags[*]:1} " = *' open '* ]] || return 0
        ours=("${COMPREPLY[@]}")
    fi
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
