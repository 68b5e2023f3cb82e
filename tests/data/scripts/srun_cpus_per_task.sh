#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=20
#SBATCH --gres=gpu:a100:4
#SBATCH --time=24:00:00
#DNNEST model=swin_t batch=128 precision=fp16 epochs=30 dataset=imagenet

# srun does not inherit -c since Slurm 22.05
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
export MASTER_PORT=$(expr 10000 + $(echo -n $SLURM_JOBID | tail -c 4))
export WORLD_SIZE=$(($SLURM_NNODES * $SLURM_NTASKS_PER_NODE))

srun -n 4 -c $SLURM_CPUS_PER_TASK --gpus-per-task=1 python main.py --cfg configs/swin.yaml
