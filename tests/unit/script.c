/* script.c - tests of what is found in batch scripts
 *
 * The scripts of tests/data/scripts are in the manner of those that people submit;
 * expected.txt there has what must be found in each. Cases of one line are here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <limits.h>

#include "base/limits.h"
#include "request/script.h"

/* As in tests/data/scripts: a job of four tasks and GPUs on one node. */
static const struct dn_script_job four_tasks = {.n_tasks = 4,
                                                .n_nodes = 1,
                                                .n_gpus = 4};

static struct dn_script read_script (const char *text)
{
    struct dn_script found;
    struct dn_err err = {0};

    if (dn_script_read (text, &four_tasks, NULL, &found, &err) < 0)
        fail_msg ("%s: %s", text, err.text);
    return found;
}

struct example {
    const char *script;
    const char *reason; /* a part of it; "" for none */
};

/* Compare the reason that 'get' takes of each. */
static void check (const struct example *examples,
                   size_t n,
                   const char *(*get) (const struct dn_script *found))
{
    for (size_t i = 0; i < n; i++) {
        struct dn_script found = read_script (examples[i].script);
        const char *reason = get (&found);

        if (found.unclear[0] != '\0' && get (&found) != found.unclear)
            fail_msg ("'%s' was not understood: %s", examples[i].script, found.unclear);
        if (examples[i].reason[0] == '\0' ? reason[0] != '\0'
                                          : !strstr (reason, examples[i].reason))
            fail_msg ("'%s' has '%s' instead of '%s'",
                      examples[i].script,
                      reason,
                      examples[i].reason);
    }
}
#define CHECK(examples, get) check (examples, DN_N_ELEMENTS (examples), get)

static const char *cpus_of (const struct dn_script *found)
{
    return found->cpus;
}

static const char *gpu_of (const struct dn_script *found)
{
    return found->gpu;
}

static const char *clock_of (const struct dn_script *found)
{
    return found->clock;
}

static const char *fewer_of (const struct dn_script *found)
{
    return found->fewer;
}

static const char *several_of (const struct dn_script *found)
{
    return found->several;
}

static const char *need_of (const struct dn_script *found)
{
    return found->need_why;
}

static const char *unclear_of (const struct dn_script *found)
{
    return found->unclear;
}

static const struct example pinned[] = {
    {"srun -c 80 x", "line 1: '-c 80' counts CPUs"},
    {"#!/bin/sh\n\nsrun -c80 x", "line 3: '-c80' counts CPUs"},
    {"srun --cpus-per-task=80 x", "'--cpus-per-task=80' counts CPUs"},
    {"srun --cpus-per-task 80 x", "'--cpus-per-task 80' counts CPUs"},
    {"srun -c $N x", "'-c $N' counts CPUs"},
    {"N=8; srun -c $N x", "'-c 8' counts CPUs"},
    {"N=8; srun -c ${N} x", "'-c 8' counts CPUs"},
    {"srun -c ${N:-8} x", "'-c 8' counts CPUs"},
    {"srun --cpus-per-gpu=8 x", "'--cpus-per-gpu=8' counts CPUs"},
    {"export SRUN_CPUS_PER_TASK=8", "'SRUN_CPUS_PER_TASK=8' counts CPUs"},
    {"SRUN_CPUS_PER_TASK=8 srun x", "'SRUN_CPUS_PER_TASK=8' counts CPUs"},
    {"srun \\\n  -n 4 \\\n  -c 8 x", "line 3: '-c 8' counts CPUs"},
    {"S='srun -c 8'; $S x", "'-c 8' counts CPUs"},
    {"OPTS='-n4 -c 8'; srun $OPTS x", "'-c 8' counts CPUs"},
    {"OPTS=(-n4 -c 8)\nsrun \"${OPTS[@]}\" x", "'-c 8' counts CPUs"},
    {"if a; then O='-c 8'; else O='-n 4'; fi; srun $O x", "'-c 8' counts CPUs"},
    {"bash -c 'srun -c 8 x'", "'-c 8' counts CPUs"},
    {"eval srun -c 8 x", "'-c 8' counts CPUs"},
    {"echo $(srun -c 8 x)", "'-c 8' counts CPUs"},
    {"echo `srun -c 8 x`", "'-c 8' counts CPUs"},
    {"echo \"$(srun -c 8 x)\"", "'-c 8' counts CPUs"},
    {"nohup time srun -c 8 x &", "'-c 8' counts CPUs"},
    {"f() { srun -c 8 x; }", "'-c 8' counts CPUs"},
    {"cat > run.sh <<'E'\nsrun -c 8 x\nE\nbash run.sh", "line 2: '-c 8' counts"},
    {"bash <<E\nsrun -c 8 x\nE", "line 2: '-c 8' counts CPUs"},
    {"$SRUN -c 8 x", "'-c 8' counts CPUs"},
    {"taskset -c 0-7 x", "'0-7' counts CPUs"},
    {"taskset 0xff x", "'0xff' counts CPUs"},
    {"taskset ff x", "'ff' counts CPUs"},
    {"taskset --cpu-list 0-15 x", "'0-15' counts CPUs"},
    {"taskset --cpu-list=0-15 x", "'--cpu-list=0-15' counts CPUs"},
    {"x & taskset -cp 0-15 $!", "'0-15' counts CPUs"},
    {"x & taskset --pid 0xff $!", "'0xff' counts CPUs"},
    {"hwloc-bind core:0-15 -- x", "'core:0-15' counts CPUs"},
    {"likwid-pin -c N:0-15 x", "'-c N:0-15' counts CPUs"},
    {"numactl -C+0-15 x", "'-C+0-15' counts CPUs"},
    {"numactl --physcpubind 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15 x",
     "'--physcpubind 0,1,2,3,4,5,6,7,8,9,10,11,..."
     "' counts CPUs"},
    {"srun --cpu-bind mask_cpu:0xffff,0xffff0000,0xffff00000000 x",
     "'--cpu-bind mask_cpu:0xffff,0xffff0000,0x...' counts CPUs"},
    {"srun --cpus-per-t 16 x", "'--cpus-per-t 16' counts CPUs"},
    {"srun -lc16 x", "'-lc16' counts CPUs"},
    {"srun -K0 -c 16 x", "'-c 16' counts CPUs"},
    {"srun -t10 -c 16 x", "'-c 16' counts CPUs"},
    {"mpirun --mca rmaps_base_mapping_policy node:PE=16 x", "PE=16' counts CPUs"},
    {"mpirun --mca hwloc_base_cpu_list 0-15 x", "0-15' counts CPUs"},
    {"mpirun -genv GOMP_CPU_AFFINITY 0-15 x", "0-15' counts CPUs"},
    {"OMPI_MCA_hwloc_base_cpu_set=0-7 x", "counts CPUs"},
    {"PRTE_MCA_rmaps_default_mapping_policy=slot:PE=8 x", "counts CPUs"},
    {"export MV2_CPU_MAPPING=0:1:2", "counts CPUs"},
    {"export DALI_AFFINITY_MASK=0,1", "counts CPUs"},
    {"export VLLM_CPU_OMP_THREADS_BIND=0-15", "counts CPUs"},
    {"numactl --physcpubind=0-15 x", "'--physcpubind=0-15' counts CPUs"},
    {"numactl -C 0-15 x", "'-C 0-15' counts CPUs"},
    {"mpirun --map-by ppr:4:node:PE=16 x", "PE=16' counts CPUs"},
    {"mpirun -np 4 --cpus-per-proc 8 x", "'--cpus-per-proc 8' counts CPUs"},
    {"srun --cpu-bind=map_cpu:0,8 x", "'--cpu-bind=map_cpu:0,8' counts CPUs"},
    {"srun --cpu-bind=verbose,mask_cpu:0xf x", "mask_cpu:0xf' counts CPUs"},
    {"export OMP_PLACES={0:8}", "counts CPUs"},
    {"export GOMP_CPU_AFFINITY=\"0-15\"", "'GOMP_CPU_AFFINITY=0-15' counts CPUs"},
    {"KMP_AFFINITY=granularity=fine,proclist=[0-3] x", "counts CPUs"},
    {"mpirun -x GOMP_CPU_AFFINITY=0-3 x", "counts CPUs"},
    {"docker run --cpuset-cpus=0-7 image x", "'--cpuset-cpus=0-7' counts CPUs"},
    {"srun -n 8 x", "'-n 8' counts tasks"},
    {"srun --ntasks=${N} x", "'--ntasks=$N' counts tasks"},
    {"srun --ntasks-per-node=8 x", "'--ntasks-per-node=8' counts tasks"},
};

