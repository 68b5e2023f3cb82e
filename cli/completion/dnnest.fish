# dnnest.fish - completion of dnnest, and of job metadata in sbatch, salloc and srun
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The table has the words, and 'dnnest completion' the names of the site. fish compares
# whole words, and adds what else it knows of Slurm's commands itself.

# Rows "GROUP WORD KINDS HELP"; cmd_completion.c says more.
set -g __dnnest_table (string split \n -- '
@TABLE@
')

# The kinds of a word in a group of the table
function __dnnest_find
    set -l row (string match -- "$argv[1] $argv[2] *" $__dnnest_table)
    and string split -f3 ' ' -- $row[1]
end

# The words of a group with their helps, each after the first argument
function __dnnest_group
    for row in (string match -- "$argv[2] *" $__dnnest_table)
        set -l cells (string split -m3 ' ' -- $row)
        test $cells[2] = -; or printf '%s%s\t%s\n' "$argv[1]" $cells[2] "$cells[4]"
    end
end

# The other arguments, each after the first one
function __dnnest_after
    for text in $argv[2..]
        printf '%s%s\n' "$argv[1]" $text
    end
end

# The last one of pairs "KEY=VALUE": a key of the group, or its values
function __dnnest_pairs --argument-names head rest group
    set -l last (string replace -r '.*,' '' -- "$rest")
    set head $head(string replace -r '[^,]*$' '' -- "$rest")
    if not string match -q -- '*=*' "$last"
        for row in (__dnnest_group '' $group)
            string match -q -- "*,"(string split -f1 = -- $row)"=*" ",$head"
            or printf '%s%s\n' "$head" $row
        end
        return
    end
    set -l value (string replace -r '.*[=+]' '' -- "$last")
    set -l kinds (__dnnest_find $group (string split -f1 = -- $last)=)
    or return
    set head $head(string replace -r '[^=+]*$' '' -- "$last")
    set -l texts (__dnnest_offer "$head" "$value" $kinds)
    printf '%s\n' $texts
    # With a second choice fish adds no blank: a comma may follow.
    set -l alike (string match -- "$head$value*" $texts)
    test (count $alike) = 1; and test $group = spec; and printf '%s,\n' $alike
end

# What the kinds have for 'rest', each after 'head'
function __dnnest_offer --argument-names head rest kinds
    for kind in (string split , -- $kinds)
        switch $kind
            case - @after
            case @name
                if string match -qr '^[^./@=,][^=,]*$' -- "$rest"
                    __dnnest_offer "$head" "$rest" @networks
                end
            case @files
                __dnnest_after "$head" (__fish_complete_path "$rest")
            case @directories
                __dnnest_after "$head" (__fish_complete_directories "$rest")
            case @commands
                __fish_complete_command
            case @users
                __dnnest_after "$head" (__fish_complete_users)
            case @rule
                __dnnest_pairs "$head" "$rest" rule
            case @spec
                if string match -qr '^@[^,]*$' -- "$rest"
                    __dnnest_after "$head@" (__fish_complete_path (string sub -s 2 -- "$rest"))
                else if not string match -qr '^[./]' -- "$rest"
                    __dnnest_pairs "$head" "$rest" spec
                end
            case @comment
                set -l parts (string match -r '^((?:.*[\s;])?dnnest:)(.*)' -- "$rest")
                and __dnnest_offer "$head$parts[2]" "$parts[3]" @spec,off
                or printf '%sdnnest:\n' "$head"
            case @types
                __dnnest_after "$head" (__dnnest_offer '' "$rest" @gpus):
            case '@*'
                set -l before (string match -r '.*/' -- "$rest")
                set -l site (string match -r -- '^--(?:conf|hardware|datasets|zoo)=.*' \
                    (commandline -opc))
                set -l names (string sub -s 2 -- $kind)
                test $kind = @networks; and set -q before[1]; and set names $names/$before
                __dnnest_after "$head$before" \
                    (command dnnest completion $names $site 2>/dev/null)
            case '*'
                printf '%s%s\n' "$head" $kind
        end
    end
end

# Options of a group for a word, or what one of them or the arguments take
function __dnnest_word --argument-names group before word arguments
    set -l option (string match -r -- '^(--[^=]*=)(.*)' "$word")
    if set -q option[1]
        __dnnest_offer $option[2] "$option[3]" (__dnnest_find $group $option[2])
    else if string match -q -- '--*' "$before"
        and not __dnnest_find $group $before >/dev/null
        and set -l kinds (__dnnest_find $group "$before=")
        __dnnest_offer '' "$word" $kinds
    else if string match -q -- '-*' "$word"; or test -z "$word$arguments"
        __dnnest_group '' $group
    else
        __dnnest_offer '' "$word" "$arguments"
    end
end

function __dnnest_words
    set -l word (string replace -ra '[\'"\\\\]' '' -- (commandline -ct))
    set -l line (commandline -opc)
    if not string match -qr '(^|/)dnnest$' -- $line[1]
        __dnnest_slurm_words "$line[-1]" "$word"
    else if test (count $line) = 1; or begin; test (count $line) = 2; and test $line[2] = help; end
        __dnnest_group '' dnnest
    else if contains -- -- $line; and string match -q '*@after*' -- (__dnnest_find $line[2] -)
        if test $line[-1] = --
            __fish_complete_command
        else
            __fish_complete_path "$word"
        end
    else if set -l kinds (__dnnest_find $line[2] -)
        __dnnest_word $line[2] $line[-1] "$word" (string replace -r '^-$' '' -- $kinds)
    end
end

# Metadata in a command of Slurm
function __dnnest_slurm_words --argument-names before word
    if contains -- "$before" --comment --dnnest; or string match -qr -- '^--(comment|dnnest)=' "$word"
        __dnnest_word advise "$before" "$word" ''
    else
        echo --dnnest=
    end
end

# Can the word be metadata in a command of Slurm?
function __dnnest_in_slurm
    string match -qr -- '^--(comment=|d)' (commandline -ct)
    or contains -- (commandline -opc)[-1] --comment --dnnest
end

complete -c dnnest -f -k -a '(__dnnest_words)'
for command in sbatch salloc srun
    complete -c $command -n __dnnest_in_slurm -f -k -a '(__dnnest_words)'
end
