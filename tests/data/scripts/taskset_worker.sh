#!/bin/bash
#SBATCH -c 8 --gres=gpu:1 -t 5:00:00
#DNNEST model=efficientnet_b0 batch=64 precision=fp16 epochs=2 dataset=imagenet
CORES=0-7
taskset -c $CORES python train.py --workers 8
