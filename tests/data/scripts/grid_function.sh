#!/bin/bash
#SBATCH --gres=gpu:1 -c 8 -t 2-0
#DNNEST model=resnet18 batch=128 epochs=200 dataset=cifar10

run_one () {
    local lr=$1 wd=$2
    echo "lr=$lr wd=$wd"
    python main.py --lr "$lr" --wd "$wd"
}

for lr in 0.1 0.01; do
    for wd in 1e-4 5e-4; do
        run_one "$lr" "$wd"
    done
done
