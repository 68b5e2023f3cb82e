#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=32 -t 1-0
#DNNEST model=gpt2 batch=4 seq_len=1024 precision=fp16 optimizer=adamw steps=50000 decode=text
cat > launch_$SLURM_JOB_ID.sh <<EOF
#!/bin/bash
torchrun --nnodes=2 --nproc_per_node=4 --node_rank=\$SLURM_NODEID train.py
EOF
srun bash launch_$SLURM_JOB_ID.sh
