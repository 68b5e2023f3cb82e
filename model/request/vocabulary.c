/* vocabulary.c - what single words of a script say
 *
 * A command that is not listed may train.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/vocabulary.h"

#include <string.h>

#include "base/messages.h"
#include "request/request.h"

static const struct {
    enum dn_reason_code says;
    const char *list;
} tables[DN_N_WORDS] = {
    [DN_W_NONE] = {DN_REASON_NONE, ""},
    [DN_W_HARMLESS] =
        {DN_REASON_NONE,
         ". activate alias amd-smi arch awk base64 basename bc bg break cal cat cd"
         " chgrp chmod chown cksum clang clear cmp column comm continue csplit cut"
         " date dc dcgmi deactivate declare df diff dig dirname disown dnnest dstat"
         " du egrep enable envsubst exit expand export expr false fg fgrep fi file"
         " find fold free gawk gcc g++ getconf getent getopts gpustat grep groups"
         " hash head hexdump hostname htop iconv id ifconfig import from iostat ip"
         " jobs join jq kill killall let less lfs ln local logger logout ls lsblk"
         " lscpu lsof lspci mail mailx mapfile mawk md5sum memcached mkdir mkfifo"
         " mktemp more mount mpstat mv nc netstat nl nslookup nvcc nvtop od ompi_info"
         " paste patch pgrep pidof ping pkill popd print printenv ps pushd pwd read"
         " readarray readlink readonly realpath redis-cli redis-server return rev rm"
         " rmdir rocm-smi sacct salloc sbatch scancel scontrol sed seff select seq"
         " set shift shopt shuf sinfo sort source split sprio ss sstat stat strings"
         " stty sync tac tail tee tensorboard times top touch tput tr true tty type"
         " typeset ulimit umask unalias uname uniq unset uptime usleep virtualenv"
         " vmstat wait wall wc whereis which who whoami xxd yes yq zcat zgrep case"
         " esac [ [[ test } nvidia-smi"},
    [DN_W_PRINTS] = {DN_REASON_NONE, "echo printf :"},
    [DN_W_NPROC] = {DN_REASON_script_cpus, "nproc"},
    [DN_W_SETTINGS] = {DN_REASON_NONE, "modulecmd module ml dircolors"},
    [DN_W_COPY] = {DN_REASON_NONE, "cp"},
    [DN_W_SLEEP] = {DN_REASON_NONE, "sleep"},
    [DN_W_TIME_LEFT] = {DN_REASON_script_stop, "squeue"},
    [DN_W_STAGING] =
        {DN_REASON_script_staging,
         "7z apt-get aria2c azcopy bunzip2 bzip2 cmake dd eb ffmpeg gdown globus"
         " gunzip gzip kaggle lz4 mksquashfs ninja npm pigz pxz rclone rsync s3cmd"
         " s5cmd sbcast scp sftp spack tar unsquashfs unxz unzip unzstd wget curl xz"
         " zip zstd"},
    [DN_W_MANAGER] =
        {DN_REASON_NONE,
         "aws conda gcloud git gsutil hf huggingface-cli mamba micromamba pdm pip"
         " pip3 pipenv pipx pixi poetry uv hatch shifterimg venv"},
    [DN_W_TOOL] = {DN_REASON_NONE, "wandb"},
    [DN_W_CONTAINER] =
        {DN_REASON_NONE,
         "apptainer charliecloud docker enroot nvidia-docker podman podman-hpc"
         " singularity udocker"},
    [DN_W_SERVER] =
        {DN_REASON_script_server,
         "code code-server dask-scheduler dask-worker gunicorn jupyter jupyterhub"
         " jupyterlab jupyter-lab jupyter-notebook label-studio mlflow ollama"
         " openvscode-server ray rserver rstudio-server sglang sshd streamlit"
         " text-generation-launcher tmate tritonserver ttyd uvicorn vllm http"
         " ipykernel lmdeploy marimo"},
    [DN_W_LANGUAGE] =
        {DN_REASON_script_language,
         "Rscript R julia matlab octave java node ruby perl lua luajit th dotnet sbt"
         " scala spark-submit stata sas mathematica math wolframscript ghc go cargo"
         " mono root tclsh csh tcsh fish pwsh MATLAB"},
    [DN_W_WORKFLOW] =
        {DN_REASON_script_sweep,
         "snakemake nextflow cwltool luigi airflow hyperfine guild orion nni nnictl"
         " clearml-agent drake nnUNetv2_train_folds_parallel tmux screen script perf"
         " sweep"},
    [DN_W_MAKE] = {DN_REASON_script_unread, "make dvc"},
    [DN_W_REMOTE] = {DN_REASON_script_script, "ssh su clush pdsh function"},
    [DN_W_PYTHON] = {DN_REASON_NONE, "python python2 python3 ipython pypy3"},
    [DN_W_SHELL] = {DN_REASON_NONE, "bash sh zsh dash ksh"},
    [DN_W_MANY] = {DN_REASON_NONE, "xargs parallel"},
    [DN_W_RUNS] =
        {DN_REASON_NONE,
         "env nice ionice chrt stdbuf nohup setsid unbuffer catchsegv xvfb-run"
         " dumb-init tini sudo"},
    [DN_W_MPI] =
        {DN_REASON_NONE,
         "mpirun mpiexec mpiexec.hydra orterun prun horovodrun jsrun aprun ibrun"},
    [DN_W_STEP] = {DN_REASON_NONE, "srun"},
    [DN_W_BEHIND] = {DN_REASON_NONE, "flock ch-run shifter coverage nsys ncu"},
    [DN_W_PINS] = {DN_REASON_script_pinned,
                   "taskset numactl hwloc-bind likwid-pin likwid-mpirun cgexec"},
    [DN_W_STOPS] = {DN_REASON_script_stop, "timeout"},
    [DN_W_OPENS] = {DN_REASON_NONE,
                    "do then ! exec command builtin coproc time if else elif {"},
    [DN_W_EVAL] = {DN_REASON_NONE, "eval trap"},
    [DN_W_LOOP] = {DN_REASON_NONE, "while until"},
    [DN_W_FOR] = {DN_REASON_NONE, "for"},
    [DN_W_DONE] = {DN_REASON_NONE, "done"},
    [DN_W_TASKS] = {DN_REASON_script_tasks, "-n --ntasks -np --np"},
    [DN_W_NODE_TASKS] = {DN_REASON_script_tasks,
                         "--ntasks-per-node -npernode --npernode -ppn"},
    [DN_W_GPU_TASKS] = {DN_REASON_script_beside, "--ntasks-per-gpu"},
    [DN_W_CONSTRAINT] = {DN_REASON_script_step, "-C --constraint"},
    [DN_W_NODES] = {DN_REASON_script_step, "-w --nodelist -x --exclude -F --nodefile"},
    [DN_W_TIME] = {DN_REASON_script_stop, "-t --time"},
    [DN_W_STEP_CPUS] = {DN_REASON_NONE, "-c"},
    [DN_W_VERB_HARMLESS] =
        {DN_REASON_NONE,
         "activate deactivate info list show config login logout status log"
         " rev-parse describe diff branch version whoami check test ps images offline"
         " online init freeze cache inspect checkout add commit instance kill rm stop"
         " auth"},
    [DN_W_VERB_SETTINGS] =
        {DN_REASON_NONE,
         "shell shell.bash shell.zsh shell.posix shell-hook shellenv hook"},
    [DN_W_VERB_RUNS] = {DN_REASON_NONE, "run exec start launch compose"},
    [DN_W_VERB_SWEEP] = {DN_REASON_script_sweep, "agent sweep"},
    [DN_W_OFF] =
        {DN_REASON_NONE,
         "false False FALSE 0 no No off Off none None null disabled disable auto"
         " sdpa eager"},
    [DN_W_OF_SHELL] = {DN_REASON_NONE, "sh bash slurm sbatch job"},
    [DN_W_OF_PYTHON] = {DN_REASON_NONE, "py"},
    [DN_W_OF_LANGUAGE] = {DN_REASON_NONE, "jl R m lua rb pl jar scala lisp js go"},
    [DN_W_SWEEP] =
        {DN_REASON_script_sweep,
         "sweep sweeps sweeper hpo optuna hyperopt gridsearch kfold kfolds crossval"
         " multirun trials hyperparameter hyperparameters hyperparam hyperparams"
         " tuner raytune pbt loocv ablation ablations seeds folds repeats grid_search"
         " random_search cross_validate cross_validation cross_val crossvalidation"
         " k_fold k_folds n_folds num_folds nfolds all_folds train_folds run_all"
         " n_trials num_trials ntrials max_trials num_seeds n_seeds nseeds n_runs"
         " num_runs nruns n_repeats num_repeats param_search hyper_search all_seeds"
         " multi_seed multiseed leave_one n_splits all_experiments run_experiments"
         " experiments num_splits ensemble_size n_models num_models cv nested_cv"
         " bayes_search bayesopt search_space hyperband asha num_ensembles"
         " n_ensembles nas halving_search param_grid train_all all_datasets all_tasks"
         " all_models"},
    [DN_W_PASSES] =
        {DN_REASON_script_passes,
         "adversarial pgd teacher teachers distill distillation distiller adv_train"
         " adv_steps attack_steps attack_iters kd self_distill student fgsm trades"},
    [DN_W_STOP] =
        {DN_REASON_script_stop,
         "max_time time_limit timelimit exit_duration max_hours max_minutes"
         " max_seconds max_duration max_runtime train_time wall_time walltime"
         " time_budget budget_hours stop_time stop_after time_left timeleft end_time"
         " endtime job_end run_for max_train train_hours train_minutes hours"
         " time_out_s max_wall stop_at minutes duration duration_s train_seconds"
         " kill_after total_hours gpu_hours maxtime"},
    [DN_W_PINNED] =
        {DN_REASON_script_pinned,
         "mask_cpu map_cpu cpuset cpusets physcpubind cpunodebind cpu_list cpu_set"
         " cpu_affinity cpu_mapping proclist pe core_list threads_bind setaffinity"
         " rankfile gomp_cpu_affinity affinity_mask omp_places"},
    [DN_W_BESIDE] = {DN_REASON_script_beside, "mps multi_prog"},
    [DN_W_CLOCK] = {DN_REASON_script_clock,
                    "gpu_freq lock_gpu applications_clocks power_limit pl lgc lmc ac"},
    [DN_W_ALLOTTED] = {DN_REASON_NONE,
                       "slurm_cpus job_cpus cpu_count cpuinfo getaffinity cpus_on"},
    [DN_W_CPUS] =
        {DN_REASON_NONE,
         "worker workers thread threads cpu cpus ncpu ncpus core cores ncores n_proc"
         " num_proc num_procs nproc nprocs njobs jobs num_workers numworkers nworkers"
         " nthreads num_cpus numcpus processes subprocesses worker_count cpucount"
         " max_workers nthread"},
    [DN_W_GPUS] =
        {DN_REASON_script_fewer,
         "nproc_per num_gpus n_gpus ngpus gpus devices num_processes visible_devices"
         " ngpu"},
    [DN_W_BF16] =
        {DN_REASON_script_bf16,
         "bf16 bfloat16 bfloat b16 tf32 flash_attn flash_attention flashattn"
         " flashattn2 flashattention flashattention2 use_flash fa2 use_te"
         " transformer_engine sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_120 compute_80"
         " compute_86 compute_89 compute_90 flash_attn2 flash_attention2 __flash"},
    [DN_W_FP8] = {DN_REASON_script_fp8, "fp8 float8 mxfp8 fp4 nvfp4 mxfp4"},
    [DN_W_ARCH_LIST] = {DN_REASON_script_bf16, "arch_list cuda_architectures"},
    [DN_W_CUDA] = {DN_REASON_NONE, "cuda cu cudatoolkit"},
    [DN_W_TORCH] = {DN_REASON_NONE, "torch pytorch nemo tensorflow jax"},
    [DN_W_DIFFERS] = {DN_REASON_NONE, "seed lr fold config cfg trial index split exp"},
    [DN_W_TASK] = {DN_REASON_NONE, "procid localid"},
    [DN_W_CALLS] =
        {DN_REASON_NONE,
         "fit main run system popen subprocess call exec launch spawn train training"
         " trainer runpy"},
    [DN_W_REPEATS] = {DN_REASON_NONE, "for while"},
    [DN_W_UNCOUNTED] =
        {DN_REASON_NONE,
         "cd pushd popd mkdir rmdir rm ls ll chmod date hostname pwd sleep whoami id"
         " touch tee nvidia-smi free df du lscpu ulimit wait scontrol squeue sacct"
         " sstat which"},
    [DN_W_PRINTING] = {DN_REASON_NONE, "echo printf"},
    [DN_W_OPENING] = {DN_REASON_NONE, "do then else elif if while { ! time exec nohup"},
    [DN_W_VOLATILE] =
        {DN_REASON_NONE,
         "seed seeds port run_name run_id runid exp_name exp_id expname"
         " experiment_name job_name jobname job_id jobid project project_name tag"
         " tags note notes comment entity timestamp date now uuid log_name o out"
         " output outputs output_dir output_path output_file outdir out_dir out_path"
         " save save_dir savedir save_path save_to save_folder log logs log_dir"
         " logdir log_path log_file logfile log_root log_folder log_level logging_dir"
         " verbosity result results result_dir results_dir work_dir workdir run_dir"
         " rundir exp_dir expdir ckpt_dir ckpt_path checkpoint_dir checkpoint_path"
         " checkpoint_folder checkpoints default_root_dir tensorboard_dir"
         " tensorboard_logdir tb_dir profile_dir resume resume_from"
         " resume_from_checkpoint resume_path cache_dir cachedir tmp_dir tmpdir tmp"
         " temp_dir scratch pythonpath ld_library_path hf_home torch_home"
         " xdg_cache_home hf_datasets_cache transformers_cache triton_cache_dir"
         " hf_token api_token api_key bind mount mounts container_mounts volume"
         " nproc_per_node nnodes node_rank machine_rank num_machines num_processes"
         " master_addr master_port main_process_ip main_process_port rdzv_id"
         " rdzv_endpoint rdzv_backend ntasks nodes ntasks_per_node gpus ngpus n_gpus"
         " num_gpus gpus_per_node gpus_per_task devices num_nodes world_size nproc"},
    [DN_W_VOLATILE_BARE] = {DN_REASON_NONE, "name path home user group"},
    [DN_W_BATCH] =
        {DN_REASON_NONE,
         "batch batch_size batchsize bs bsz bsize train_batch train_batch_size"
         " train_batchsize batch_size_train batch_size_per_gpu batch_size_per_device"
         " per_device_train_batch_size per_device_batch_size per_gpu_train_batch_size"
         " per_gpu_batch_size samples_per_gpu imgs_per_gpu ims_per_batch"
         " mini_batch_size minibatch_size train_micro_batch_size_per_gpu"
         " micro_batch_size global_batch_size total_batch_size tokens_per_batch"},
    [DN_W_WORK] =
        {DN_REASON_NONE,
         "epochs epoch num_epochs n_epochs nepochs max_epochs num_train_epochs"
         " train_epochs total_epochs steps max_steps num_steps n_steps train_steps"
         " num_train_steps total_steps max_train_steps train_iters iters max_iters"
         " num_iters total_iters iterations num_iterations"},
    [DN_W_VOLATILE_PART] = {DN_REASON_NONE, "seed seeds port wandb timestamp"},
    [DN_W_VOLATILE_PREFIX] =
        {DN_REASON_NONE, "hydra wandb logger loggers mlflow comet neptune tensorboard"},
};

#define N_SLOTS DN_N_ELEMENTS (((struct dn_words *) 0)->slots)

/* The last kind of each set. */
static const enum dn_word ends[] = {[DN_SET_COMMANDS] = DN_W_DONE,
                                    [DN_SET_OPTIONS] = DN_W_STEP_CPUS,
                                    [DN_SET_VERBS] = DN_W_VERB_SWEEP,
                                    [DN_SET_VALUES] = DN_W_OFF,
                                    [DN_SET_ENDINGS] = DN_W_OF_LANGUAGE,
                                    [DN_SET_PARTS] = DN_W_REPEATS,
                                    [DN_SET_PRINTED] = DN_W_OPENING,
                                    [DN_SET_NAMES] = DN_W_WORK,
                                    [DN_SET_NAME_PARTS] = DN_W_VOLATILE_PREFIX};