static void counts_of_cpus_are_found_behind_launchers (void **state)
{
    (void) state;
    CHECK (pinned, cpus_of);
}

static void counts_that_cannot_fail_are_free (void **state)
{
    static const struct example examples[] = {
        {"srun -c $SLURM_CPUS_PER_TASK x", ""},
        {"srun -c \"${SLURM_CPUS_PER_TASK}\" x", ""},
        {"srun --cpus-per-task=${SLURM_CPUS_PER_TASK:-8} x", ""},
        {"N=$SLURM_CPUS_PER_TASK; srun -c $N x", ""},
        {"export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK", ""},
        {"srun -n 4 x; srun --nodes=1 --ntasks=1 -w \"$head\" hostname -I", ""},
        {"srun -n1 --exact --gpus=1 -c $SLURM_CPUS_PER_TASK x", ""},
        {"srun -n $SLURM_NTASKS x", ""},
        {"srun -n 1 -c 1 x", ""},
        {"srun x -c 8", ""},
        {"srun bash train.sh -c 8", ""},
        {"bash -c \"$CMD\"", ""},
        {"python train.py -c cfg", ""},
        {"python train.py -c 4", ""},
        {"head -c 80 file; make -n 8", ""},
        {"# srun -c 8 x\n: # srun -c 8", ""},
        {"echo 'srun -c 8 x'", ""},
        {"cat <<E\nsrun -c 8 x\nE", ""},
        {"taskset -cp $$", ""},
        {"taskset --pid $$", ""},
        {"mpirun --mca btl ^openib --mca rmaps_base_mapping_policy slot x", ""},
        {"srun -vvv -Xu python train.py -c 4", ""},
        {"numactl --interleave=all x", ""},
        {"mpirun --bind-to core --map-by slot x", ""},
        {"mpirun --map-by ppr:4:node:PE=$SLURM_CPUS_PER_TASK x", ""},
        {"srun --cpu-bind=cores x", ""},
        {"export OMP_NUM_THREADS=16 OMP_PLACES=cores KMP_AFFINITY=compact", ""},
        {"python train.py --num_workers 16", ""},
        {"singularity exec -c --nv image.sif python train.py", ""},
    };

    (void) state;
    CHECK (examples, cpus_of);
}

