#!/bin/bash
#SBATCH --nodes=1 --ntasks=4 --cpus-per-task=16 --gres=gpu:a100:4
#SBATCH --time=12:00:00
#DNNEST model=bert_large batch=8 seq_len=512 precision=fp16 optimizer=lamb steps=8000 decode=text

module load OpenMPI
mpirun -np 4 --map-by ppr:4:node:PE=16 --report-bindings \
    python run_pretraining.py --train_batch_size 64 --fp16
