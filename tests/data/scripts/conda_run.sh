#!/usr/bin/env bash
#SBATCH --gres=gpu:1 -c 4 -t 06:00:00
#DNNEST model=gpt2 batch=8 seq_len=1024 precision=fp16 steps=20000
cd "$SLURM_SUBMIT_DIR" || exit 1
nohup conda run -n nanogpt --no-capture-output \
    python train.py config/train_shakespeare_char.py --dtype=float16 > train.log 2>&1
