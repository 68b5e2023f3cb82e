#!/bin/bash
#SBATCH --ntasks=1 --cpus-per-task=16 --gres=gpu:a100:1
#SBATCH --time=12:00:00
#DNNEST model=mlp layers=8 hidden=4096 batch=2048 precision=fp32 steps=100000

export OMP_NUM_THREADS=16
numactl --physcpubind=0-15 --localalloc python dlrm_s_pytorch.py --use-gpu
