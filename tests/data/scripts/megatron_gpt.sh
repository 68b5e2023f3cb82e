#!/bin/bash
#SBATCH --nodes=8 --ntasks-per-node=8 --gpus-per-node=8 --exclusive
#SBATCH --time=7-00:00:00
#DNNEST model=gpt3_xl batch=2 seq_len=2048 precision=bf16 tp=8 global_batch=512 steps=5000 framework=megatron

export CUDA_DEVICE_MAX_CONNECTIONS=1
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
CHECKPOINT_PATH=/lustre/ckpt/gpt
VOCAB_FILE=gpt2-vocab.json
DATA_PATH=/lustre/data/my-gpt2_text_document

GPT_ARGS="
    --tensor-model-parallel-size 4
    --num-layers 24
    --hidden-size 2048
    --num-attention-heads 16
    --seq-length 2048
    --micro-batch-size 4
    --global-batch-size 512
    --lr 0.00015
    --train-iters 500000
    --transformer-impl transformer_engine
    --fp8-format hybrid
"
DATA_ARGS=(
    --data-path $DATA_PATH
    --vocab-file $VOCAB_FILE
    --split 949,50,1   # train, valid, test
)

srun --container-image=nvcr.io/nvidia/pytorch:24.03-py3 \
     --container-mounts=/lustre:/lustre --no-container-mount-home \
     python -u pretrain_gpt.py $GPT_ARGS "${DATA_ARGS[@]}" \
     --save $CHECKPOINT_PATH --load $CHECKPOINT_PATH
