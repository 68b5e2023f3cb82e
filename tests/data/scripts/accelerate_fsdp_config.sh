#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8 --cpus-per-task=96
#SBATCH --time=1-00:00:00 --account=llm
#DNNEST model=llama_7b batch=2 seq_len=2048 precision=bf16 parallel=fsdp checkpointing=full optimizer=adamw steps=5000 framework=pytorch

cat > /tmp/fsdp_$SLURM_JOB_ID.yaml <<EOF
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
mixed_precision: "bf16"
num_machines: $SLURM_NNODES
num_processes: 16
EOF

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
export MASTER_ADDR MASTER_PORT=29501

srun --kill-on-bad-exit=1 bash -c 'accelerate launch --config_file /tmp/fsdp_$SLURM_JOB_ID.yaml \
    --machine_rank $SLURM_PROCID --main_process_ip $MASTER_ADDR \
    finetune.py --model meta-llama/Llama-2-7b-hf'
