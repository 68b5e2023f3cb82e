#!/bin/bash
#SBATCH --nodes=1 --ntasks=4 --cpus-per-task=16 --gres=gpu:a100:4
#SBATCH --time=12:00:00
#DNNEST model=bert_large batch=256 seq_len=512 precision=fp16 steps=8000

module load OpenMPI
mpirun -np 4 --map-by ppr:4:node:PE=16 --report-bindings \
    python run_pretraining.py --train_batch_size 64 --fp16
