#!/bin/bash
#SBATCH --gres=gpu:a100:4 -c 32 -t 3-0
#DNNEST model=bert_large batch=16 seq_len=128 precision=fp16 steps=10000
set -e
RUN="torchrun --standalone --nproc_per_node=4 run_pretraining.py --fp16"

# phase 1: short sequences
$RUN --max_seq_length 128 --max_steps 7038 --output_dir out/phase1

# phase 2
$RUN --max_seq_length 512 --max_steps 1563 --resume out/phase1 --output_dir out/phase2
