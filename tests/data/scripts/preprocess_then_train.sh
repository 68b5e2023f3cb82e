#!/bin/bash
#SBATCH --gres=gpu:1 -c 16 -t 1-12
#DNNEST model=transformer_base batch=64 seq_len=100 precision=fp16 optimizer=adam steps=100000 decode=text
source venv/bin/activate
python preprocess.py --workers 16 --dest data-bin
if python check_data.py data-bin; then
    python train.py data-bin --max-update 100000
fi
python evaluate.py checkpoints/best.pt
