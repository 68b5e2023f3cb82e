#!/bin/bash
#SBATCH --job-name=keras
#SBATCH --gpus=1
#SBATCH --cpus-per-task=6
#SBATCH --time=0-05:00
#DNNEST model=inception_v3 batch=64 framework=tensorflow precision=fp16 epochs=2 dataset=imagenet

module load StdEnv/2020 python/3.10 cudnn
virtualenv --no-download $SLURM_TMPDIR/env
source $SLURM_TMPDIR/env/bin/activate
pip install --no-index --upgrade pip
pip install --no-index tensorflow

mkdir -p $SLURM_TMPDIR/data
tar xf ~/projects/def-prof/data.tar -C $SLURM_TMPDIR/data

tensorboard --logdir=/scratch/logs --host 0.0.0.0 --load_fast false &
python train_keras.py --data $SLURM_TMPDIR/data
cp -r $SLURM_TMPDIR/ckpt ~/scratch/
