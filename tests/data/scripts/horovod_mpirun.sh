#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:v100:4
#SBATCH --cpus-per-task=10
#SBATCH --time=10:00:00
#DNNEST model=resnet50 batch=128 framework=tensorflow precision=fp16 epochs=90 dataset=imagenet

module load gcc/10 openmpi/4.1.4 cuda/11.8 anaconda/3
export HOROVOD_TIMELINE=$PWD/timeline.json

mpirun -np $SLURM_NTASKS -bind-to none -map-by slot \
    -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH \
    -mca pml ob1 -mca btl ^openib \
    python tensorflow2_keras_imagenet_resnet50.py --fp16-allreduce
