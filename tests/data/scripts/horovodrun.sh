#!/bin/bash
#SBATCH -N 1 -n 4 -c 8 --gres=gpu:4 -t 04:00:00
#DNNEST model=resnet101 batch=64 framework=tensorflow precision=fp16 epochs=5 dataset=imagenet
source /opt/conda/etc/profile.d/conda.sh
conda activate hvd
horovodrun -np 4 -H localhost:4 --verbose python train_keras.py --epochs 30
