# completion of job metadata in sbatch, salloc and srun
status is-interactive; and test -r /usr/local/share/fish/vendor_completions.d/dnnest.fish
and source /usr/local/share/fish/vendor_completions.d/dnnest.fish
