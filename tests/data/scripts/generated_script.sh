#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=32 -t 1-0
#DNNEST model=gpt2 batch=256 seq_len=1024 precision=fp16 steps=50000
cat > launch_$SLURM_JOB_ID.sh <<EOF
#!/bin/bash
torchrun --nnodes=2 --nproc_per_node=4 --node_rank=\$SLURM_NODEID train.py
EOF
srun bash launch_$SLURM_JOB_ID.sh
