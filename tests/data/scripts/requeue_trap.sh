#!/bin/bash
#SBATCH --gres=gpu:1 -c 8 -t 08:00:00
#SBATCH --signal=B:USR1@300 --requeue --open-mode=append
#DNNEST model=wav2vec2_base batch=4 seq_len=160000 precision=fp16 steps=20000

CKPT=$SCRATCH/w2v/last.pt

requeue() {
    echo "caught USR1: saving and queueing again"
    kill -TERM "$PID"
    wait "$PID"
    scontrol requeue "$SLURM_JOB_ID"
    exit 0
}
trap requeue USR1

if [[ -f $CKPT && $SLURM_RESTART_COUNT -gt 0 ]]; then
    srun fairseq-hydra-train checkpoint.restore_file="$CKPT" --config-name w2v2 &
else
    srun fairseq-hydra-train --config-name w2v2 &
fi
PID=$!
wait "$PID"
