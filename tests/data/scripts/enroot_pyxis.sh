#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8 --cpus-per-task=16
#SBATCH --time=08:00:00 --exclusive
#DNNEST model=bert_large batch=16 seq_len=128 precision=fp16 optimizer=lamb steps=7038 stack=ngc

readonly _cont_image=nvcr.io#nvidia/pytorch:23.05-py3
_cont_mounts="/raid/data:/data,$PWD/results:/results"

# make sure that the container is on every node
srun --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 \
    --container-image="$_cont_image" --container-name=bert true

srun --ntasks-per-node=8 --container-name=bert --container-mounts="$_cont_mounts" \
    bash -c 'cd /workspace/bert && python -u run_pretraining.py --fp16 \
        --local_rank=$SLURM_LOCALID --output_dir=/results'
