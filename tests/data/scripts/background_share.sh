#!/bin/bash
#SBATCH --gres=gpu:a100:2 -c 16 -t 1-0
#DNNEST model=resnet50 batch=128 epochs=90 dataset=imagenet
CUDA_VISIBLE_DEVICES=0 python train.py --fold 0 &
CUDA_VISIBLE_DEVICES=1 python train.py --fold 1 &
wait
