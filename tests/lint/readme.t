#!/bin/bash
# readme.t - the commands, names, links and figures of README.md and of the guides are right
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The code blocks of README.md, CONTRIBUTING.md, SECURITY.md and doc/*.md state by their kind
# what is tested: 'sh' is run here, 'console' too, and its output is compared; 'sh root' would
# change the machine, so only its syntax and the files that it names are checked; 'conf
# dnnest' goes through 'dnnest config --check'; 'sh cluster' is for tests/live/readme.t.
# tests/lint/guides.py reads them.

. "$(dirname "$0")/../cli/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)

# --- where the commands run ----------------------------------------------------------------

# A site with both GPU types of the guides and a store of finished jobs.
mkdir -p "$work"/{bin,home,state,log}
bundle=$work/bundle
cp -R "$top/etc/bundle" "$bundle"
chmod -R u+rwX,go-w "$bundle"
cat >"$work/site.conf" <<END
Mode=enforce
Datasets=$work/datasets.conf
StateDir=$work/state
Bundle=$bundle
Gpu Type=a100 Device=a100_sxm4_40gb Cost=3 PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=gpu
Gpu Type=v100 Device=v100_sxm2_32gb Cost=1 PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 Partitions=gpu
END
python3 "$top/tests/report/make_jobs.py" 300 >"$work/jobs.csv"
dn jobs --db="$work/state/records.db" "$work/jobs.csv" >/dev/null
cat >"$work/bin/dnnest" <<END
#!/bin/sh
command=\$1
shift
# With --datasets= zoo lists data sets.
[ "\$command" = zoo ] || set -- --datasets='$work/datasets.conf' "\$@"
exec '${DNNEST%/*}'/"\${0##*/}" "\$command" --conf='$work/site.conf' --hardware='$work/hardware' --zoo='$work/zoo' "\$@"
END
chmod 755 "$work/bin/dnnest"
ln -s dnnest "$work/bin/dnnest-dev"
# What the guides call job.sh and train.sh
cat >"$work/home/job.sh" <<'END'
#!/bin/sh
#DNNEST model=resnet50 batch=128 precision=fp16 epochs=10 dataset=imagenet
srun python3 train.py
END
printf '#!/bin/sh\nwhile echo step; do sleep 0.02; done\n' >"$work/home/train.sh"
chmod 755 "$work/home/train.sh"

# guides CHECK [KIND]
guides() {
    python3 "$here/guides.py" "$1" "$top" "$work" "${@:2}" 2>&1
}
# typed COMMAND: as in a shell, in that place
typed() {
    (cd "$work/home" && env PATH="$work/bin:$PATH" HOME="$work/home" XDG_DATA_HOME="$work/data" \
        JOBID=7 bash -c "$1" 2>&1 </dev/null)
}

# --- names -----------------------------------------------------------------------------

dn config --json >"$work/config.json"
write_helps ''
is 'every relative link has a file, and a heading where it names one' "$(guides links)" ''
is 'every manual page that is named exists' "$(guides pages)" ''
is 'every subcommand and option that is named exists' "$(guides options)" ''
is 'every key of dnnest.conf and of Slurm that is named exists' "$(guides keys)" ''
is 'every code block is of a kind that a test knows' "$(guides fences)" ''
is 'the accuracy in README.md is that of doc/accuracy.md' "$(guides accuracy)" ''

# --- commands ----------------------------------------------------------------------------

ran=0
while IFS=$'\t' read -r place command; do
    said=$(typed "$command") && status=0 || status=$?
    is "$place: $command" "$status" 0
    if [[ $status != 0 ]]; then diag "$said"; fi
    ran=$((ran + 1))
done < <(guides commands sh)

