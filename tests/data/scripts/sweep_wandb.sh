#!/bin/bash
#SBATCH --gres=gpu:1 -c 8 -t 1-0 --array=1-4
#DNNEST model=vgg16 batch=128 epochs=20 dataset=cifar10
source ~/.bashrc
conda activate sweep
wandb agent --count 10 team/project/x8k2lq
