#!/bin/bash
#SBATCH --nodes=1 --ntasks=4 --cpus-per-task=20 --gres=gpu:a100:4 -t 1-0
#DNNEST model=swin_t batch=128 precision=fp16 epochs=30 dataset=imagenet
LAUNCH="srun --ntasks=4 --cpus-per-task=20"
$LAUNCH python main.py --cfg configs/swin.yaml
