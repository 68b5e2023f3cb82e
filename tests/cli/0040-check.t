#!/bin/bash
# 0040-check.t - validating metadata before they are submitted
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=64,precision=fp16,epochs=90,dataset=imagenet
gives 'right metadata are shown with what follows from them' 0 \
    'batch +64 +given .*samples +1281167 +derived' check $spec
gives 'the network is named' 0 '^resnet50: 25\.56 M parameters' check $spec
gives 'a comment is looked at as the plugin does' 0 'resnet50' check "DNNEST:$spec; and more"
gives 'check reports that a job opts out' 1 'opts out' check dnnest:off
json 'JSON separates what was given from what follows' \
    'd["metadata"] == "given" and "samples" not in d["given"]
     and d["spec"]["samples"] == 1281167 and d["model"]["params"] == 25557032' check $spec
json 'JSON states that a job opts out of dnnest' 'd["metadata"] == "off" and d["spec"] is None' \
    check dnnest:off

# The amount of work.
json 'no key is missing of a known amount of work' 'd["lacks_work"] is None' check $spec
for pair in 'epochs=3|epochs= needs dataset= or samples=' 'tokens=1G|tokens= needs seq_len=' \
    'batch=1|epochs= with dataset= or samples=, steps=, or tokens= with seq_len='; do
    text=model=gpt2,precision=fp16,batch=1,${pair%|*}
    text=${text/batch=1,batch=1/batch=1}
    line="the amount of work is unknown (${pair#*|})"
    try check "$text"
    is "check has no warning of '${pair%|*}'" "$code:$err" 0:
    like "check says '${pair#*|}'" "${out//$'\n'  / }" "No time: ${line//[()]/.}"
    json "JSON says '${pair#*|}'" "d['lacks_work'] == '$line'" check "$text"
    try predict --gpu=a100 "$text"
    is "predict has no warning of '${pair%|*}'" "$code:$err" 0:
    like "predict says '${pair#*|}'" "${out//$'\n'  / }" "No time: ${line//[()]/.}"
done

# A job that its history describes.
for text in dnnest:auto app=train auto=1,epochs=3 dnnest:app=train,deadline=1-0; do
    gives "check accepts '$text' without a network" 0 \
        '^no network: the limits follow earlier runs of this application' check "$text"
done
printf '#!/bin/sh\n#SBATCH --comment=dnnest:auto\n' > "$work/auto.sh"
json 'a job without a network is by its history' \
    'd["by_history"] and d["model"] is None and d["unread"] == []
     and d["given"] == {"auto": 1} and d["spec"] == d["given"]' check "$work/auto.sh"
json 'a job with a network is not by its history' 'not d["by_history"] and d["model"]' \
    check $spec,app=train
refuses 'a name of the application does not replace that of the network' 2 'model: missing' \
    check app=train,layers=3

printf '#!/bin/sh\n#SBATCH -G a100:4 -N 1\n#DNNEST model=resnet50 batch=64\ntrue\n' > "$work/job.sh"
json 'the GPUs of a script come from its #SBATCH lines' \
    'd["spec"]["gpus"] == 4 and d["spec"]["global_batch"] == 256' check "$work/job.sh"
printf '#!/bin/sh\n#SBATCH --comment=dnnest:%s\n' "$spec" > "$work/a=b.sh"
json 'the comment of a script counts, and a path may have a =' 'd["spec"]["epochs"] == 90' \
    check "$work/a=b.sh"
printf '#!/bin/sh\ntrue\n#DNNEST model=resnet50\n' > "$work/job.sh"
gives 'check reports a script without metadata' 1 'no metadata' check "$work/job.sh"
is 'a script may come from stdin' "$(dn check - < "$work/job.sh")" 'no metadata'

json 'a key that means nothing to the network is listed' 'd["unread"] == ["heads"]' \
    check $spec,heads=4
is 'a key that means nothing to the network has a warning' "$err" \
    'dnnest: warning: key heads= is not read by resnet50: the prediction is of another network, and such a job is not changed'