static const struct example computed[] = {
    {"x --workers $((SLURM_CPUS_PER_TASK - 4))",
     "line 1: '$((SLURM_CPUS_PER_TASK - 4))' computes with the number of CPUs"},
    {"x $(($SLURM_CPUS_PER_TASK/2))", "computes"},
    {"x $((${SLURM_CPUS_PER_TASK:-8} / 2))", "computes"},
    {"x $[SLURM_CPUS_ON_NODE-1]", "computes"},
    {"N=$SLURM_CPUS_PER_TASK\nx $((N-4))", "line 2: '$((N-4))' computes"},
    {"N=$(nproc); x $((N / 2))", "computes"},
    {"x $(( $(nproc) - 1 ))", "computes"},
    {"x $((`nproc` - 1))", "computes"},
    {"N=$((SLURM_CPUS_PER_TASK * 2)); x $((N - 1))", "computes"},
    {"let N=SLURM_CPUS_PER_TASK-1", "computes"},
    {"((N = SLURM_CPUS_PER_TASK - 1))", "computes"},
    {"N=$(expr $SLURM_CPUS_PER_TASK - 1)", "computes"},
    {"N=$(echo \"$SLURM_CPUS_PER_TASK / 2\" | bc)", "computes"},
    {"N=$(bc <<< \"$SLURM_CPUS_PER_TASK / 2\")", "computes"},
    {"awk -v n=$SLURM_CPUS_PER_TASK 'BEGIN {print n-2}'", "computes"},
    {"N=$(python -c \"print($SLURM_CPUS_PER_TASK // 2)\")", "computes"},
    {"[ $SLURM_CPUS_PER_TASK -lt 8 ] && exit 1", "tests the number of CPUs"},
    {"if (( SLURM_CPUS_PER_TASK < 8 )); then exit 1; fi", "computes"},
    {"if [[ $SLURM_CPUS_PER_TASK > 8 ]]; then x; fi", "tests the number"},
    {"python - <<E\nimport os\nn = int(os.environ[\"SLURM_CPUS_PER_TASK\"]) - 4\nE",
     "line 3: 'SLURM_CPUS_PER_TASK"},
    {"W=$SLURM_CPUS_PER_TASK; let W-=4", "'W-=4' computes"},
    {"declare -i W=SLURM_CPUS_PER_TASK-4", "computes"},
    {"typeset -i W; W=SLURM_CPUS_PER_TASK-4", "computes"},
    {"N=$SLURM_CPUS_PER_TASK; declare -i W=N/2", "'W=N/2' computes"},
    {"python -c 'import os; print(len(os.sched_getaffinity(0))-4)'", "computes"},
    {"python <<E\nn=int(os.environ[\"SLURM_CPUS_PER_TASK\"])\nw = n - 4\nE",
     "line 2: 'SLURM_CPUS_PER_TASK"},
    {"python -c 'assert int(os.environ[\"SLURM_CPUS_PER_TASK\"]) == 16'", "computes"},
    {"python -c 'os.sched_setaffinity(0, range(16))'", "counts CPUs"},
    {"case $SLURM_CPUS_PER_TASK in 16) x;; esac", "tests the number of CPUs"},
    {"x cfg_${SLURM_CPUS_PER_TASK}cpu.yaml", "has the number of CPUs in a name"},
    {"x ${SLURM_CPUS_PER_TASK}cpu.yaml", "has the number of CPUs in a name"},
    {"x cfg/${SLURM_CPUS_PER_TASK}.yaml", "has the number of CPUs in a name"},
    {"x --batch-size $((SLURM_CPUS_PER_TASK*8))", "is a batch size"},
    {"x --train_batch_size=$SLURM_CPUS_PER_TASK", "is a batch size"},
    {"deepspeed --bind_core_list 0-15 t.py", "'--bind_core_list' counts CPUs"},
    {"W=$(ruby -e 'puts ENV[\"SLURM_CPUS_PER_TASK\"].to_i - 4')", "computes"},
    {"W=$(Rscript -e \"cat($SLURM_CPUS_PER_TASK - 4)\")", "computes"},
    {"W=$(node -p \"$SLURM_CPUS_PER_TASK / 2\")", "computes"},
    {"W=$(jq -n \"$SLURM_CPUS_PER_TASK / 2\")", "computes"},
    {"f() { echo $(( $1 - 4 )); }\nW=$(f $SLURM_CPUS_PER_TASK)",
     "line 1: '$(( $1 - 4 ))' computes"},
    {"set -- $SLURM_CPUS_PER_TASK; x $(($1-4))", "'$(($1-4))' computes"},
    {"read W <<< $SLURM_CPUS_PER_TASK; x $((W-4))", "'$((W-4))' computes"},
    {"f() { echo $(( $1 - 4 )); }; f 8; x $SLURM_CPUS_PER_TASK", ""},
    {"f() { echo $1; }; f \"CPUs: $SLURM_CPUS_PER_TASK\"; x $((Y - 1))", ""},
    {"f() { echo $1; }; f $SLURM_CPUS_PER_TASK; x $((RANDOM % 9))", ""},
    {"f() { echo $1; }; f $SLURM_CPUS_PER_TASK; x $((SLURM_JOB_ID % 9))", ""},
    {"x $(( SLURM_CPUS_PER_TASK > 8 ? 8 : SLURM_CPUS_PER_TASK ))", ""},
    {"x $(( $SLURM_CPUS_PER_TASK<8?$SLURM_CPUS_PER_TASK:8 ))", ""},
    {"x $(( SLURM_CPUS_PER_TASK > 8 ? 8 : 0 ))", "computes"},
    {"x $(( SLURM_CPUS_PER_TASK > 0 ? 0 : SLURM_CPUS_PER_TASK ))", "computes"},
    {"case $SLURM_JOB_NAME in a) x;; esac", ""},
    {"echo run_${SLURM_CPUS_PER_TASK}cpu", ""},
    {"make -j$SLURM_CPUS_PER_TASK; ninja -j$(nproc)", ""},
    {"x --workers=$SLURM_CPUS_PER_TASK -w${SLURM_CPUS_PER_TASK}", ""},
    {"export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK A-1=b", ""},
    {"C=\"python t.py -w $SLURM_CPUS_PER_TASK --lr 1e-4\"; $C", ""},
    {"python <<E\nn=int(os.environ[\"SLURM_CPUS_PER_TASK\"])\nmain - 4\nE", ""},
    {"x $((SLURM_CPUS_PER_TASK * 2 + 1))", ""},
    {"x $((SLURM_NTASKS - 1)) $((SLURM_GPUS_ON_NODE / 2))", ""},
    {"[ -z \"$SLURM_CPUS_PER_TASK\" ] && exit 1", ""},
    {"x --workers $SLURM_CPUS_PER_TASK-$SLURM_NTASKS", ""},
    {"N=$(nproc --all); x $((N / 2))", ""},
    {"echo $SLURM_JOB_CPUS_PER_NODE | awk '{print $1}'", ""},
    {"echo $SLURM_CPUS_PER_TASK\ndf | awk '{print $1 / 2}'", ""},
    {"python <<E\nn = os.environ[\"SLURM_CPUS_PER_TASK\"]\nE", ""},
};

static void arithmetic_on_the_number_of_cpus_is_found (void **state)
{
    (void) state;
    CHECK (computed, cpus_of);
}

static void several_trainings_are_found (void **state)
{
    static const struct example examples[] = {
        {"for s in 0 1 2; do\n python train.py --seed $s\ndone",
         "line 2: 'train.py' may run several times, and runs= is not given"},
        {"python train.py; python train.py --stage 2",
         "line 1: 'train.py' runs besides 'train.py' (line 1)"},
        {"python a.py\ntorchrun --nproc_per_node 4 b.py",
         "line 2: 'b.py' runs besides 'a.py' (line 1)"},
        {"python a.py && python b.py", "'b.py' runs besides 'a.py'"},
        {"python a.py & python b.py & wait", "'b.py' runs besides 'a.py'"},
        {"while read l; do srun x.sh $l; done < list", "'x.sh' may run several"},
        {"until python train.py; do sleep 1; done", "may run several times"},
        {"if a; then python a.py; else python b.py; fi",
         "'b.py' or 'a.py' (line 1) runs"},
        {"case $X in 0) python a.py;; 1) python b.py;; esac",
         "'b.py' or 'a.py' (line 1) runs"},
        {"f() { python train.py; }\nf; f", "line 2: 'train.py' runs besides"},
        {"f() { python train.py; }\nfor i in 1 2; do f; done", "may run several"},
        {"function f { for i in 1 2; do python t.py; done; }; f", "may run several"},
        {"main() { a; a; }\na() { python t.py; }\nmain", "runs besides"},
        {"bash a.sh; ./b.sh", "'b.sh' runs besides 'a.sh'"},
        {"ls *.yaml | xargs -n1 python train.py", "may run several times"},
        {"parallel python train.py ::: 1 2", "may run several times"},
        {"f() { python t.py; }; ls | parallel f", "'t.py' may run several times"},
        {"ls | xargs -I{} bash -c 'python t.py {}'", "'t.py' may run several times"},
        {"wandb agent x/y/z", "'wandb' may run several times"},
        {"srun --multi-prog conf", "may run several times"},
        {"bash -c 'python a.py; python b.py'", "'b.py' runs besides 'a.py'"},
        {"srun bash <<E\npython a.py\npython b.py\nE", "'b.py' runs besides 'a.py'"},
        {"CMD='python a.py'; $CMD; eval $CMD", "'a.py' runs besides 'a.py'"},
        {"R=$(python train.py); python train.py", "'train.py' runs besides"},
        {"(python a.py); { python b.py; }", "'b.py' runs besides"},
        {"source run_all.sh; python train.py", "'train.py' runs besides 'run_all.sh'"},
        {"nnUNetv2_plan_and_preprocess -d 1; nnUNetv2_train 1", "runs besides"},
        {"python -m a.train; python -m a.eval", "'a.eval' runs besides 'a.train'"},
        {"accelerate launch a.py; deepspeed b.py", "'b.py' runs besides 'a.py'"},
        {"trap 'python a.py' EXIT; python b.py", "'b.py' runs besides 'a.py'"},
        {"f() { python a.py; }; trap f EXIT; python b.py", "runs besides 'a.py'"},
        {"case $X in a) python a.py;& b) python b.py;; esac", "'b.py' runs besides"},
        {"ssh host 'python a.py; python b.py'", "'b.py' runs besides 'a.py'"},
        {"su -c 'python a.py; python b.py' me", "'b.py' runs besides 'a.py'"},
        {"script -qc 'python a.py && python b.py' log", "'b.py' runs besides"},
        {"flock lock -c 'python a.py; python b.py'", "'b.py' runs besides 'a.py'"},
        {"tmux new -d -s x 'python a.py'; python b.py", "'b.py' runs besides 'a.py'"},
        {"screen -dmS x python a.py; python b.py", "'b.py' runs besides 'a.py'"},
        {"docker run -it a/b; docker run c/d", "'d' runs besides 'b'"},
        {"srun --container-image=t.sqsh\nsrun --container-image=t.sqsh", "besides"},
        {"enroot start a; enroot start a", "'a' runs besides 'a'"},
        {"make train-all; make all", "'make' runs besides 'make'"},
        {"source config/train_env.sh; python t.py", "besides 'train_env.sh'"},
        {"~/bin/test; $HOME/app/split; /opt/app/cut", "'split' runs besides 'test'"},
        {"cat > r.sh <<E\npython a.py\npython b.py\nE\nbash r.sh", "runs besides"},
        {"cat > x/r.sh <<E\npython a.py\npython b.py\nE\n./x/r.sh", "runs besides"},
        {"cat > r.sh <<E\npython a.py\npython b.py\nE\n. r.sh", "runs besides"},
    };

    (void) state;
    CHECK (examples, several_of);
}

