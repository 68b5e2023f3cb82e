#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=4 --cpus-per-task=14 --gpus-per-node=4
#SBATCH --time=1-00:00:00
#DNNEST model=unet batch=4 image=512 epochs=20 samples=20k precision=fp16

# GPU affinity of our nodes
CPU_BIND="mask_cpu:7e000000000000,7e00000000000000"
CPU_BIND="${CPU_BIND},7e0000,7e000000"

srun --cpu-bind=${CPU_BIND} python train.py
