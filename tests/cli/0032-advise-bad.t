#!/bin/bash
# 0032-advise-bad.t - wrong options, scripts and metadata of a dry run
#
# SPDX-License-Identifier: GPL-2.0-or-later

without_python=yes
. "$(dirname "$0")/lib.sh"

bad() {
    local title=$1 regex=$2
    shift 2
    refuses "$title" 2 "$regex" advise "$@"
}
bad '-c takes a count' "cpus-per-task: 'many' is not a whole number" -c many
bad '-c takes at least one' 'cpus-per-task: 0 out of range 1\.\.' -c 0
for value in 1e3 1k 4.0 0x4; do
    bad "-c $value is refused, as by sbatch" "cpus-per-task: '$value' is not a whole number" \
        -c $value
done
bad '-N has no exponent' "nodes: '1e3' is not a whole number, expected digits" -N 1e3
bad '--mem has no exponent' "mem: '1e3' is not a whole number, expected digits" --mem=1e3
bad '-n has an upper bound' 'ntasks: 9999999999 out of range' -n 9999999999
bad '-N takes a range' "nodes: '1-2-x'|nodes: 'x' is not" -N 1-2-x
bad '-N takes a rising range' "nodes: '4-2' ends below its start" -N 4-2
bad '-t takes a time' "time: 'soon' is not a time" -t soon
bad '--time-min takes a time' "time-min: 'soon' is not a time" --time-min=soon
bad '--mem takes a size' "mem: '4X' is not a whole number" --mem=4X
bad '--mem takes no negative size' "mem: -4 out of range 0\.\." --mem=-4
bad '--mem takes no fraction' "mem: '1.5' is not a whole number" --mem=1.5G
bad '--mem has an upper bound' 'mem: 99999999999999999999 out of range' --mem=99999999999999999999
bad '--mem and --mem-per-cpu exclude each other' 'mem, mem-per-cpu, mem-per-gpu' \
    --mem=1G --mem-per-cpu=1G
bad '-c and --cpus-per-gpu exclude each other' 'cpus-per-task, cpus-per-gpu' -c 2 --cpus-per-gpu=2
bad '--slurm takes a version' "--slurm: 'new' is not a version, expected" --slurm new
bad '--slurm takes no version before 20.02' "--slurm: '19.05' is not a version" --slurm 19.05
bad '--set takes KEY=VALUE' "--set: 'Mode', expected KEY=VALUE" --set=Mode
bad 'an option without its argument is named' 'option --time needs an argument' -t
bad 'a script and --wrap exclude each other' '--wrap and a script' --wrap=true job.sh
bad 'an invalid GPU list is shown' "gpu:a:b:c.* too many parts" \
    --comment="dnnest:$short" -G a:b:c
bad 'a GPU count out of range is named' 'GPU count: .* out of range' \
    --comment="dnnest:$short" -G a100:99999999999
bad 'wrong metadata of the comment are named' 'comment: column 29: batch: -4 out of range' \
    --comment=dnnest:model=resnet50,batch=-4
bad 'an unknown model is named' "model: 'resnet5'" --comment=dnnest:model=resnet5,batch=4
bad '64 KiB of comment are refused' 'metadata: .* characters, expected at most 4096' \
    --comment="dnnest:$(head -c 65536 /dev/zero | tr '\0' a)"

refuses '--set takes no unknown key' 3 "unknown key 'modus'" advise --set=modus=enforce
refuses '--set takes no wrong value' 3 "Mode: 'wild' is unknown, expected one of observe" \
    advise --set=mode=wild

printf '#!/bin/sh\n#SBATCH -c 2\n#DNNEST model=resnet50\n#DNNEST batch=many\n' > "$work/job.sh"
bad 'wrong metadata of a script are named with their line' \
    "script line 4: column 15: batch: 'many'" "$work/job.sh"
printf '#!/bin/sh\n#SBATCH -c 2\n#SBATCH --comment="open\n' > "$work/job.sh"
bad 'an open quote is named with its line' 'script line 3: #SBATCH: a quote is not closed' \
    "$work/job.sh"
printf '#!/bin/sh\n#SBATCH --time\n' > "$work/job.sh"
bad 'an option of a script without its argument is named' 'option --time needs an argument' \
    "$work/job.sh"

refuses 'a missing script is named' 4 "$work/none.sh: No such file" advise "$work/none.sh"
refuses 'a directory is no script' 4 "$work: Is a directory" advise "$work"
printf '#!/bin/sh\n\0' > "$work/job.sh"
refuses 'a binary is no script' 4 'job.sh: has a NUL byte, expected text' advise "$work/job.sh"
head -c 9000000 /dev/zero | tr '\0' '#' > "$work/job.sh"
refuses 'a huge script is refused' 4 'job.sh: larger than 8388608 bytes' advise "$work/job.sh"
done_testing
