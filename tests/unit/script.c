/* script.c - tests of the rule of words
 *
 * The files of tests/data/scripts and its corpus.txt are scripts in the manner of those
 * that people submit, each with what a person says of it: "plain", or the fields that
 * must be kept. A field that is not kept, though it must be, is unsafe; a plain script
 * of which a field is kept is read too carefully, which counts as unsafe for one that
 * keeps "exactly" these.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reading.h"

#include <limits.h>
#include <time.h>

#include "base/limits.h"
#include "scene.h"
#include "scratch.h"

/* The new number of CPUs for each GPU with which numbers in scripts are compared. */
#define CPUS_LEFT 4

enum {
    TIME = 1,
    GPU = 2,
    CPUS = 4,
    MEMORY = 8,
    BF16 = 16,
    FP8 = 32
};

static const char *const fields[] = {"time", "gpu", "cpus", "memory", "bf16", "fp8"};

/* A job of some tasks and two GPUs, unless the verdict says "tasks=4", "gpus=1". */
static const struct dn_script_job two_gpus = {.n_tasks = 16,
                                              .n_nodes = 1,
                                              .n_gpus = 2,
                                              .gpu_type = "a100",
                                              .wanted = true};

static struct dn_script read_script (const char *text, const struct dn_script_job *job)
{
    struct dn_reading reading;

    if (dn_script_read (all_words (), text, job, NULL, &reading, &unit_err) < 0)
        fail_msg ("%s: %s", text, unit_err.text);
    return reading.script;
}

static bool lacks_kernels (const char *generation, const struct dn_script *found)
{
    const struct dn_device device = {.generation = scene_generation (generation)};

    return dn_device_without (&device, found) < DN_N_SOFTWARE;
}

static int kept_by (const struct dn_script *found)
{
    const struct dn_script_fact *first = found->first;
    int kept = 0;

    for (int f = DN_KEEPS_TIME; f <= DN_KEEPS_MEMORY; f++)
        kept |= first[f].code ? 1 << f : 0;
    if (first[DN_KEEPS_SEVERAL].code)
        kept |= TIME | GPU;
    /* Some GPUs are left out: the corpus says that the type is kept. */
    if (lacks_kernels ("pascal", found) || lacks_kernels ("volta", found))
        kept |= GPU;
    if (found->n_counted >= CPUS_LEFT)
        kept |= CPUS;
    if (first[DN_KEEPS_NEED].code)
        kept |= first[DN_KEEPS_NEED].code == DN_REASON_script_fp8 ? FP8 : BF16;
    return kept;
}

/* The file of tests/data, freed with free (). */
static char *read_file (const char *name)
{
    return tree_text (unit_text ("tests/data/scripts/%s", name));
}

struct rates {
    int n;
    int plain;
    int careful;
    int unsafe;
};

static void print_wrong (const char *what,
                         const char *name,
                         int kept,
                         const struct dn_script *found)
{
    if (!getenv ("DN_TEST_SHOW"))
        return;
    print_message ("%s: %s:", what, name);
    for (size_t i = 0; i < DN_N_ELEMENTS (fields); i++)
        if (kept & 1 << i)
            print_message (" %s", fields[i]);
    for (int f = 0; f < DN_N_KEEPS; f++) {
        struct dn_reason why = dn_script_reason (&found->first[f]);

        if (why.code != DN_REASON_NONE)
            print_message (" [%s]", SAID (why));
    }
    print_message ("\n");
}

