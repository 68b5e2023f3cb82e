#!/bin/bash
#SBATCH --gres=gpu:a100:2 -c 16 -t 10:00:00
#DNNEST model=deeplabv3_resnet50 batch=16 precision=fp16 epochs=40 samples=10k
nvidia-smi --query-gpu=timestamp,utilization.gpu,memory.used --format=csv -l 10 \
    > gpu_$SLURM_JOB_ID.csv &
MON=$!
( while true; do free -g >> mem.log; sleep 60; done ) &
python -u train_seg.py 2>&1 | tee -a seg.log
kill $MON
