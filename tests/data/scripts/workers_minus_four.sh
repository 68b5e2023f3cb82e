#!/bin/bash
#SBATCH --gres=gpu:a100:1 -c 16 --mem=64G -t 2-0
#DNNEST model=resnet50 batch=128 precision=fp16 epochs=3 dataset=imagenet

NCPU=${SLURM_CPUS_PER_TASK:-16}
# leave some for the main process
WORKERS=$((NCPU - 4))
python train.py --workers $WORKERS
