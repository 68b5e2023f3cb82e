#!/bin/bash
#SBATCH --job-name=nnunet
#SBATCH --gres=gpu:1
#SBATCH --cpus-per-task=12
#SBATCH --mem=48G
#SBATCH --time=3-00:00:00
#DNNEST model=unet image=512 batch=4 epochs=40 samples=2500 precision=fp16

IMAGE=/project/images/nnunet_v2.sif
[ -f "$IMAGE" ] || apptainer pull "$IMAGE" docker://nnunet:v2

apptainer exec --nv --bind /data:/data,/scratch:/scratch \
    --env nnUNet_raw=/data/raw --env nnUNet_results=/scratch/$USER/res \
    "$IMAGE" nnUNetv2_train 501 3d_fullres 0 --npz
