#!/bin/bash
#SBATCH --gres=gpu:1 -c 16 -t 1-12
#DNNEST model=transformer layers=6 hidden=512 batch=128 seq_len=100 steps=100000
source venv/bin/activate
python preprocess.py --workers 16 --dest data-bin
if python check_data.py data-bin; then
    python train.py data-bin --max-update 100000
fi
python evaluate.py checkpoints/best.pt