/* One script with its verdict, "NAME: plain" or "NAME: keep time gpu". */
static void judge (char *verdict, const char *script, struct rates *rates)
{
    struct dn_script_job job = two_gpus;
    struct dn_script found;
    char *colon = strchr (verdict, ':');
    int kept;
    int expected = 0;
    bool exactly = strstr (verdict, " exactly");
    char *rest = NULL;

    assert_non_null (colon);
    *colon = '\0';
    for (char *word = strtok_r (colon + 1, " ", &rest); word;
         word = strtok_r (NULL, " ", &rest)) {
        size_t i = 0;

        while (i < DN_N_ELEMENTS (fields) && strcmp (word, fields[i]) != 0)
            i++;
        if (i < DN_N_ELEMENTS (fields))
            expected |= 1 << i;
        else if (strncmp (word, "tasks=", 6) == 0)
            job.n_tasks = strtol (word + 6, NULL, 10);
        else if (strncmp (word, "gpus=", 5) == 0)
            job.n_gpus = strtol (word + 5, NULL, 10);
        else if (!strstr ("plain keep exactly", word))
            fail_msg ("%s: '%s'", verdict, word);
    }
    found = read_script (script, &job);
    kept = kept_by (&found);
    rates->n++;
    if ((expected & ~kept) || (exactly && kept != expected)) {
        rates->unsafe++;
        print_wrong ("unsafe", verdict, expected ^ kept, &found);
    }
    if (expected & (TIME | GPU | CPUS | MEMORY))
        return;
    rates->plain++;
    if (kept & ~expected) {
        rates->careful++;
        print_wrong ("too careful", verdict, kept & ~expected, &found);
    }
}

/* The script is a file of its own. */
static void judge_file (char *verdict, struct rates *rates)
{
    char *script =
        read_file (unit_text ("%.*s.sh", (int) strcspn (verdict, ":"), verdict));

    judge (verdict, script, rates);
    free (script);
}

/* Scripts are separated by lines "### VERDICT". */
static struct rates judge_all (const char *file)
{
    char *text = unit_keep (read_file (file), free);
    struct rates rates = {0};
    char *at = strstr (text, "### ");

    while (at) {
        char *verdict = at + 4;
        char *script = strchr (verdict, '\n');
        char *next = script ? strstr (script, "\n### ") : NULL;

        assert_non_null (script);
        *script++ = '\0';
        if (next)
            next[0] = '\0';
        if (script[strspn (script, "\n")] == '\0')
            judge_file (verdict, &rates);
        else
            judge (verdict, script, &rates);
        at = next ? next + 1 : NULL;
    }
    print_message ("%s: %d scripts, %d unsafe, %d of %d plain ones too careful\n",
                   file,
                   rates.n,
                   rates.unsafe,
                   rates.careful,
                   rates.plain);
    return rates;
}

/* By the versions of etc/hardware/generations.conf. */
TEST ("versions in a script leave out the GPUs that have no kernels in them")
{
    static const char *const cases[][2] = {
        /* and what it leaves out */
        {"module load cuda/13.0.2\nx", "pascal volta"},
        {"module load cuda/12.8\nx", "pascal volta"},
        {"ml CUDA/13\nx", "pascal volta"},
        {"module load cuda/12.4\nx", "blackwell"},
        {"module load cuda/11.7\nx", "hopper blackwell"},
        {"module load cuda/10.2\nx", "ampere ada hopper blackwell"},
        {"export CUDA_HOME=/usr/local/cuda-13.0\nx", "pascal volta"},
        {"pip install --index-url https://download.pytorch.org/whl/cu130 torch\nx",
         "pascal volta"},
        {"module load pytorch/2.9\nx", "pascal"},
        {"module load PyTorch/2.14.0\nx", "pascal volta"},
        {"pip install torch==2.6.0\nx", "blackwell"},
        {"srun --container-image=nvcr.io#nvidia/pytorch:25.08-py3 x", "pascal volta"},
        {"srun --container-image=nvcr.io#nvidia/pytorch:24.05-py3 x", "blackwell"},
        {"#!/bin/bash\n#SBATCH --container-image=nvcr.io#nvidia/pytorch:25.08-py3\nx",
         "pascal volta"},
        {"#SBATCH --container-image nvidia/pytorch:25.08-py3\nx", "pascal volta"},
        {"# not with --container-image=nvcr.io#nvidia/pytorch:25.08-py3\nx", ""},
        {"srun --container-image=pytorch/pytorch:2.11.0-cuda12.8 x", "pascal volta"},
        {"srun --container-image=pytorch/pytorch:2.9.1-cuda12.6-cudnn9-runtime x",
         "pascal blackwell"},
        {"apptainer exec --nv pytorch_25.08.sif python t.py", "pascal volta"},
        {"docker run nvcr.io/nvidia/nemo:25.04 python t.py", "pascal volta"},
        {"module load cuda/12.4 cuda/13.0\nx", "pascal volta"}, /* the newest */
        {"export CUDA_VISIBLE_DEVICES=13\nx", ""},
        {"export CUDA_DEVICE_MAX_CONNECTIONS=1\nx", ""},
        {"python t.py --device cuda:0", ""},
        {"python -c 'import torch' && python t.py", ""},
    };
    static const char *const generations[] = {
        "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell"};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_script found = read_script (cases[i][0], &two_gpus);
        char text[128] = "";
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        for (size_t g = 0; g < DN_N_ELEMENTS (generations); g++)
            if (lacks_kernels (generations[g], &found))
                dn_buf_add (&buf, "%s%s", buf.len > 0 ? " " : "", generations[g]);
        if (strcmp (text, cases[i][1]) != 0)
            fail_msg ("%s: without '%s'", cases[i][0], text);
    }
}

