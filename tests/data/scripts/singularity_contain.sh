#!/bin/bash
#SBATCH -p gpu --gres=gpu:v100:2 -c 8 -t 20:00:00
#DNNEST model=maskrcnn_resnet50_fpn batch=4 epochs=6 dataset=coco
module load singularity/3.8
srun singularity exec -c -e --nv -B $PWD:/work --pwd /work pytorch_22.01.sif \
    python -m torch.distributed.launch --nproc_per_node=2 --use_env \
    train_detection.py --config-file r50.yaml