static size_t slot_of (enum dn_word_set set, uint32_t hash)
{
    return (hash ^ hash >> 10 ^ (uint32_t) set * 77) % N_SLOTS;
}

/* A slot has the set, the table and the place in its list, 0 for an empty one. */
static uint32_t slot_with (enum dn_word_set set, size_t table, size_t at)
{
    return (uint32_t) set << 24 | (uint32_t) table << 16 | (uint32_t) (at + 1);
}

static void add_list (struct dn_words *words, enum dn_word_set set, size_t table)
{
    const char *list = tables[table].list;

    for (const char *begin = list; *begin;) {
        struct dn_span word = {begin, strcspn (begin, " ")};
        size_t at = slot_of (set, dn_words_hash (word));

        while (words->slots[at] != 0)
            at = (at + 1) % N_SLOTS;
        words->slots[at] = slot_with (set, table, (size_t) (begin - list));
        begin += word.len + (begin[word.len] == ' ');
    }
}

void dn_words_index (struct dn_words *words)
{
    size_t set = 0;

    memset (words, 0, sizeof (*words));
    for (size_t t = 0; t < DN_N_ELEMENTS (tables); t++) {
        while (t > ends[set])
            set++;
        add_list (words, (enum dn_word_set) set, t);
    }
}

enum dn_word dn_words_find (const struct dn_words *words,
                            enum dn_word_set set,
                            struct dn_span word,
                            uint32_t hash)
{
    for (size_t at = slot_of (set, hash); words->slots[at] != 0;
         at = (at + 1) % N_SLOTS) {
        uint32_t slot = words->slots[at];
        const char *known = tables[slot >> 16 & 0xff].list + (slot & 0xffff) - 1;

        if (slot >> 24 == set && strncmp (known, word.text, word.len) == 0
            && (known[word.len] == ' ' || known[word.len] == '\0'))
            return (enum dn_word) (slot >> 16 & 0xff);
    }
    return DN_W_NONE;
}

