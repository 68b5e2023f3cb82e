#!/bin/bash
#SBATCH --gres=gpu:a100:1 --cpus-per-task=18 --time=1-00:00:00
#DNNEST model=convnext_tiny batch=64 precision=fp16 epochs=10 dataset=imagenet

DATA=${TMPDIR:-/tmp}/imagenet
mkdir -p "$DATA"
for split in train val; do
    echo "unpacking $split"
    tar -I pigz -xf /archive/imagenet/$split.tar.gz -C "$DATA" &
done
wait
find "$DATA" -name '*.JPEG' | wc -l

function cleanup {
    rsync -a "$TMPDIR/out/" "$HOME/results/$SLURM_JOB_ID/"
    rm -rf "$DATA"
}
trap cleanup EXIT

time python main.py --data-path "$DATA" --output_dir "$TMPDIR/out"
