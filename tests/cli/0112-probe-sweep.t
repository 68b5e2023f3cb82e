#!/bin/bash
# 0112-probe-sweep.t - many probes as a job array: the script and what it runs
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/live/probe.t runs one on a real Slurm.

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

spec=model=resnet18,image=32,batch=8,steps=300
sweep=(probe --record "$work/rows.db" --sweep batch=32,64 --sweep "lr=0.1,it's")
dn "${sweep[@]}" --sbatch=--partition=gpu --sbatch='--output=a b' "$spec" -- \
    prog --batch={batch} '{lr}' "\$HOME \`id\` 'x'" '{other}' > "$work/script" 2> "$work/err"
is 'the script of a sweep is printed without a message' "$(cat "$work/err")" ''
is 'the script begins as one for sbatch' "$(head -5 "$work/script")" '#!/bin/bash
#SBATCH --job-name=dnnest-probe
#SBATCH --array=0-3
#SBATCH --partition=gpu
#SBATCH --output=a b'
# Run a task with a fake dnnest that prints its arguments.
task() {
    sed "s|exec [^ ]* probe |exec '$work/shows' |" "$work/script" > "$work/task"
    SLURM_ARRAY_TASK_ID=$1 HOME=wrong bash "$work/task"
}
printf '#!/bin/bash\nprintf "%%s\\n" "$DNNEST_PROBE_BATCH $DNNEST_PROBE_LR" "$@"\n' > "$work/shows"
chmod +x "$work/shows"
is 'a task has its combination, in words and in the environment' \
    "$(task 3 | sed -n '1p;/^model=/,$p')" "64 it's
model=resnet18,image=32,batch=64,steps=300
--
prog
--batch=64
it's
\$HOME \`id\` 'x'
{other}"
is 'the last key changes fastest' "$(for i in 0 1 2 3; do task $i | head -1; done | xargs -d '\n')" \
    "32 0.1 32 it's 64 0.1 64 it's"
like 'stores and files are named by absolute paths' "$(task 0)" "--record=$work/rows.db"
real=$(realpath "$DNNEST")
like 'relative paths of stores become absolute ones' \
    "$(cd "$work" && DNNEST=$real dn probe --record r.db \
    --sweep batch=1 $spec -- true)" "--record=$work/r.db"
is 'a place holder in SPEC is replaced' \
    "$(dn probe --record none --sweep b=2,3 model=resnet18,batch={b} -- x | grep -o 'batch=[0-9]' | xargs)" \
    'batch=2 batch=3'
is 'the tasks get the options' \
    "$(dn probe --record none --pattern 'a b' --every 3 --steps 9 --warmup 2 --seconds 7 \
        --grace 1 --gpu t4_16gb --sweep batch=2 $spec -- x \
        | grep -oE -- "'--pattern=a b'|--(every|steps|warmup|seconds|grace)=[0-9]+|--gpu=[a-z0-9_]+" | xargs)" \
    '--steps=9 --warmup=2 --seconds=7 --grace=1 --pattern=a b --every=3 --gpu=t4_16gb'

# Run a task with the real dnnest.
mkdir "$work/bin"
dn probe --record "$work/rows.db" --pattern '^step' --steps 5 --warmup 1 --gpu t4_16gb \
    --sweep batch=16,32 $spec -- bash -c 'while echo step; do sleep 0.02; done' > "$work/array"
for i in 0 1; do SLURM_ARRAY_TASK_ID=$i bash "$work/array" > /dev/null 2>&1 & done
wait
dn records --csv "$work/rows.db" > "$work/rows.csv"
is 'tasks at the same time add a record each' \
    "$(python3 -c '
import csv, sys
print(sorted(row["spec"].split(",")[2] for row in csv.DictReader(open(sys.argv[1], newline=""))))
' "$work/rows.csv")" "['batch=16', 'batch=32']"
cat > "$work/bin/sbatch" <<'SH'
#!/bin/sh
[ $# = 0 ] && grep -c '^#SBATCH --array=0-1$'
exit 9
SH
chmod +x "$work/bin/sbatch"
code=0
out=$(PATH=$work/bin:$PATH dn probe --record none --submit --sweep batch=1,2 $spec -- x) || code=$?
is '--submit gives the script to sbatch, and passes its output and status on' "$out $code" '1 9'
mkdir "$work/empty"
[[ -x ${real%/*}/.libs/dnnest ]] && real=${real%/*}/.libs/dnnest
code=0
err=$(PATH=$work/empty "$real" probe --hardware "$work/hardware" --datasets "$work/datasets.conf" \
    --model none --record none --submit --sweep batch=1 $spec -- x 2>&1) || code=$?
is 'a missing sbatch is named' "$code $err" '5 dnnest: sbatch: No such file or directory'

bad() { refuses "$1" 2 "$2" probe --record none "${@:3}"; }
bad 'an empty list of values is refused' \
    "sweep: an empty value of batch" --sweep batch= $spec -- x
bad 'an empty value is refused' "sweep: an empty value of batch" --sweep batch=1,,2 $spec -- x
bad 'a key without a list is refused' "sweep: no values of batch" --sweep batch $spec -- x
bad 'an empty name is refused' "sweep: '' is not a name" --sweep =1 $spec -- x
bad 'a name that begins with a digit is refused' \
    "sweep: '1x' is not a name" --sweep 1x=1 $spec -- x
bad 'a name that a shell would not take is refused' "is not a name" --sweep 'a;b=1' $spec -- x
bad 'a name that is too long is refused' \
    "is not a name" --sweep "$(printf 'a%.0s' {1..100})=1" $spec -- x
bad 'a value that is too long is refused' \
    "sweep" --sweep "batch=$(printf '1%.0s' {1..100})" $spec -- x
bad 'a key given twice is refused' \
    "sweep: batch is given twice" --sweep batch=1 --sweep Batch=2 $spec -- x
bad 'an unused key is refused' \
    "lr is not a metadata key, and COMMAND has no .lr." \
    --sweep lr=1 $spec -- x
bad 'a value that the metadata refuse is refused' \
    "batch: 0 out of range" --sweep batch=8,0 $spec -- x
bad 'a combination that the metadata refuse is refused' \
    "global_batch" --sweep batch=7 $spec,global_batch=16 -- x
bad 'too many values are refused' \
    "more than 64 values" --sweep "batch=$(seq -s , 1 65)" $spec -- x
bad 'too many combinations are refused' \
    'more than 1000 combinations' --sweep "batch=$(seq -s , 1 40)" \
    --sweep "epochs=$(seq -s , 1 40)" $spec -- x
bad 'a sweep without SPEC is refused' 'sweep needs SPEC' --sweep batch=1 -- x
bad 'a sweep of a sidecar is refused' 'sweep needs SPEC' --sweep batch=1 @net.json -- x
bad 'a directive of two lines is refused' \
    'more than one line' --sweep batch=1 --sbatch $'-n 1\nrm' $spec -- x
bad '--submit without --sweep is refused' 'need --sweep' --submit $spec -- x
bad '--json with --sweep is refused' \
    'json cannot be combined with --sweep' --json --sweep batch=1 $spec -- x
bad 'a word that is too long is refused' \
    'a word of more than' --sweep batch=1 $spec -- "$(printf 'a%.0s' {1..3000})"
done_testing
