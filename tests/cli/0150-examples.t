#!/bin/bash
# 0150-examples.t - every example of every manual page is run, and prints what the page shows
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The site is made up: two types of GPUs, a snapshot, 400 finished jobs and the bundle that
# comes with dnnest. examples.py says how a page marks what is no command.

. "$(dirname "$0")/lib.sh"
command -v scdoc >/dev/null || skip_all 'scdoc is not installed'

# Blocks that are not run here: those that need a cluster or a server, each of which names
# the test that runs it, and forms of text.
readonly ELSEWHERE_BLOCKS=7 FORM_BLOCKS=7

tool=$top/tests/cli/examples.py
export SITE=$work/site
export abs_top_srcdir=$top

# --- the site ----------------------------------------------------------------------------

mkdir "$SITE" "$SITE/state" "$work/bin"
cp -R "$top/etc/bundle" "$SITE/bundle"
chmod -R u+rwX,go-w "$SITE/bundle"
cat >"$SITE/dnnest.conf" <<CONF
StateDir=$SITE/state
PythonDir=$top/python
Gpu Type=a100 Device=a100_sxm4_40gb PerNode=4 Nodes=8 NodeCpus=128 NodeMemory=512000 Partitions=gpu
Gpu Type=v100 Device=v100_sxm2_32gb PerNode=4 Nodes=16 NodeCpus=80 NodeMemory=380000 Partitions=gpu
CONF

# Any command of dnnest or dnnest-dev: with the site, as if it were installed.
ln -s dnnest "$work/bin/dnnest-dev"
cat >"$work/bin/dnnest" <<SH
#!/bin/bash
program="$DNNEST"
if [[ \$0 = *-dev ]]; then program+=-dev; fi
case \$1 in
-* | '') exec "\$program" "\$@" ;;
esac
site=()
if [[ \$* != *--conf* && \$* != *--check=* && \$* != *'--check '* ]]; then
    site+=(--conf "$SITE/dnnest.conf")
fi
if [[ \$* != *--model* ]]; then
    site+=(--model "$SITE/bundle")
fi
data=(--datasets="$work/datasets.conf")
# Its option lists data sets.
if [[ \$1 = zoo ]]; then
    { cat "$SITE/dnnest.conf"; echo "Datasets=$work/datasets.conf"; } >"$work/zoo.conf"
    site=(--conf "$work/zoo.conf" --model none) data=()
fi
exec "\$program" "\$1" "\${site[@]}" --hardware "$work/hardware" "\${data[@]}" "\${@:2}"
SH
# sbatch reads the description, and complains as spank_dnnest does. It refuses an option
# that sbatch does not know.
cat >"$work/bin/sbatch" <<SH
#!/bin/bash
"$work/bin/dnnest" advise "\$@" >/dev/null 2>"$work/advised" || [[ \$? = 1 ]] \\
    || sed 's/^/sbatch: error: /' "$work/advised"
if grep unknown "$work/advised"; then
    exit 1
fi
echo 'Submitted batch job 123'
SH
for command in scontrol systemctl sudo; do
    printf '#!/bin/sh\nexit 0\n' >"$work/bin/$command"