TEST ("files that the shell reads are no training")
{
    static const char *const scripts[] = {
        "source train.sh\npython t.py",
        ". ./train.env\npython t.py",
        "source ~/train/bin/activate && python t.py",
        "[ -f x ] && source x.sh\nif [ -f y ]; then . y.sh; fi\npython t.py",
        "source $HOME/setup.sh train 4\npython t.py",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (scripts); i++) {
        struct dn_script found = read_script (scripts[i], &two_gpus);

        if (found.first[DN_KEEPS_SEVERAL].code || kept_by (&found))
            fail_msg ("%s: %s", scripts[i], found.first[DN_KEEPS_SEVERAL].word);
    }
}

TEST ("scripts of people are judged safely")
{
    static const char *const files[] = {"expected.txt", "corpus.txt"};

    for (size_t i = 0; i < DN_N_ELEMENTS (files); i++) {
        struct rates rates = judge_all (files[i]);

        assert_int_equal (rates.unsafe, 0);
        assert_true (rates.careful * 100 <= rates.plain * 15);
    }
}

TEST ("facts are sentences")
{
    static const char *const cases[][2] = {
        {"python a.py\nsrun python b.py",
         "line 2: 'b.py' runs besides another program"},
        {"for i in 1 2; do python a.py; done", "line 1: 'a.py' may run several times"},
        {"python t.py --n_trials 5", "line 1: '--n_trials' may be many trainings"},
        {"bash x.sh", "line 1: 'x.sh' is another script"},
        {"julia x.jl", "line 1: 'julia' is another language"},
        {"python a.py &\npython b.py", "line 2: 'b.py' runs besides another program"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_script found = read_script (cases[i][0], &two_gpus);
        struct dn_reason why = dn_script_reason (&found.first[DN_KEEPS_SEVERAL]);

        assert_contains (SAID (why), cases[i][1]);
    }
}

TEST ("no script has nothing")
{
    struct dn_script found = read_script (NULL, &two_gpus);

    assert_int_equal (kept_by (&found), 0);
    found = read_script ("#!/usr/bin/python3\nimport torch\n", &two_gpus);
    assert_int_equal (kept_by (&found), TIME | GPU | CPUS | MEMORY);
}

TEST ("names are found by their parts")
{
    struct dn_script found =
        read_script ("srun -p gpu_a100 x\necho v100\n# h100\n", &two_gpus);

    assert_true (dn_script_has (&found, "a100"));
    assert_true (dn_script_has (&found, "GPU-A100"));
    assert_false (dn_script_has (&found, "v100"));
    assert_false (dn_script_has (&found, "h100"));
}

TEST ("words are found")
{
    static const struct {
        enum dn_word_set set;
        const char *word;
        enum dn_word says;
    } cases[] = {
        {DN_SET_COMMANDS, "python", DN_W_PYTHON},
        {DN_SET_COMMANDS, "7z", DN_W_STAGING},
        {DN_SET_COMMANDS, "}", DN_W_HARMLESS},
        {DN_SET_COMMANDS, "sweeps", DN_W_NONE},
        {DN_SET_COMMANDS, "pytho", DN_W_NONE},
        {DN_SET_COMMANDS, "", DN_W_NONE},
        {DN_SET_PARTS, "sweeps", DN_W_SWEEP},
        {DN_SET_PARTS, "max_time", DN_W_STOP},
        {DN_SET_PRINTED, "echo", DN_W_PRINTING},
        {DN_SET_NAMES, "seed", DN_W_VOLATILE},
        {DN_SET_NAMES, "num_iterations", DN_W_WORK},
        {DN_SET_NAME_PARTS, "seed", DN_W_VOLATILE_PART},
        {DN_SET_NAME_PARTS, "tensorboard", DN_W_VOLATILE_PREFIX},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_span word = dn_span_of (cases[i].word);

        assert_int_equal (
            dn_words_find (all_words (), cases[i].set, word, dn_words_hash (word)),
            cases[i].says);
    }
}

static double passed (const struct dn_deadline *self)
{
    return 10;
}

TEST ("the deadline ends the reading")
{
    static const struct dn_deadline deadline = {.spent_ms = passed, .limit_ms = 5};
    struct dn_reading reading;

    assert_int_equal (
        dn_script_read (all_words (), "x\n", &two_gpus, &deadline, &reading, &unit_err),
        -1);
    assert_int_equal (unit_err.code, DN_E_TIME);
}

/* The CPU time of reading it, if it is less than 'least'. */
static clock_t cost_of (const char *text, clock_t least)
{
    clock_t begin = clock ();
    clock_t cost;

    read_script (text, &two_gpus);
    cost = clock () - begin;
    return cost < least ? cost : least;
}

/* Variables of the environment, and what else is short. */
TEST ("no long script costs much more than one of plain lines")
{
    char units[] = "x\n,a;,a|,A=1\n,A=$B\n,export A=1\n,export A12=b12\n,${A} ,$(,1 ";
    char *rest = units;
    char *unit;
    char *plain =
        unit_repeat ("echo this is a plain line of words 12\n", DN_SCRIPT_MAX);

    /* In turns, since the machine is not always as fast. */
    while ((unit = strsep (&rest, ","))) {
        char *text = unit_repeat (unit, DN_SCRIPT_MAX);
        clock_t of_plain = CLOCKS_PER_SEC * 60;
        clock_t cost = CLOCKS_PER_SEC * 60;

        for (int round = 0; round < 20; round++) {
            of_plain = cost_of (plain, of_plain);
            cost = cost_of (text, cost);
        }
        if (cost > 6 * of_plain)
            fail_msg ("'%s': %ld, a plain one %ld", unit, (long) cost, (long) of_plain);
    }
}

TEST ("a script of too many words is not read to its end")
{
    static char text[DN_SCRIPT_MAX];
    struct dn_script found;
    char *at = text;

    for (int i = 0; i < DN_SCRIPT_TOKENS_MAX / 2 - 2; i++)
        at = stpcpy (at, "x\n");
    strcpy (at, "# one more word is no word\ny\n");
    found = read_script (text, &two_gpus);
    assert_int_equal (found.first[DN_KEEPS_TIME].code, DN_REASON_NONE);
    strcpy (at, "y y\ny y\n");
    found = read_script (text, &two_gpus);
    assert_int_equal (found.first[DN_KEEPS_TIME].code, DN_REASON_script_unread);
}

TEST ("long scripts cost linear time")
{
    char units[] =
        "-\n|a;|$a|$(|\"|'|((|<<E\n|f(){\n|if\n|x() { y; };x\n|a=(b |-c 1 |srun |"
        "bf16 |#\n|\\\n|a100 |cuda/12.1 |a,b=1 ";
    const clock_t most = 60 * CLOCKS_PER_SEC;
    char *rest = units;
    char *unit;

    while ((unit = strsep (&rest, "|"))) {
        clock_t eighth = cost_of (unit_repeat (unit, DN_SCRIPT_MAX / 8), most);
        clock_t whole = cost_of (unit_repeat (unit, DN_SCRIPT_MAX), most);

        if (whole > 24 * eighth + CLOCKS_PER_SEC / 1000)
            fail_msg ("'%s': %ld and %ld", unit, (long) eighth, (long) whole);
    }
}
