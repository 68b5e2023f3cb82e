#compdef dnnest -p (sbatch|salloc|srun)
# dnnest.zsh - completion of dnnest, and of job metadata in sbatch, salloc and srun
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'dnnest completion words' knows what may follow; nothing of it is written here. In
# Slurm's commands what else completes them is asked where the word is no metadata.

_dnnest() {
    local -a answer flags before texts shown open_texts open_shown how
    local line text ret=1
    before=("${(@Q)words[1,CURRENT-1]}")
    if [[ $before[1] != (*/|)dnnest ]]; then
        [[ $PREFIX = --[cd]* || $before[-1] = --(comment|dnnest) ]] || return 1
    fi
    (( $#PREFIX < 32768 )) || return 1
    answer=("${(@f)$(command dnnest completion words "${before[@]}" "${(Q)PREFIX}" \
        </dev/null 2>/dev/null)}")
    [[ $answer[-1] = ': '* ]] || return 1
    flags=(${=answer[-1]#: })
    answer[-1]=()
    (( flags[1] == 0 )) || compset -p $flags[1] || return 1
    for line in "${answer[@]}"; do
        text=${line%%$'\t'*}
        line="${(r:28:)text} ${line#*$'\t'}"
        # The word goes on after '=', and in metadata after any text.
        if [[ $text = *= ]] || (( $flags[(Ie)nospace] )); then
            open_texts+=("$text") open_shown+=("$line")
        else
            texts+=("$text") shown+=("$line")
        fi
    done
    how=(-M 'm:{a-zA-Z}={A-Za-z}' -V dnnest -l)
    (( $#texts )) && compadd "$how[@]" -d shown -- "${texts[@]}" && ret=0
    (( $#open_texts )) && compadd "$how[@]" -S '' -d open_shown -- "${open_texts[@]}" && ret=0
    (( $flags[(Ie)files] )) && _files && ret=0
    (( $flags[(Ie)directories] )) && _files -/ && ret=0
    (( $flags[(Ie)commands] )) && _command_names -e && ret=0
    (( $flags[(Ie)users] )) && _users && ret=0
    if [[ $before[1] != (*/|)dnnest && ret -eq 0 ]]; then
        (( $flags[(Ie)open] )) || _compskip=all
    fi
    return ret
}

# Loaded by compinit it is called at once; in ~/.zshrc it is bound only.
if [[ $funcstack[1] = _dnnest ]]; then
    _dnnest "$@"
else
    compdef _dnnest dnnest -p '(sbatch|salloc|srun)'
fi
