# dnnest.fish - completion of dnnest, and of job metadata in sbatch, salloc and srun
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# 'dnnest completion words' knows what may follow; nothing of it is written here. fish
# compares whole words, and adds what else it knows of Slurm's commands itself.

# The other arguments, each after the first one
function __dnnest_after
    for text in $argv[2..]
        printf '%s%s\n' $argv[1] $text
    end
end

function __dnnest_words
    set -l word (string replace -ra '[\'"\\\\]' '' -- (commandline -ct))
    set -l answer (command dnnest completion words (commandline -opc) "$word" 2>/dev/null)
    string match -q -- ': *' $answer[-1]; or return
    set -l flags (string split ' ' -- $answer[-1])
    set -e answer[-1]
    set -l kept (string sub -l $flags[2] -- "$word")
    for text in $answer
        printf '%s%s\n' "$kept" $text
    end
    # With a second choice fish adds no blank: a comma may follow.
    if test (count $answer) = 1; and contains -- nospace $flags
        set -l text (string split -f1 \t -- $answer[1])
        string match -qr '[=,:/]$' -- $text; or printf '%s%s,\n' "$kept" $text
    end
    set -l rest (string sub -s (math $flags[2] + 1) -- $word)
    for flag in $flags[3..]
        switch $flag
            case files
                __dnnest_after "$kept" (__fish_complete_path "$rest")
            case directories
                __dnnest_after "$kept" (__fish_complete_directories "$rest")
            case commands
                __fish_complete_command
            case users
                __dnnest_after "$kept" (__fish_complete_users)
        end
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
