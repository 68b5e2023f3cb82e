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

# Offer the words of a group, except the keys of 'pairs'.
_dnnest_group() {
    local group text kinds help
    while read -r group text kinds help; do
        [[ $group = $1 && $text != - && $pairs != *",$text"* ]] && offers+=("$text $help")
    done <<<"$_dnnest_table"
}

# Offer for the last one of pairs "KEY=VALUE" in 'rest' a key of the group, or its values.
_dnnest_pairs() {
    local pairs=,${rest%"${rest##*,}"} key kinds
    [[ $1 = rule ]] || nospace=1
    rest=${rest##*,}
    key=${rest%%=*}
    if [[ $rest != *=* ]]; then
        _dnnest_group $1
    else
        rest=${${rest#*=}##*+}
        _dnnest_find $1 "$key=" && _dnnest_offer $kinds
    fi
}

# Offer what the kinds have for 'rest', and make that the part which a text replaces.
_dnnest_offer() {
    local kind whole
    for kind in ${(s:,:)1}; do
        case $kind in
            -) ;;
            @files | @directories | @commands | @users) names+=($kind) ;;
            @rule) _dnnest_pairs rule ;;
            @spec)
                [[ $rest != [./]* ]] || continue
                if [[ $rest = @* && $rest != *,* ]]; then
                    rest=${rest#@}
                    names+=(@files)
                    return
                fi
                whole=$rest
                _dnnest_pairs spec
                [[ $rest = "$whole" ]] || return
                ;;
            @comment)
                if [[ $rest = (|*[[:space:]\;])dnnest:* ]]; then
                    rest=${rest##(|*[[:space:]\;])dnnest:}
                    _dnnest_offer @spec,off
                else
                    nospace=1
                    offers+=(dnnest:)
                fi
                ;;
            @types)
                nospace=1
                _dnnest_offer @gpus
                offers=("${(@)offers/%/:}")
                ;;
            @*)
                rest=${rest##*/}
                offers=(${(f)"$(command dnnest completion ${kind#@} $site 2>/dev/null </dev/null)"})
                ;;
            *) offers+=($kind) ;;
        esac
    done
}

# Offer options of a group for the last word, or what one of them or 'arguments' takes.
_dnnest_word() {
    local arguments=$2 kinds
    if [[ $word = --*=* ]]; then
        rest=${word#*=}
        _dnnest_find $1 "${word%%=*}=" && _dnnest_offer $kinds
    elif [[ $before = --* ]] && ! _dnnest_find $1 $before && _dnnest_find $1 "$before="; then
        _dnnest_offer $kinds
    elif [[ $word = -* || -z $word$arguments ]]; then
        _dnnest_group $1
    else
        _dnnest_offer "$arguments"
    fi
}

# Offer what may follow in the line; fail where it is no metadata in a command of Slurm.
_dnnest_line() {
    local kinds
    if [[ $line[1] != (*/|)dnnest ]]; then
        case $before:$word in
            --comment:* | --dnnest:* | *:--comment=* | *:--dnnest=*) _dnnest_word advise '' ;;
            *:--d*) offers=(--dnnest=) && return 1 ;;
            *) return 1 ;;
        esac
    elif (( $#line == 1 )) || [[ $#line -eq 2 && $line[2] = help ]]; then
        _dnnest_group dnnest
    elif [[ $before = -- ]]; then
        names=(@commands)
    elif (( $line[(Ie)--] )); then
        names=(@files)
    elif _dnnest_find $line[2] -; then
        _dnnest_word $line[2] "${kinds#-}"
    fi
    return 0
}

_dnnest() {
    local -a line offers names site texts shown open_texts open_shown how
    local word before rest pairs nospace text offer ret=1 ours=1
    (( $#PREFIX < 32768 )) || return 1
    line=("${(@Q)words[1,CURRENT-1]}") word=${(Q)PREFIX} before=${line[-1]} rest=$word
    site=(${(M)line:#--(conf|hardware|datasets|zoo)=*})
    _dnnest_line || ours=0
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
