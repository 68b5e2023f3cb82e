#!/bin/bash
#SBATCH --gres=gpu:a100:1 -c 8 -t 1-0
#DNNEST model=gpt2 batch=4 seq_len=1024 precision=fp16 optimizer=adamw steps=50000 decode=text
ARGS=(
    --model_name_or_path gpt2     # the small one
    --per_device_train_batch_size 32
    --fp16 --tf32 True
)
[[ $USER == guest* ]] && ARGS+=( --max_steps 100 )
python run_clm.py "${ARGS[@]}"
