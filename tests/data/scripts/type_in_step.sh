#!/bin/bash
#SBATCH --nodes=1 --ntasks=1 --gres=gpu:a100:4 -c 32 -t 1-0
#DNNEST model=gpt2_large batch=2 seq_len=1024 precision=fp16 checkpointing=full optimizer=adamw steps=20000 decode=text
# the type must be repeated for steps on our cluster
srun --gres=gpu:a100:4 --gpu-freq=high,verbose \
    torchrun --standalone --nproc_per_node=4 train.py --model gpt2-xl