static void check_single (const struct example *examples, size_t n)
{
    check (examples, n, several_of);
    for (size_t i = 0; i < n; i++)
        assert_int_equal (read_script (examples[i].script).n_trainings, 1);
}

static void what_prepares_a_training_is_no_training (void **state)
{
    static const struct example examples[] = {
        {"python -m a.train lr=1,2", ""},
        {"NCCL_IB_HCA=a,b python t.py -m resnet --dims=1,2", ""},
        {"curl -L https://x/y | sh -s -- -b; python t.py", ""},
        {"bash -c \"$(curl -fsSL x)\"; source <(conda shell.bash hook); python t.py",
         ""},
        {"s=\"$('/o/bin/conda' 'shell.bash' 'hook' 2> /dev/null)\"\nif [ $? -eq 0 ];"
         " then eval \"$s\"; else . /o/etc/profile.d/conda.sh; fi; python t.py",
         ""},
        {"eval `ssh-agent`; eval $(modulecmd bash load x); python t.py", ""},
        {"eval \"$($CONDA_EXE shell.bash hook)\"; eval $(dircolors); python t.py", ""},
        {"$VENV/bin/pip install x; /usr/bin/test -e x; /bin/cut x; python t.py", ""},
        {"bash setup_env.sh; ./download_data.sh; python t.py", ""},
        {"python tools/download_x.py; . ./install.sh; python t.py", ""},
        {"make; make -j 8 install; make -C csrc clean; python t.py", ""},
        {"find . -name x -exec rm {} \\; -exec ls {} +; python t.py", ""},
        {"tmux kill-session; screen -ls; dvc pull; docker pull x; python t.py", ""},
        {"awk '{print $1}' f; perl -pi -e 's/system/x/' f; python t.py", ""},
        {"python -c 'from x import Y; Y.from_pretrained(\"z\")'; python t.py", ""},
        {"python -c 'for x in 1, 2: print(x)'; python t.py", ""},
        {"trap 'rm -rf $T; kill 0' EXIT; trap - INT; trap x TERM; python t.py", ""},
        {"ssh host 'ls; df'; docker run img python t.py", ""},
        {"singularity run --nv t.sif", ""},
        {"cat > r.sh <<E\npython t.py\nE\nchmod +x r.sh; ./r.sh", ""},
        {"cat > r.sh <<E\npython a.py; python b.py\nE\npython t.py", ""},
        {"cat > c.yaml <<E\na: 'b\nE\ncat > t.py <<E\ntrain()\nE\npython t.py", ""},
        {"case $X in a) echo x;& b) python t.py;; esac", ""},
    };

    (void) state;
    check_single (examples, DN_N_ELEMENTS (examples));
}

static void repeated_runs_of_one_command_are_found (void **state)
{
    static const struct example examples[] = {
        {"python train.py -m seed=1,2,3", "'train.py' may run several times"},
        {"python train.py -m 'seed=range(1,5)'", "may run several times"},
        {"python -m a.train -m lr=.1,.01", "'a.train' may run several times"},
        {"srun python train.py --multirun lr=.1,.01", "may run several times"},
        {"torchrun train.py hydra.mode=MULTIRUN lr=.1,.01", "may run several times"},
        {"f() { python t.py \"$@\"; }; f -m lr=1,2", "may run several times"},
        {"for s in 1 2; do singularity run --nv t.sif; done", "'t.sif' may run"},
        {"for s in 1 2; do apptainer run t.sif; done", "'t.sif' may run"},
        {"for s in 1 2; do docker run --rm img; done", "'img' may run"},
        {"for s in 1 2; do docker compose up; done", "'up' may run"},
        {"find c -name '*.yaml' -exec python t.py {} \\;", "'t.py' may run"},
        {"find c -execdir bash -c 'python t.py' \\;", "'t.py' may run"},
        {"for s in 1 2; do make exp SEED=$s; done", "'make' may run"},
        {"for s in 1 2; do make -C exp -j 4 train; done", "'make' may run"},
        {"awk '{system(\"python t.py \" $1)}' list", "'awk' may run several"},
        {"perl -ne 'system(\"python t.py $_\")' list", "'perl' may run several"},
        {"for s in 1 2; do tmux new -d \"python t.py $s\"; done", "'t.py' may run"},
        {"for s in 1 2; do screen -dmS a python t.py; done", "'t.py' may run"},
        {"dvc repro", "'dvc' may run several times"},
        {"dvc exp run", "'dvc' may run several times"},
        {"for s in 1 2; do mlflow run . -P s=$s; done", "'mlflow' may run"},
        {"parallel -j 1 < cmds", "'parallel' may run several times"},
        {"awk '{print \"python \" $1 | \"sh\"}' list", "'awk' may run several"},
        {"cat > cmds <<E\npython a.py\npython b.py\nE\nbash cmds", "'cmds' may run"},
        {"g() { ls | xargs f; }\nf() { python t.py; }\ng", "'t.py' may run"},
        {"snakemake -j 1", "may run several times"},
        {"nextflow run x", "may run several times"},
        {"hyperfine 'python t.py'", "may run several times"},
        {"guild run train lr='[1,2]'", "may run several times"},
        {"perf stat -r 5 python t.py", "may run several times"},
        {"cat cmds.txt | sh", "'sh' may run several times"},
        {"sed s/a/b/ cmds | srun bash -s", "'bash' may run several times"},
        {"conda run -n e cat cmds | bash", "'bash' may run several times"},
        {"bash < cmds", "'bash' may run several times"},
        {"bash -s < cmds", "'bash' may run several times"},
        {"bash <(cat cmds)", "'bash' may run several times"},
        {"source <(cat cmds)", "may run several times"},
        {"eval \"$(cat cmds)\"", "'eval' may run several times"},
        {"C=$(cat cmds); eval \"$C\"", "'eval' may run several times"},
        {"bash -c \"$(cat cmds)\"", "may run several times"},
        {"bash <<< 'python a.py; python b.py'", "'bash' may run several times"},
        {"python -c 'for s in range(3): train(s)'", "'python' may run several"},
        {"for s in 1 2; do python -c 'import t; t.main()'; done", "'python' may run"},
        {"python - <<E\nimport subprocess\nfor s in 1, 2:\n x\nE", "'python' may run"},
        {"for s in 1 2; do python - <<E\nrun_train ()\nE\ndone", "'python' may run"},
        {"for s in 1 2; do source config/train_env.sh $s; done", "may run several"},
        {"for s in 1 2; do . lib/run_train.sh; done", "'run_train.sh' may run"},
        {"mpirun -np 1 python a.py : -np 3 python b.py", "'a.py' may run several"},
        {"cat > r.sh <<'E'\nfor s in 1 2; do python t.py; done\nE\nsrun bash r.sh",
         "'t.py' may run several times"},
        {"ssh host 'for i in 1 2; do python t.py; done'", "'t.py' may run several"},
    };

    (void) state;
    CHECK (examples, several_of);
}

