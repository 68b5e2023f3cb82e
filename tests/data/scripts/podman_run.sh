#!/bin/sh
#SBATCH --gres=gpu:1 -c 8 -t 06:00:00
#DNNEST model=yolov5s batch=32 image=640 epochs=100 dataset=coco
podman run --rm --device nvidia.com/gpu=all --ipc=host --shm-size 16g \
    -v "$HOME/coco:/usr/src/datasets" -e WANDB_DISABLED=true \
    ultralytics/yolov5:latest python train.py --img 640 --batch 32 --epochs 100
