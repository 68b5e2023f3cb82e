#!/bin/bash
#SBATCH -c 8 --gres=gpu:1 -t 5:00:00
#DNNEST model=lstm_lm batch=64 steps=10000
export GOMP_CPU_AFFINITY="0-7" OMP_NUM_THREADS=8
python train_lm.py
