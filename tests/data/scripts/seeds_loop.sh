#!/bin/bash
#SBATCH --gres=gpu:1 -c 8 -t 2-0
#DNNEST model=resnet18 batch=128 epochs=200 dataset=cifar10
for seed in 0 1 2 3 4; do
    python train.py --seed $seed --out runs/$seed
done
