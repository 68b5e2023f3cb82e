#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --cpus-per-task=8
#SBATCH --time=12:00:00
#DNNEST model=vit_b_16 global_batch=1024 framework=jax precision=fp32 checkpointing=full epochs=20 dataset=imagenet
export XLA_PYTHON_CLIENT_PREALLOCATE=false
export XLA_FLAGS="--xla_gpu_enable_latency_hiding_scheduler=true"
python -c "import jax; print(jax.devices())"
python - <<'EOF'
import jax, sys
print(sys.version, jax.__version__)
EOF
srun --mpi=pmix uv run --frozen python -m big_vision.train --config big_vision/configs/vit.py
