#!/bin/bash
#SBATCH --gres=gpu:1 -c 20 -t 1-0
#DNNEST model=vgg16 batch=64 precision=fp16 epochs=5 dataset=imagenet
if [ "$SLURM_CPUS_PER_TASK" -lt 8 ]; then
    echo "at least 8 CPUs are needed" >&2
    exit 1
fi
python main.py -j "$SLURM_CPUS_PER_TASK" /data/imagenet