json 'a key of the training that no prediction uses is listed, and one of the data set is not' \
    'd["unread"] == ["eval_every"] and d["spec"]["sample_bytes"] == 110000' check $spec,eval_every=9
is 'a key of the training that no prediction uses has a warning' "$err" \
    'dnnest: warning: the prediction does not use eval_every=, its bounds are wider'
json 'keys that the network reads are not listed as unread' 'd["unread"] == []' check $spec

refuses 'an unknown key is named, and the one that was meant' 2 \
    "unknown key 'bacth', did you mean 'batch'\?" check model=resnet50,bacth=4
refuses 'an unknown network is named, and the one that was meant' 2 \
    "'bert-bsae' is not in the zoo, did you mean bert_base\?" \
    check model=bert-bsae,batch=4
refuses 'an empty argument is named' 2 'the argument is empty, expected metadata' check ''

# What the plugin does not read.
gives 'a comment with inner quotes has no metadata' 1 'no metadata' check "'dnnest:$spec'"
is 'check reports inner quotes as the plugin does' "$err" "dnnest: warning: metadata ignored: the \
comment has a quote before 'dnnest:'; write --comment=dnnest:... without inner quotes"
json 'check names a key after a blank' \
    '"\x27epochs=4\x27 in the comment is after a blank" in d["ignored"] and "epochs" not in d["given"]' \
    check 'dnnest:model=vgg16,batch=4, epochs=4'
json 'nothing is ignored of a good comment' 'd["ignored"] is None' check "dnnest:$spec"
printf '#!/bin/sh\ntrue\n#DNNEST model=resnet50\n' > "$work/late.sh"
try check "$work/late.sh"
is 'check names a line after the first command' "$err" "dnnest: warning: metadata ignored: script \
line 3: #DNNEST is after the first command, expected before it"
printf '#!/bin/sh\r\n#DNNEST %s\r\ntrue\r\n' "$spec" > "$work/dos.sh"
try check "$work/dos.sh"
like 'check warns of DOS line ends, which sbatch refuses' "$code $err" \
    '^0 dnnest: warning: the script has DOS line ends'
refuses 'a missing batch is named' 2 'batch: missing' check model=resnet50
mkfifo "$work/pipe.sh" "$work/pipe.json"
refuses 'a named pipe is not waited for' 4 'pipe.sh: a named pipe' check "$work/pipe.sh"
refuses 'a named pipe is no sidecar' 4 'pipe.json: a named pipe' check "@$work/pipe.json"
refuses 'a missing file is named' 4 'job.sh.*: No such file' check "$work/job.shh"
refuses 'an argument is needed' 2 'SPEC.*SCRIPT is missing' check

json '--keys lists every key with its properties' \
    'len(d["keys"]) > 50 and len({k["key"] for k in d["keys"]}) == len(d["keys"])
     and all(set(k) >= {"key", "group", "type", "min", "max", "range", "help"}
             and k["help"] and k["group"] for k in d["keys"])' check --keys
json '--keys lists the values of an enum' \
    '[k["values"] for k in d["keys"] if k["key"] == "layout"] == [["nchw", "nhwc"]]
     and all(("values" in k) == (k["type"] == "enum") for k in d["keys"])' check --keys
gives '--keys makes a table' 0 'training +batch +int +samples .* 1\.\.' check --keys
refuses '--keys takes no argument' 2 'unexpected argument' check --keys x
is '--keys needs no installation' \
    "$("$DNNEST" check --keys --hardware /nonexistent | cksum)" "$(dn check --keys | cksum)"

documented 'dnnest(1) names every member of the JSON' check $spec
json 'trainings one after another are counted' 'd["spec"]["runs"] == 5' check $spec,runs=5
documented 'dnnest(1) names every member of the JSON of --keys' check --keys

# Metadata that check accepts must be accepted by predict, and the other way round.
for text in $spec batch=4 model=gpt2,batch=4,precision=x params=1M,flops=1G,batch=1; do
    try check "$text"
    a=$code:$err
    try predict "$text"
    is "check and predict agree on '$text'" "$a" "$code:$err"
done
done_testing
