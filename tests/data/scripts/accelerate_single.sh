#!/bin/bash
#SBATCH -J bert-squad
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -c 24
#SBATCH -G 2
#SBATCH -t 06:00:00
#DNNEST model=bert_base batch=32 seq_len=384 precision=fp16 epochs=3 dataset=squad

module load Anaconda3/2023.07-2
source "$(conda info --base)/etc/profile.d/conda.sh"
conda activate hf

export HF_HOME=$SCRATCH/hf TRANSFORMERS_OFFLINE=1 TOKENIZERS_PARALLELISM=false

accelerate launch --num_processes 2 --mixed_precision fp16 run_qa.py \
  --model_name_or_path bert-base-uncased --dataset_name squad \
  --do_train --per_device_train_batch_size 16 --learning_rate 3e-5 \
  --num_train_epochs 3 --max_seq_length 384 --doc_stride 128 \
  --output_dir ./out/bert-$SLURM_JOB_ID --bf16 False