done
chmod +x "$work"/bin/*
PATH=$work/bin:$PATH

python3 "$top/tests/report/make_jobs.py" 400 >"$work/jobs.csv"
dnnest-dev jobs "$work/jobs.csv" >/dev/null || diag 'no store of jobs'
write_snapshot "$work/snapshot" 1795394865 \
    'Group Type=a100 Gpus=4 Cpus=128 Memory=512000 Partitions=gpu Nodes=8 Up=8 Idle=8' \
    'Group Type=v100 Gpus=4 Cpus=80 Memory=380000 Partitions=gpu Nodes=16 Up=16 Idle=16' \
    'Partition Name=gpu Default=yes Up=yes MaxTime=604800'

# --- what users have ---------------------------------------------------------------------

dnnest-dev import --onnx "$top/tests/data/onnx/small.onnx" batch=64,precision=fp16,steps=10000 \
    >"$work/train.json"
cat >"$work/train.py" <<'PY'
import sys
import time
for step in range(1000):
    print("step", step, flush=True)
    time.sleep(0.01)
PY
cat >"$work/job.sh" <<'SH'
#!/bin/bash
#SBATCH --gres=gpu:a100:1 -c 20 --mem=64G -t 1-0
#DNNEST model=resnet50 batch=256 precision=fp16 optimizer=momentum
#DNNEST epochs=10 dataset=imagenet
srun python3 train.py
SH
{
    echo 'spec,gpu,step_ms,peak_mem_gb,group,source'
    for batch in 32 64 128 256; do
        echo "\"model=resnet50,batch=$batch,precision=fp16,optimizer=momentum\",v100_sxm2_32gb,$((batch * 3 / 2)),$((2 + batch / 12)),resnet50,ours"
        echo "\"model=bert_base,batch=$((batch / 4)),seq_len=128,precision=fp16,optimizer=adamw\",a100_sxm4_40gb,$((8 + batch / 3)),$((3 + batch / 20)),bert_base,ours"
    done
} >"$work/runs.csv"
printf 'type,nodes,gpus,cpus\na100,8,4,128\nv100,16,4,80\nh100,2,8,96\n' >"$work/nodes.csv"

# give FOLDER: these files, in a new folder
give() {
    mkdir "$1"
    cp "$work"/{train.json,train.py,job.sh,runs.csv,nodes.csv,jobs.csv,snapshot} "$1"
    cp "$top/tests/data/onnx/small.onnx" "$1/model.onnx"
    cp "$top/python/dnnest_export.py" "$SITE/dnnest.conf" "$1"
    cat >"$1/config.json" <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048,
 "intermediate_size": 5632, "num_attention_heads": 32, "num_hidden_layers": 22,
 "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048}
JSON
}

# --- the pages ---------------------------------------------------------------------------

# EXAMPLES_SHOW=NAME shows what the commands of a page print.
if [[ -n ${EXAMPLES_SHOW:-} ]]; then
    give "$work/show"
    HOME=$work/show python3 "$tool" --show "$top"/*/*/"$EXAMPLES_SHOW.scd" "$work/show"
    exit
fi

elsewhere=0 form=0
for page in "$top"/cli/pages/*.scd "$top"/plugin/*/*.scd "$top"/daemon/*.scd \
    "$top"/dev/*.scd; do
    name=${page##*/}
    name=${name%.scd}
    give "$work/$name"
    found=$(HOME=$work/$name XDG_DATA_HOME=$work/$name/data \
        python3 "$tool" "$page" "$work/$name" 2>&1)
    counts=${found##*$'\n'}
    is "the examples of $name" "${found%"$counts"}" ''
    [[ $counts =~ elsewhere=([0-9]+)\ form=([0-9]+) ]] \
        && elsewhere=$((elsewhere + BASH_REMATCH[1])) form=$((form + BASH_REMATCH[2]))
    rm -rf "${work:?}/$name"
done
is 'the number of blocks that other tests run' "$elsewhere" "$ELSEWHERE_BLOCKS"
is 'the number of blocks that show a form' "$form" "$FORM_BLOCKS"

# A command without an example is a gap in its page.
is 'every section or page of a command runs it' \
    "$(sed -n '/^# COMMANDS/,/^# COMMON/s/^## //p' "$top/cli/pages/dnnest.1.scd" |
        while read -r command; do
            grep -q "^	[\$#].*dnnest $command " "$top"/cli/pages/dnnest{.1,-"$command".1}.scd \
                2>/dev/null || echo "$command"
        done)" ''

# What the tool must find.
give "$work/bad"
# finds TITLE PATTERN LINE...: a page with this block
finds() {
    { printf '# EXAMPLES\n\n'; printf '%s\n' "${@:3}"; } >"$work/bad.scd"
    like "$1" "$(python3 "$tool" "$work/bad.scd" "$work/bad" 2>&1)" "$2"
}
finds 'a command that fails' 'status 2' '```' "	\$ dnnest check model=resnet50,bach=4" '```'
finds 'another output' 'another output' '```' "	\$ echo 12" '	13' '```'
finds 'a block that is not marked' 'no command' '```' '	some text' '```'
finds 'a wrong file' 'status 3' '; file a.conf' '```' '	Mode=enforced' '```'
finds 'an option that is not there' 'status 2' '; elsewhere tests/live/daemon.t' '```' \
    "	\$ dnnest status --jsno" '```'
finds 'a live test that is not there' 'no such test' '; elsewhere tests/live/none.t' '```' \
    "	\$ dnnest status" '```'
done_testing
