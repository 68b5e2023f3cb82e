#!/bin/bash
#SBATCH --gres=gpu:a100:4 -c 64 -t 1-0
#DNNEST model=resnet50 batch=256 precision=fp16 epochs=90 dataset=imagenet
export OMP_NUM_THREADS=$(( $SLURM_CPUS_ON_NODE / $SLURM_GPUS_ON_NODE ))
torchrun --standalone --nproc_per_node gpu train.py
