#!/bin/bash
#SBATCH --gres=gpu:1 -c 20 -t 1-0
#DNNEST model=vgg16 batch=64 precision=fp16 epochs=5 dataset=imagenet
n=$(nproc)
workers=$(echo "$n / 2" | bc)
python main.py -j "$workers" /data/imagenet