# compared: runs the lines of the block of stdin after '$ ', and prints what the block would be
compared() {
    sed -n 's/^\$ //p' | while IFS= read -r command; do
        printf '$ %s\n' "$command"
        typed "$command"
    done
}
# read_blocks KIND: sets text, and place of each
read_blocks() {
    local line
    place=() text=()
    while IFS= read -r line; do
        if [[ $line = '@ '* ]]; then
            place+=("${line#@ }") text+=('')
        else
            text[-1]+=$line$'\n'
        fi
    done < <(guides blocks "$1")
}
read_blocks console
shown=${#text[@]}
for i in "${!text[@]}"; do
    is "${place[i]}: the output is that of the commands" "$(compared <<<"${text[i]}")" "${text[i]%$'\n'}"
done

checked=0
while IFS=$'\t' read -r place command; do
    ok "$place: the syntax of '$command'" bash -n -c "$command"
    for word in $command; do
        if [[ $word = packaging/* ]]; then
            ok "$place: $word is a program of the tree" test -x "$top/$word"
        fi
    done
    checked=$((checked + 1))
done < <(guides commands 'sh root')

# --- configurations ------------------------------------------------------------------------

# fitting: what is wrong with the lines of dnnest.conf of stdin, at this site
fitting() {
    sed "s|=/var/log/slurm/|=$work/log/|; s|=/var/lib/prometheus/node-exporter/|=$work/log/|" \
        >"$work/some"
    {
        if ! grep -q 'Gpu .*a100' "$work/some"; then grep '^Gpu' "$work/site.conf"; fi
        echo "DataDir=$work"
        cat "$work/some"
    } >"$work/some.conf"
    # Where dnnestd runs, a Gpu line needs no more than Type and Device.
    "$DNNEST" config --check "$work/some.conf" 2>&1 >/dev/null |
        grep -v 'warning: .*: no job can be moved to it without .* or a snapshot of dnnestd$'
}
read_blocks 'conf dnnest'
confs=${#text[@]}
for i in "${!text[@]}"; do
    is "${place[i]}: the lines of dnnest.conf are right" "$(fitting <<<"${text[i]}")" ''
done

# --- the check itself must find errors ---------------------------------------------------------

ok 'there are commands, outputs and configurations' \
    test "$ran" -ge 20 -a "$shown" -ge 1 -a "$confs" -ge 10 -a "$checked" -ge 5
like 'a key that does not exist is found' "$(fitting <<<'Mod=enforce')" "Mod"
ok 'a command that fails is found' bash -c "! '$work/bin/dnnest' check modle=resnet50 2>/dev/null"
mkdir -p "$work/tree/doc"
cp "$top/doc/accuracy.md" "$work/tree/doc/"
sed -E '/both at once/s/[0-9.]+ %/19.9 %/' "$top/README.md" >"$work/tree/README.md"
printf '%s\n' '`dnnest perdict`, `dnnest zoo --josn`, `Mdoe=enforce`, dnnest.cnf(5),' \
    '[x](no.md) [y](x.md#none)' '```shell' 'x' '```' '# Some' >"$work/tree/doc/x.md"
real=$top
top=$work/tree
like 'a figure that is not in doc/accuracy.md is found' "$(guides accuracy)" 'not in doc/accuracy.md: .*19\.9 %'
like 'a missing link is found' "$(guides links)" 'x.md:2: no no.md'
like 'a missing heading is found' "$(guides links)" 'no heading x.md#none'
like 'a missing page is found' "$(guides pages)" 'no page dnnest.cnf\(5\)'
like 'a missing command is found' "$(guides options)" 'no command dnnest perdict'
like 'a missing option is found' "$(guides options)" 'no option --josn'
like 'a missing key is found' "$(guides keys)" 'no key Mdoe='
like 'an unknown kind of block is found' "$(guides fences)" "of kind 'shell'"
top=$real

diag "$ran commands run, $shown outputs compared, $confs configurations checked;" \
    "of $checked commands the syntax only; $(guides commands 'sh cluster' | wc -l) are for" \
    'tests/live/readme.t'
done_testing
