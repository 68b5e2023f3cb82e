#!/bin/bash
#SBATCH --job-name=sweep
#SBATCH --array=0-8%3
#SBATCH --gres=gpu:v100:1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --time=08:00:00
#SBATCH -o slurm-%A_%a.out
#DNNEST model=resnet18 batch=128 epochs=100 dataset=cifar10

LRS=(0.1 0.03 0.01)
WDS=(1e-4 5e-4 1e-3)
LR=${LRS[$((SLURM_ARRAY_TASK_ID % 3))]}
WD=${WDS[$((SLURM_ARRAY_TASK_ID / 3))]}

eval "$(conda shell.bash hook)"
conda activate lightning

python train.py --lr "$LR" --weight_decay "$WD" --seed 42 \
    --num_workers ${SLURM_CPUS_PER_TASK}
