#!/bin/bash
#SBATCH --job-name=ds-opt
#SBATCH --gres=gpu:a100:8
#SBATCH --cpus-per-task=128
#SBATCH --time=3-00:00:00
#DNNEST model=opt_1.3b batch=4 seq_len=1024 precision=fp16 parallel=zero3 checkpointing=full optimizer=adamw tokens=300M decode=text

cat <<'EOT' > ds_config.json
{
  "train_micro_batch_size_per_gpu": "auto",
  "zero_optimization": { "stage": 2 },
  "fp16": { "enabled": true },
  "bf16": {
    "enabled": "auto"
  }
}
EOT

HOSTFILE=$(mktemp)
scontrol show hostnames | while read -r host; do
    echo "$host slots=8" >> "$HOSTFILE"
done

deepspeed --hostfile "$HOSTFILE" --num_gpus 8 run_clm.py \
    --deepspeed ds_config.json --fp16 True --do_train
