#!/bin/bash
# 0046-carriers.t - check and advise take every carrier as the plugins do
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
a100=(-c 16 -n 4 -N 1 --gpus=a100:4 -t 1-0)
sed -E 's/([a-z_]+)=([^,]*)/"\1": "\2"/g; s/^/{"dnnest": 1, "spec": {/; s/$/}}/' <<<"$short" \
    > train.json
script() { printf '#!/bin/sh\n'; printf '%s\n' "$@"; printf 'true\n'; }
script > job.sh
script "#DNNEST ${short//,/ }" > lines.sh
script "#SBATCH --dnnest=$short" > option.sh
script '#SBATCH --dnnest=train.json' > file.sh

want=$(dn advise "${a100[@]}" --comment="dnnest:$short" job.sh)
like 'a comment moves a job' "$want" '^dnnest: time 1-00:00:00 -> '
for how in "--dnnest=$short job.sh" '--dnnest=train.json job.sh' '--dnnest=@train.json job.sh' \
    lines.sh option.sh file.sh '--dnnest=train.json option.sh'; do
    # shellcheck disable=SC2086
    is "advise $how gives the same as with a comment" "$(dn advise "${a100[@]}" $how)" "$want"
done
cat > described.json <<'SIDECAR'
{"dnnest": 1, "spec": {"model": "my_net", "batch": 8, "precision": "fp16", "steps": 100,
  "optimizer": "sgd", "input": "synthetic"},
 "graph": {"name": "my_net", "ops": [
  {"op": "linear", "in": [[4096]], "out": [[4096]], "params": 16781312, "repeat": 8}]}}
SIDECAR
json 'a network that a sidecar describes has candidates' \
    '[c["type"] for c in d["candidates"]] == ["a100", "twin"]' \
    advise "${a100[@]}" --dnnest=described.json job.sh
is 'the network of a sidecar is found without a message' "$err" ''
want=$(dn check --json "$short" | grep -v '"gpus"')
for file in lines.sh option.sh file.sh train.json @train.json "dnnest:$short"; do
    is "check $file finds the same as in SPEC" \
        "$(dn check --json "$file" | grep -v '"gpus"')" "$want"
done

json 'of a key the last carrier counts: sidecar, script, comment, option' \
    'd["spec"]["batch"] == 4 and d["spec"]["workers"] == 3 and d["spec"]["epochs"] == 2
     and d["spec"]["model"] == "resnet50"' \
    advise --dnnest=@train.json,batch=4 --comment=dnnest:batch=5,workers=3 \
    <(script '#DNNEST batch=6 workers=2 epochs=2 dataset=imagenet' | sed 's/steps=100//')
for off in --dnnest=off --comment=dnnest:off; do
    gives "$off opts out" 1 'opts out' advise $off lines.sh
done
gives '#SBATCH --dnnest=off is found' 1 'opts out' check <(script '#SBATCH --dnnest=off')

refuses 'a wrong option is named with its column' 2 '--dnnest: column 7: batch: -4' \
    advise --dnnest=batch=-4 job.sh
refuses 'a wrong option of a script is named with its column' 2 '--dnnest: column 7: batch: -4' \
    check <(script '#SBATCH --dnnest=batch=-4')
refuses 'a wrong line is named with line and column' 2 'script line 2: column 15: batch' \
    check <(script '#DNNEST batch=none')
printf '{"dnnest": 1,\n "spec": {"batch": }}' > bad.json
refuses 'a wrong sidecar is named with line and column' 2 \
    '--dnnest: bad.json: sidecar: line 2, column 20' advise --dnnest=bad.json job.sh
refuses 'check reports a wrong sidecar with line and column' 2 \
    'bad.json: sidecar: line 2, column 20' check bad.json
refuses 'a missing file is named' 4 \
    '--dnnest: resnet50: No such file' advise --dnnest=resnet50 job.sh
mkfifo fifo
refuses 'a FIFO in place of a file is refused' 4 \
    'fifo: not a regular file' advise --dnnest=fifo job.sh
refuses 'help does not describe a job' 2 'dnnest=help: does not describe a job' advise --dnnest=help job.sh

refuses 'a file in a comment needs SidecarDir' 4 'no SidecarDir in dnnest.conf' \
    advise --comment=dnnest:@train.json job.sh
mkdir sidecars
cp train.json sidecars
echo "SidecarDir=$work/sidecars" >> site.conf
json 'SidecarDir is shown' \
    '[s["value"] for s in d["site"] if s["key"] == "SidecarDir"][0].endswith("/sidecars")' config
try check dnnest:@train.json
if [[ $err = *openat2* ]]; then
    skip 'a file in a comment is read' 'the kernel has no openat2'
else
    is 'a file in a comment is read below SidecarDir' \
        "$(dn check --json dnnest:@train.json | grep -v '"gpus"')" "$want"
    json 'keys after a file in a comment override those of the file' \
        'd["given"]["batch"] == 5' \
        check dnnest:@train.json,batch=5
    refuses 'a file in a comment is not read above SidecarDir' 4 \
        'comment: ../train.json: leads out of its directory' \
        check dnnest:@../train.json
fi
done_testing