static const struct example single[] = {
    {"python train.py", ""},
    {"srun python -u train.py", ""},
    {"module load x; source ~/v/bin/activate; pip install x; python train.py", ""},
    {"python -c 'import torch; print(torch.__version__)'; python train.py", ""},
    {"python -m pip list; python --version; python train.py", ""},
    {"python - <<E\nprint(1)\nE\npython train.py", ""},
    {"nvidia-smi -l 5 > log &\npython train.py\nkill $!", ""},
    {"python train.py | dnnest progress --follow", ""},
    {"python train.py\nfor i in 1 2; do ~/bin/dnnest progress $i/2; done", ""},
    {"if [ -e c ]; then python t.py -r; else python t.py; fi", ""},
    {"case $X in a) python t.py;; *) python t.py -x;; esac", ""},
    {"f() { python t.py \"$@\"; }\ng() { python u.py; }\nf", ""},
    {"main() { log x; go; }\nlog() { echo; }\ngo() { python t.py; }\nmain", ""},
    {"for i in 1 2; do echo $i; sleep 1; done; python t.py", ""},
    {"trap 'scontrol requeue $SLURM_JOB_ID' USR1\npython t.py & wait", ""},
    {"PORT=$(python get_port.py); torchrun --master_port $PORT t.py", ""},
    {"python t.py 2>&1 | tee log", ""},
    {"redis-server & python t.py", ""},
    {"python t.py & taskset -cp 0-15 $!", ""},
    {"taskset --cpu-list=0-15 python t.py", ""},
    {"command -v python &> /dev/null || exit 1; python t.py", ""},
    {"a[0]=b; a[1]=c; python t.py \"${a[1]}\" ${#a[@]} ${a[0]%.*}", ""},
    {"ls | xargs -I{} sh -c 'echo {}'; python t.py", ""},
    {"source $VIRTUAL_ENV/bin/x; . ./Setup_me; python t.py", ""},
    {"function f()\n{\n python t.py\n} > log\nf \"$@\"", ""},
    {"{ python t.py; } > log 2>&1 < /dev/null", ""},
    {"case \"$1\" in (a|'b c') ;; [0-9]*) python t.py ;;& *) : ; esac", ""},
    {"cd \"$(dirname \"$(readlink -f \"$0\")\")\" && python t.py", ""},
    {"exec > >(tee log) 2>&1; python t.py", ""},
    {"CMD=\"python t.py\"\nsrun bash -c \"$CMD\"", ""},
    {"conda run -n e --no-capture-output python t.py", ""},
    {"time timeout -k 10 23h nice -n 5 env A=b stdbuf -oL python t.py", ""},
    {"apptainer exec --nv -B /a:/b image.sif torchrun t.py", ""},
    {"apptainer pull x docker://y; apptainer exec x python t.py", ""},
    {"cp a b; tar xf d.tar -C $TMPDIR; rsync -a x y; ./t.sh; ls", ""},
    {"eval \"$(conda shell.bash hook)\"\npython t.py", ""},
    {"[[ -f a && ( -f b || -f c ) ]] && python t.py", ""},
    {"cat > c.json <<E\npython a.py\nE\npython t.py", ""},
};

static void one_training_is_no_sequence (void **state)
{
    (void) state;
    check_single (single, DN_N_ELEMENTS (single));
}

static const struct example needing[] = {
    {"python t.py --bf16", "line 1: '--bf16' needs a GPU with bf16"},
    {"python t.py --bf16 True", "'--bf16' needs"},
    {"python t.py --bf16=true --x", "'--bf16=true' needs"},
    {"python t.py --precision bf16-mixed", "'bf16-mixed' needs"},
    {"accelerate launch --mixed_precision=bf16 t.py", "needs a GPU with bf16"},
    {"python t.py --dtype torch.bfloat16", "'torch.bfloat16' needs"},
    {"python t.py trainer.precision=bf16", "needs a GPU with bf16"},
    {"python t.py --tf32 True", "'--tf32' needs"},
    {"export NVIDIA_TF32_OVERRIDE=1", "'NVIDIA_TF32_OVERRIDE=1' needs"},
    {"x --attn_implementation flash_attention_2", "'flash_attention_2' needs"},
    {"x --use-flash-attn", "'--use-flash-attn' needs"},
    {"x --transformer-impl transformer_engine", "'transformer_engine' needs"},
    {"x --fp8-format hybrid", "'--fp8-format' needs a GPU with fp8"},
    {"x --bf16 --fp8", "'--fp8' needs a GPU with fp8"},
    {"x --fmt nvfp4", "'nvfp4' needs a GPU with fp8"},
    {"x --fp4", "'--fp4' needs a GPU with fp8"},
    {"nvcc -arch=sm_80 a.cu", "'-arch=sm_80' needs a GPU with bf16"},
    {"nvcc -gencode arch=compute_90a,code=sm_90a a.cu", "needs a GPU with bf16"},
    {"export TORCH_CUDA_ARCH_LIST=8.0", "TORCH_CUDA_ARCH_LIST=8.0' needs"},
    {"export TORCH_CUDA_ARCH_LIST=\"8.0;9.0+PTX\"", "needs a GPU with bf16"},
    {"cmake -DCMAKE_CUDA_ARCHITECTURES=80 .", "ARCHITECTURES=80' needs"},
    {"cmake -DCMAKE_CUDA_ARCHITECTURES=\"86;120\" .", "needs"},
    {"x --attn FlashAttention2", "'FlashAttention2' needs"},
    {"x --attn flashattn", "'flashattn' needs"},
    {"x --attn flash_attention2", "'flash_attention2' needs"},
    {"x --use_flash", "'--use_flash' needs"},
    {"x --flash", "'--flash' needs"},
    {"x --attn fa2", "'fa2' needs"},
    {"x --use-te", "'--use-te' needs"},
    {"x --autocast=bfloat", "'--autocast=bfloat' needs"},
    {"x --dtype b16", "'b16' needs"},
    {"x --dtype=b16", "'--dtype=b16' needs"},
    {"x --arch vit-b16 --use_text --flashlight --flash-lr 1", ""},
    {"nvcc -arch=sm_70 a.cu; export TORCH_CUDA_ARCH_LIST=\"7.0;8.0\"", ""},
    {"cmake -DCMAKE_CUDA_ARCHITECTURES=\"70;80\" .", ""},
    {"cmake -DCMAKE_CUDA_ARCHITECTURES=native .", ""},
    {"x --flash False --use_flash=0 --no-flash", ""},
    {"P=bf16; x --precision $P", "'P=bf16' needs"},
    {"A=(\n --bf16\n)\nx \"${A[@]}\"", "line 2: '--bf16' needs"},
    {"cat > a.yaml <<E\nx: 1\nmixed_precision: \"bf16\"\nE", "line 3: 'bf16' needs"},
    {"cat > d.json <<E\n\"bf16\": {\n  \"enabled\": true\n}\nE", "'bf16' needs"},
    {"python t.py --bf16 False", ""},
    {"python t.py --bf16=0 --tf32 no", ""},
    {"python t.py --no-bf16 --disable_fp8 --flash_attn disabled", ""},
    {"export NVIDIA_TF32_OVERRIDE=0", ""},
    {"cat > d.json <<E\n\"bf16\": {\n  \"enabled\": \"auto\"\n}, \"fp8\": false\nE",
     ""},
    {"# --bf16\nx abf16 bf160 # fp8", ""},
    {"B=false; x --bf16 $B", ""},
    {"A=(--bf16 false --x)\nx ${A[@]}", ""},
    {"A=(\n --x # --bf16\n)\nx ${A[@]}", ""},
};

