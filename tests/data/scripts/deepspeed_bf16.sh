#!/bin/bash
#SBATCH -N 1
#SBATCH --gpus=h100:8
#SBATCH --cpus-per-gpu=12
#SBATCH -t 2-00:00:00
#DNNEST model=llama_13b batch=1 seq_len=4096 precision=bf16 parallel=zero3 checkpointing=full optimizer=adamw steps=2000

ml CUDA/12.4.0 GCC/12.3.0
. ~/envs/ds/bin/activate

DS_ARGS="--zero_stage 3 --bf16 --gradient_checkpointing"
export WANDB_MODE=offline
deepspeed --master_port $(shuf -i 20000-30000 -n 1) \
  sft.py $DS_ARGS --attn_implementation flash_attention_2
wandb sync wandb/latest-run
