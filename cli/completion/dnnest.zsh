#compdef dnnest -p (sbatch|salloc|srun)
# dnnest.zsh - completion of dnnest, and of job metadata in sbatch, salloc and srun
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The table has the words, and 'dnnest completion' the names of the site. In Slurm's
# commands what else completes them is asked where the word is no metadata.

# Rows "GROUP WORD KINDS HELP"; cmd_completion.c says more.
typeset -g _dnnest_table='
@TABLE@
'

# Set 'kinds' to those of a word in a group of the table; fail if it is not there.
_dnnest_find() {
    kinds=${${_dnnest_table#*$'\n'"$1 $2 "}%% *}
    [[ $_dnnest_table = *$'\n'"$1 $2 "* ]]
}

@COMMON@

_dnnest() {
    local -a line offers names site texts shown open_texts open_shown how
    local word before rest pairs nospace text offer ret=1 ours=1 n second after
    (( $#PREFIX < 32768 )) || return 1
    line=("${(@Q)words[1,CURRENT-1]}") word=${(Q)PREFIX} before=${line[-1]} rest=$word
    site=(${(M)line:#--(conf|hardware|datasets|zoo)=*})
    n=$(( $#line + 1 )) second=$line[2]
    (( $line[(Ie)--] )) && after=1
    if [[ $line[1] = (*/|)dnnest ]]; then
        _dnnest_line
    else
        _dnnest_metadata || ours=0
    fi
    (( $#word == $#rest )) || compset -p $(( $#word - $#rest )) || return 1
    for offer in $offers; do
        text=${offer%% *}
        [[ $offer = *' '* ]] && offer="${(r:28:)text} ${offer#* }"
        # The word goes on after '=', and in metadata after any text.
        if [[ $text = *= || -n $nospace ]]; then
            open_texts+=($text) open_shown+=($offer)
        else
            texts+=($text) shown+=($offer)
        fi
    done
    how=(-M 'm:{a-zA-Z}={A-Za-z}' -V dnnest -l)
    (( $#texts )) && compadd $how -d shown -- $texts && ret=0
    (( $#open_texts )) && compadd $how -S '' -d open_shown -- $open_texts && ret=0
    (( $names[(Ie)@files] )) && _files && ret=0
    (( $names[(Ie)@directories] )) && _files -/ && ret=0
    (( $names[(Ie)@commands] )) && _command_names -e && ret=0
    (( $names[(Ie)@users] )) && _users && ret=0
    [[ $line[1] = (*/|)dnnest || $ours -eq 0 || $ret -ne 0 ]] || _compskip=all
    return ret
}

# Loaded by compinit it is called at once; in ~/.zshrc it is bound only.
if [[ $funcstack[1] = _dnnest ]]; then
    _dnnest "$@"
else
    compdef _dnnest dnnest -p '(sbatch|salloc|srun)'
fi