static void needs_of_the_gpu_are_found (void **state)
{
    (void) state;
    CHECK (needing, need_of);
    assert_int_equal (read_script ("x --bf16 --fp8 true").need, DN_NEED_FP8);
    assert_int_equal (read_script ("x --fp8 true --bf16").need, DN_NEED_FP8);
    assert_int_equal (read_script ("x --bf16").need, DN_NEED_BF16);
}

static void clocks_constraints_and_nodes_of_steps_are_found (void **state)
{
    static const struct example clocks[] = {
        {"srun --gpu-freq=low x", "'--gpu-freq=low' sets the clock of the GPU"},
        {"nvidia-smi -pl 200; x", "'-pl' sets the clock of the GPU"},
        {"x --gpu-freq=low", ""},
    };
    static const struct example gpus[] = {
        {"srun -C nvlink x", "'-C nvlink' has a constraint for the step"},
        {"srun -w g1 x", "'-w g1' names nodes"},
        {"srun -wnode07 x", "'-wnode07' names nodes"},
        {"srun -xnode07 x", "'-xnode07' names nodes"},
        {"srun --nodel=node07 x", "'--nodel=node07' names nodes"},
        {"srun -w $HOST x", ""},
    };

    (void) state;
    CHECK (clocks, clock_of);
    CHECK (gpus, gpu_of);
}

static void fewer_gpus_than_the_job_has_are_found (void **state)
{
    static const struct example examples[] = {
        {"CUDA_VISIBLE_DEVICES=0 python t.py",
         "line 1: 'CUDA_VISIBLE_DEVICES=0' uses fewer GPUs than the job"},
        {"export CUDA_VISIBLE_DEVICES=0,1", "uses fewer GPUs"},
        {"torchrun --nproc_per_node=1 t.py", "'--nproc_per_node=1' uses fewer"},
        {"torchrun --nproc-per-node 2 t.py", "'--nproc-per-node' uses fewer"},
        {"deepspeed --num_gpus 1 t.py", "'--num_gpus' uses fewer"},
        {"accelerate launch --num_processes=1 t.py", "uses fewer"},
        {"srun -n4 --gpus-per-task=1 python t.py --seed $SLURM_PROCID",
         "'--seed' has another value in each task"},
        {"srun python t.py --fold=${SLURM_LOCALID}", "has another value in each task"},
        {"export CUDA_VISIBLE_DEVICES=0,1,2,3", ""},
        {"export CUDA_VISIBLE_DEVICES=", ""},
        {"export CUDA_VISIBLE_DEVICES=-1", ""},
        {"CUDA_VISIBLE_DEVICES=$SLURM_LOCALID x", ""},
        {"torchrun --nproc_per_node=4 t.py", ""},
        {"torchrun --nproc_per_node=$SLURM_GPUS_ON_NODE t.py", ""},
        {"ray start --head --num-gpus 1", ""},
        {"srun python t.py --seed 1 --node_rank $SLURM_PROCID", ""},
    };
    static const struct dn_script_job one_gpu = {
        .n_tasks = 1, .n_nodes = 1, .n_gpus = 1};
    struct dn_script found;

    (void) state;
    CHECK (examples, fewer_of);
    for (size_t i = 0; i < DN_N_ELEMENTS (examples); i++) {
        dn_script_read (examples[i].script, &one_gpu, NULL, &found, NULL);
        assert_string_equal (found.fewer, "");
    }
}

static void what_is_not_understood_is_said (void **state)
{
    static const struct example examples[] = {
        {"echo 'a\nb", "line 1: a quote is not closed"},
        {"echo \"a\nb", "line 1: the block or quote that begins here has no end"},
        {"cat <<E\nb", "a here-document has no end"},
        {"x\nfor i in 1; do\nx",
         "line 2: the block or quote that begins here has no end"},
        {"done", "a reserved word of the shell where none"},
        {"x )", "a bracket where none is expected"},
        {"#!/usr/bin/env python3\nimport torch", "'python3' is not sh, bash"},
        {"#!/bin/tcsh\nsetenv A b", "'tcsh' is not sh, bash"},
        {"#!/bin/bash -l\nx", ""},
        {"#!/usr/bin/env -S bash -e\nx", ""},
        {"#! /bin/sh\r\nx", ""},
    };
    char *deep = malloc (400);

    (void) state;
    CHECK (examples, unclear_of);
    memset (deep, '(', 399);
    deep[399] = '\0';
    for (int i = 0; i < 399; i += 2)
        deep[i] = ' ';
    assert_contains (read_script (deep).unclear, "nested too deeply");
    free (deep);
}

static void a_script_beyond_the_limit_is_not_read (void **state)
{
    char *text = malloc (DN_SCRIPT_MAX + 2);

    (void) state;
    memset (text, '\n', DN_SCRIPT_MAX + 1);
    text[DN_SCRIPT_MAX + 1] = '\0';
    assert_string_equal (read_script (text).unclear,
                         "the script is longer than 128 KiB");
    assert_int_equal (dn_script_names (text, "a100"), -1);
    text[DN_SCRIPT_MAX] = '\0';
    assert_string_equal (read_script (text).unclear, "");
    free (text);
}

