#!/bin/bash
#SBATCH --job-name=resnet50
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=32
#SBATCH --gres=gpu:a100:4
#SBATCH --mem=120G
#SBATCH --time=2-00:00:00
#SBATCH --output=logs/%x_%j.out
#DNNEST model=resnet50 batch=128 precision=fp16 optimizer=momentum epochs=90 dataset=imagenet

set -euo pipefail

module purge
module load python/3.11 cuda/12.1
source $HOME/venvs/torch/bin/activate

export OMP_NUM_THREADS=8
export NCCL_DEBUG=WARN

echo "Job $SLURM_JOB_ID on $(hostname) started at $(date)"
nvidia-smi

torchrun --standalone --nproc_per_node=$SLURM_GPUS_ON_NODE \
    train.py --data /datasets/imagenet --epochs 90 --batch-size 256 \
    --workers 8 --amp --output-dir $SLURM_SUBMIT_DIR/runs/$SLURM_JOB_ID

echo "finished at $(date)"
