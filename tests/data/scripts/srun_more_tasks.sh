#!/bin/bash
#SBATCH -N 1 -n 4 -c 4 --gres=gpu:4 -t 1-0
#DNNEST model=resnet50 batch=128 precision=fp16 epochs=10 dataset=imagenet
srun -n 8 --overcommit python train.py