static void names_are_found_with_their_line (void **state)
{
    static const struct {
        const char *script;
        int line;
    } cases[] = {
        {"#!/bin/sh\nsrun --gres=gpu:a100:1 x", 2},
        {"T=a100", 1},
        {"x\nx 'a # a100'", 2},
        {"#SBATCH --gres=gpu:a100:4\n  # a100\nx # a100", 0},
        {"# a100\nx a100", 2},
        {"nvidia-smi -L | grep -q A100 || exit 1", 1},
        {"[[ $(nvidia-smi) == *A100* ]]", 1},
        {"x\n\nx --config dgx_A100.yaml", 3},
        {". config_DGXA100.sh", 1},
        {"x a1000 a100", 1},
        {"x a1000 A1002 a10", 0},
        {"echo for the a100\n", 0},
        {"echo for a100; x", 1},
        {"echo A100 >> x", 1},
        {"", 0},
    };

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        if (dn_script_names (cases[i].script, "a100") != cases[i].line)
            fail_msg ("'%s': line %d",
                      cases[i].script,
                      dn_script_names (cases[i].script, "a100"));
    assert_int_equal (dn_script_names (NULL, "a100"), 0);
    assert_int_equal (dn_script_names ("x part4 t42 xt4 t4x t4.sh", "t4"), 0);
    assert_int_equal (dn_script_names ("x\nx --type=T4", "t4"), 2);
}

static void no_script_has_nothing (void **state)
{
    struct dn_script found = read_script (NULL);

    (void) state;
    assert_int_equal (found.n_trainings, 0);
    assert_string_equal (found.unclear, "");
    assert_int_equal (read_script ("#!/bin/bash\n").n_trainings, 0);
}

/* --- whole scripts -----------------------------------------------------------------
 */

/* The file of that name in tests/data/scripts, freed with free (). */
static char *read_file (const char *name)
{
    const char *top = getenv ("abs_top_srcdir");
    char path[PATH_MAX];
    char *text = calloc (1, DN_SCRIPT_MAX);
    FILE *file;

    snprintf (path, sizeof (path), "%s/tests/data/scripts/%s", top ? top : ".", name);
    file = fopen (path, "r");
    if (!file)
        fail_msg ("cannot read %s", path);
    assert_true (fread (text, 1, DN_SCRIPT_MAX - 1, file) > 0);
    fclose (file);
    return text;
}

enum column {
    COLUMN_SCRIPT,
    COLUMN_TASKS,
    COLUMN_NODES,
    COLUMN_GPUS,
    COLUMN_TRAININGS,
    COLUMN_TIME,
    COLUMN_GPU,
    COLUMN_CPUS,
    COLUMN_NEED,
    N_COLUMNS
};

/* 'reason' must be about the line and word of 'column', "5 word", or be empty. */
static void expect_reason (char *const columns[],
                           enum column column,
                           const char *reason)
{
    char *word;
    char begin[DN_REASON_MAX];
    long line = strtol (columns[column], &word, 10);

    snprintf (begin, sizeof (begin), "the script, line %ld: '%s'", line, word + 1);
    if (line == 0 ? reason[0] != '\0' : strncmp (reason, begin, strlen (begin)) != 0)
        fail_msg ("%s: '%s' instead of '%s'",
                  columns[COLUMN_SCRIPT],
                  reason,
                  columns[column]);
}

static void check_script (char *const columns[])
{
    char *script = read_file (columns[COLUMN_SCRIPT]);
    struct dn_job job = dn_job_empty ();
    struct dn_request request;
    struct dn_script found = read_script (script);
    const char *need = columns[COLUMN_NEED];
    char gpus[64];

    assert_contains (script, "#!/");
    assert_contains (script, "\n#SBATCH ");
    assert_contains (script, "\n#DNNEST ");
    job.kind = DN_JOB_BATCH;
    snprintf (gpus, sizeof (gpus), "gres:gpu:a100:%s", columns[COLUMN_GPUS]);
    job.tres[DN_GPU_PER_NODE] = gpus;
    job.time_limit_min = 1440;
    job.cpus_per_task = 80;
    job.num_tasks = strtol (columns[COLUMN_TASKS], NULL, 10);
    job.min_nodes = job.max_nodes = strtol (columns[COLUMN_NODES], NULL, 10);
    job.script = script;
    assert_int_equal (dn_request_read (&job, NULL, &request, NULL), 0);
    if (found.n_trainings != strtol (columns[COLUMN_TRAININGS], NULL, 10))
        fail_msg ("%s: %d trainings", columns[COLUMN_SCRIPT], found.n_trainings);
    assert_int_equal (request.several_why[0] != '\0', found.n_trainings > 1);
    expect_reason (columns,
                   COLUMN_TIME,
                   request.several_why[0] != '\0' ? request.several_why
                                                  : request.keep_time);
    expect_reason (columns, COLUMN_GPU, request.keep_gpu);
    expect_reason (columns, COLUMN_CPUS, request.keep_cpus);
    expect_reason (columns, COLUMN_NEED, request.need_why);
    assert_int_equal (request.need,
                      strstr (need, "fp8") ? DN_NEED_FP8
                      : need[0] != '\0'    ? DN_NEED_BF16
                                           : DN_NEED_NONE);
    free (script);
}

/* Cut a line at its '|'. */
static void cut_columns (char *line, char *columns[])
{
    for (int i = 0; i < N_COLUMNS; i++) {
        columns[i] = line;
        line = line + strcspn (line, "|");
        if (i + 1 < N_COLUMNS && *line != '|')
            fail_msg ("%s: %d columns", columns[0], i + 1);
        if (*line != '\0')
            *line++ = '\0';
    }
}

static void scripts_that_people_submit_are_understood (void **state)
{
    char *table = read_file ("expected.txt");
    char *rest = NULL;
    int n = 0;

    (void) state;
    for (char *line = strtok_r (table, "\n", &rest); line;
         line = strtok_r (NULL, "\n", &rest)) {
        char *columns[N_COLUMNS];

        if (line[0] == '#')
            continue;
        cut_columns (line, columns);
        check_script (columns);
        n++;
    }
    assert_true (n >= 40);
    free (table);
}

/* --- cost --------------------------------------------------------------------------
 */

static bool is_linear (const struct dn_script *found, size_t len)
{
    return found->n_visited <= 3 * len + 2 * 16384;
}

static void texts_that_repeat_cost_linear_time (void **state)
{
    static const char *const units[] = {"-\n",
                                        "a;",
                                        "$a",
                                        "$(",
                                        "`",
                                        "\"",
                                        "${a:-",
                                        "'",
                                        "(",
                                        "((",
                                        "$((1",
                                        "<<E\n",
                                        "f(){\n",
                                        "if\n",
                                        "a=$a",
                                        "a=(b ",
                                        "a+=b;",
                                        "-c 1 ",
                                        "srun ",
                                        "bf16 ",
                                        "#\n",
                                        "\\\n",
                                        "case a in b)",
                                        "bash -c \"",
                                        "eval ",
                                        "a=bbbbbbbbb;$a;",
                                        "x=$((x-1));",
                                        "cat<<E\nE\n",
                                        "[[ ",
                                        "srun -c ",
                                        "a100 ",
                                        "bf16: ",
                                        "torch_cuda_arch_list=",
                                        "A100",
                                        "let a-",
                                        "f(){ f $SLURM_CPUS_X;};f\n",
                                        "f(){ f;};f\n"};

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (units); i++) {
        size_t len = strlen (units[i]);
        char *text = malloc (DN_SCRIPT_MAX + 1);
        struct dn_script found;

        for (size_t at = 0; at < DN_SCRIPT_MAX; at++)
            text[at] = units[i][at % len];
        text[DN_SCRIPT_MAX] = '\0';
        found = read_script (text);
        if (!is_linear (&found, DN_SCRIPT_MAX))
            fail_msg ("'%s': %zu bytes visited", units[i], found.n_visited);
        free (text);
    }
}