enum dn_reason_code dn_words_say (enum dn_word word)
{
    return tables[word].says;
}

#define BIT(field) (1 << DN_KEEPS_##field)
#define RUN        (BIT (SEVERAL) | BIT (CPUS) | BIT (MEMORY))
#define TYPE       (BIT (TIME) | BIT (GPU))
#define ALL        (TYPE | BIT (CPUS) | BIT (MEMORY))

static const unsigned char keeps[DN_N_REASONS] = {
    [DN_REASON_script_unread] = ALL,
    [DN_REASON_script_programs] = BIT (SEVERAL),
    [DN_REASON_script_loop] = BIT (SEVERAL),
    [DN_REASON_script_sweep] = BIT (SEVERAL),
    [DN_REASON_script_script] = RUN,
    [DN_REASON_script_language] = RUN,
    [DN_REASON_script_beside] = RUN,
    [DN_REASON_script_server] = ALL,
    [DN_REASON_script_passes] = TYPE,
    [DN_REASON_script_staging] = TYPE,
    [DN_REASON_script_stop] = TYPE,
    [DN_REASON_script_pinned] = BIT (CPUS),
    [DN_REASON_script_cpus] = BIT (CPUS),
    [DN_REASON_script_tasks] = BIT (CPUS),
    [DN_REASON_script_fewer] = TYPE,
    [DN_REASON_script_clock] = TYPE,
    [DN_REASON_script_step] = BIT (GPU),
    [DN_REASON_script_type] = BIT (GPU),
    [DN_REASON_script_bf16] = BIT (NEED),
    [DN_REASON_script_fp8] = BIT (NEED),
};

int dn_words_keep (enum dn_reason_code code)
{
    return keeps[code];
}
