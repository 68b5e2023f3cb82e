#!/bin/bash -l
#SBATCH --gpus-per-node=a100:4
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --mem=0
#SBATCH --time=0-12:00:00
#SBATCH --signal=SIGUSR1@90
#DNNEST model=vit_b_16 batch=128 precision=fp16 epochs=10 dataset=imagenet

# activate conda env
source activate $1

# debugging flags (optional)
export NCCL_DEBUG=INFO
export PYTHONFAULTHANDLER=1
# export NCCL_SOCKET_IFNAME=^docker0,lo

srun python3 train.py --devices 4 --num_nodes 1 --precision 16-mixed