/* A generator of our own, so that a failure can be repeated. */
static uint32_t draw (uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % below;
}

/* Delete, repeat or replace a part of the text, or insert a token. */
static void mutate (char *text, size_t size, uint32_t *seed)
{
    static const char *const tokens[] = {
        "\n",      "\"",        "'",      "`",        "$(",       ")",
        "${a:-",   "}",         "$((",    "<<E\n",    "\nE\n",    ";;",
        "esac",    "case a in", "do",     "done",     "fi",       "if ",
        "then",    "a=(",       "f() {",  "bash -c ", "eval ",    "$a",
        "\\",      "&",         "|",      "[[ ",      "srun -c ", "\xff",
        "python ", "--bf16 ",   "xargs ", "#",        ">",        "("};
    size_t len = strlen (text);
    size_t at = draw (seed, (uint32_t) len + 1);
    size_t n = draw (seed, 12);
    const char *token = tokens[draw (seed, DN_N_ELEMENTS (tokens))];

    if (n > len - at)
        n = len - at;
    if (draw (seed, 3) == 0) {
        memmove (text + at, text + at + n, len - at - n + 1);
    } else if (len + strlen (token) < size) {
        memmove (text + at + strlen (token), text + at, len - at + 1);
        memcpy (text + at, token, strlen (token));
    }
}

/* In reasons there are printable characters only. */
static void check_found (const struct dn_script *found, const char *text)
{
    const char *const reasons[] = {found->unclear,
                                   found->cpus,
                                   found->gpu,
                                   found->clock,
                                   found->several,
                                   found->fewer,
                                   found->need_why};

    for (size_t i = 0; i < DN_N_ELEMENTS (reasons); i++)
        for (const char *c = reasons[i]; *c; c++)
            if (*c < ' ' || *c > '~')
                fail_msg ("'%s' of '%s'", reasons[i], text);
    assert_in_range (found->n_trainings, 0, 2);
    assert_int_equal (found->need != DN_NEED_NONE, found->need_why[0] != '\0');
    if (found->unclear[0] == '\0')
        assert_int_equal (found->n_trainings > 1, found->several[0] != '\0');
    if (!is_linear (found, strlen (text)))
        fail_msg ("%zu bytes visited of '%s'", found->n_visited, text);
}

static void mutated_scripts_are_read_in_linear_time (void **state)
{
    enum {
        ROUNDS = 10000,
        ROOM = 8192
    };
    static const char *const names[] = {"accelerate_fsdp_config.sh",
                                        "deepspeed_config.sh",
                                        "grid_function.sh",
                                        "lightning_sweep_array.sh",
                                        "requeue_trap.sh",
                                        "generated_script.sh",
                                        "tf32_flash.sh",
                                        "ray_tune.sh"};
    uint32_t seed = 1;
    char *text = malloc (ROOM);

    (void) state;
    for (int i = 0; i < ROUNDS;) {
        char *script = read_file (names[(size_t) i % DN_N_ELEMENTS (names)]);

        snprintf (text, ROOM, "%s", script);
        free (script);
        for (int end = i + 25; i < end; i++) {
            struct dn_script found;

            mutate (text, ROOM, &seed);
            found = read_script (text);
            check_found (&found, text);
        }
    }
    free (text);
}

static void functions_of_functions_cost_linear_time (void **state)
{
    char *text = malloc (DN_SCRIPT_MAX + 1);
    struct dn_script found;
    size_t len = 0;

    (void) state;
    for (int i = 0; i < 30; i++)
        len += (size_t) snprintf (text + len,
                                  64,
                                  "f%d() { f%d;f%d;f%d;f%d; }\n",
                                  i,
                                  i + 1,
                                  i + 1,
                                  i + 1,
                                  i + 1);
    len += (size_t) snprintf (text + len, 64, "f30() { :; }\n");
    for (; len + 4 < DN_SCRIPT_MAX; len += 3)
        memcpy (text + len, "f0\n", 4);
    found = read_script (text);
    if (!is_linear (&found, len))
        fail_msg ("%zu bytes visited", found.n_visited);
    free (text);
}

static void a_command_of_long_variables_is_not_understood (void **state)
{
    char text[32 * 1024];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    (void) state;
    dn_buf_add (&buf, "V='");
    for (int i = 0; i < 210; i++)
        dn_buf_add (&buf, "%039d ", i);
    dn_buf_add (&buf, "'\nx $V $V\n");
    assert_non_null (
        strstr (read_script (text).unclear, "a command is too long to be read"));
}

static double passed (const struct dn_deadline *self)
{
    (void) self;
    return 10;
}

static void the_deadline_ends_the_reading (void **state)
{
    static const struct dn_deadline deadline = {.spent_ms = passed, .limit_ms = 5};
    struct dn_script found;
    struct dn_err err = {0};
    char *text = malloc (DN_SCRIPT_MAX + 1);

    (void) state;
    memset (text, 'x', DN_SCRIPT_MAX);
    for (size_t i = 0; i < DN_SCRIPT_MAX; i += 64)
        text[i] = '\n';
    text[DN_SCRIPT_MAX] = '\0';
    assert_int_equal (dn_script_read (text, &four_tasks, &deadline, &found, &err), -1);
    assert_int_equal (err.code, DN_E_TIME);
    assert_true (found.n_visited < 8192);
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("counts of CPUs are found behind launchers",
              counts_of_cpus_are_found_behind_launchers),
        TEST ("counts that cannot fail are free", counts_that_cannot_fail_are_free),
        TEST ("arithmetic on the number of CPUs is found",
              arithmetic_on_the_number_of_cpus_is_found),
        TEST ("several trainings are found", several_trainings_are_found),
        TEST ("what prepares a training is no training",
              what_prepares_a_training_is_no_training),
        TEST ("repeated runs of one command are found",
              repeated_runs_of_one_command_are_found),
        TEST ("one training is no sequence", one_training_is_no_sequence),
        TEST ("needs of the GPU are found", needs_of_the_gpu_are_found),
        TEST ("clocks, constraints and nodes of steps are found",
              clocks_constraints_and_nodes_of_steps_are_found),
        TEST ("fewer GPUs than the job has are found",
              fewer_gpus_than_the_job_has_are_found),
        TEST ("what is not understood is said", what_is_not_understood_is_said),
        TEST ("a script beyond the limit is not read",
              a_script_beyond_the_limit_is_not_read),
        TEST ("names are found with their line", names_are_found_with_their_line),
        TEST ("no script has nothing", no_script_has_nothing),
        TEST ("scripts that people submit are understood",
              scripts_that_people_submit_are_understood),
        TEST ("mutated scripts are read in linear time",
              mutated_scripts_are_read_in_linear_time),
        TEST ("texts that repeat cost linear time", texts_that_repeat_cost_linear_time),
        TEST ("functions of functions cost linear time",
              functions_of_functions_cost_linear_time),
        TEST ("a command of long variables is not understood",
              a_command_of_long_variables_is_not_understood),
        TEST ("the deadline ends the reading", the_deadline_ends_the_reading),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
