#!/bin/bash
# 0170-newcomer.t - the first things that people type are understood
#
# SPDX-License-Identifier: GPL-2.0-or-later

without_python=yes
. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
printf '%s\n' '#!/bin/bash' '#SBATCH --gres=gpu:a100:1' '#SBATCH -c 16 -t 24:00:00' \
    '#DNNEST model=resnet50 batch=64 amp' '#DNNEST epochs=90 dataset=imagenet' 'python train.py' >job.sh
cat >config.json <<'JSON'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048,
 "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32,
 "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 2048,
 "tie_word_embeddings": false}
JSON
# The devices of the catalogue, and no types of a site: as on a laptop.
echo Mode=advise >site.conf

tries=0
while IFS=$'\t' read -r code pattern typed; do
    [[ $code = \#* ]] && continue
    eval "words=($typed)"
    # shellcheck disable=SC2154  # set by eval
    if [[ ${words[0]} = *help ]]; then
        answer=$("$DNNEST" "${words[@]}" 2>&1)
    else
        answer=$(dn "${words[@]}" 2>&1)
    fi
    got=$?
    problem=
    [[ $got =~ ^($code)$ ]] || problem="exit code $got, expected $code"
    [[ $answer =~ $pattern ]] || problem+=" does not match $pattern"
    out=$answer err=
    verdict "dnnest $typed"
    tries=$((tries + 1 + (got == 2)))
done <"$top/tests/data/newcomer.txt"
diag "$tries tries"
done_testing
