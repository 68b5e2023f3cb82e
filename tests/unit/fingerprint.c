/* fingerprint.c - tests of which scripts are of one application
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reading.h"
#include "state_text.h"

#include <inttypes.h>

#include "base/limits.h"
#include "request/fingerprint.h"

/* Of a script's own words; or of those of its kin, with its batch. */
static struct dn_fingerprint print_in (const char *script,
                                       const char *metadata,
                                       bool counted,
                                       int64_t *batch)
{
    struct dn_job job = dn_job_empty ();
    struct dn_reading reading;

    job.kind = DN_JOB_BATCH;
    job.script = script;
    reading = reading_of (&job);
    return batch
               ? dn_fingerprint_of_kin (&reading.print, &job, metadata, counted, batch)
               : dn_fingerprint_of (&reading.print, &job, metadata, counted);
}
static struct dn_fingerprint print_of (const char *script)
{
    return print_in (script, "", false, NULL);
}

/* Scripts as people write them. */
static const char torchrun[] =
    "#!/bin/bash\n"
    "#SBATCH --job-name=rn50\n"
    "#SBATCH --time=2-00:00:00 --gres=gpu:4\n"
    "# train ResNet\n"
    "module load cuda/12.1\n"
    "source /home/alice/venv/bin/activate\n"
    "export WANDB_NAME=first WANDB_API_KEY=abc\n"
    "export MASTER_PORT=29500\n"
    "OUT=/scratch/alice/run1\n"
    "mkdir -p $OUT\n"
    "cd /home/alice/project\n"
    "echo starting at $(date)\n"
    "torchrun --nproc_per_node=4 --master_port 29500 train.py \\\n"
    "    --model resnet50 --batch-size 256 --epochs 90 --lr 0.1 --seed 1 \\\n"
    "    --data /datasets/imagenet --output_dir /scratch/alice/run1 \\\n"
    "    --run-name rn50_20261123_0910 > /scratch/alice/log.txt 2>&1\n";

static const char hydra[] =
    "#!/bin/bash\n"
    "conda activate vit\n"
    "for seed in 1 2 3; do\n"
    "  srun --ntasks=4 python -u main.py experiment=vit_cifar model.name=vit_b "
    "trainer.max_epochs=20 seed=$seed hydra.run.dir=/tmp/a logger.wandb.name=one \\\n"
    "    data.path=/data/cifar10 trainer.devices=4 | tee logs/vit_$seed.log\n"
    "done\n";

static const char heredoc[] = "#!/bin/sh\n"
                              "cat > conf_7.yaml <<EOF\n"
                              "model: gpt2   # as in the paper's setup\n"
                              "seed: 7\n"
                              "output_dir: /scratch/x\n"
                              "batch: 8\n"
                              "EOF\n"
                              "srun python run.py --config conf.yaml\n";

struct change {
    const char *script;
    const char *old;
    const char *new;
};

static char *changed (const struct change *change)
{
    return text_with (change->script, change->old, change->new);
}

static void check (const struct change *changes, size_t n, bool same)
{
    for (size_t i = 0; i < n; i++) {
        char *text = changed (&changes[i]);
        struct dn_fingerprint before = print_of (changes[i].script);
        struct dn_fingerprint after = print_of (text);

        if ((strcmp (before.text, after.text) == 0) != same)
            fail_msg ("'%s' as '%s': %s",
                      changes[i].old,
                      changes[i].new,
                      same ? "another fingerprint" : "the same fingerprint");
    }
}

TEST ("what differs from run to run does not count")
{
    static const struct change changes[] = {
        {torchrun, "# train ResNet\n", ""},
        {torchrun, "# train ResNet", "# don't \"train\" (it's old)"},
        {torchrun, "--time=2-00:00:00 --gres=gpu:4", "--time=60 --mem=9G"},
        {torchrun, "--job-name=rn50", "--job-name=other"},
        {torchrun, "/home/alice/venv", "/data/alice/venvs/new"},
        {torchrun, "WANDB_NAME=first", "WANDB_NAME=second"},
        {torchrun, "WANDB_API_KEY=abc", "WANDB_API_KEY=xyz"},
        {torchrun, "MASTER_PORT=29500", "MASTER_PORT=29501"},
        {torchrun, "--master_port 29500", "--master_port 12345"},
        {torchrun, "OUT=/scratch/alice/run1", "OUT=/scratch/alice/run2"},
        {torchrun, "mkdir -p $OUT", "mkdir -p $OUT/a $OUT/b; rm -rf $OUT/old"},
        {torchrun, "cd /home/alice/project", "cd /home/alice/project2"},
        {torchrun, "echo starting at", "echo \"begin:\""},
        {torchrun, "--seed 1", "--seed 77"},
        {torchrun, "--seed 1", "--seed=1234567"},
        {torchrun, "/datasets/imagenet", "/local/copy/imagenet"},
        {torchrun, "--output_dir /scratch/alice/run1", "--output_dir /x/y"},
        {torchrun, "rn50_20261123_0910", "rn50_20270101_2359"},
        {torchrun, "/scratch/alice/log.txt", "other.txt"},
        {torchrun, " \\\n    --data", " --data"},
        {torchrun, "--lr 0.1", "--lr   '0.1'"},
        {torchrun, "--nproc_per_node=4", "--nproc_per_node=8"},
        {hydra, "1 2 3", "4 5 6"},
        {hydra, "/tmp/a", "/tmp/2026-11-23/b"},
        {hydra, "logger.wandb.name=one", "logger.wandb.name=two"},
        {hydra, "logs/vit_$seed.log", "$LOGS/x.log"},
        {hydra, "/data/cifar10", "/scratch/bob/cifar10"},
        {hydra, "--ntasks=4", "--ntasks=8"},
        {hydra, "trainer.devices=4", "trainer.devices=8"},
        {heredoc, "seed: 7", "seed: 8"},
        {heredoc, "conf_7.yaml", "conf_8.yaml"},
        {heredoc, "output_dir: /scratch/x", "output_dir: /scratch/y"},
        {heredoc, "the paper's setup", "their setup"},
    };

    check (changes, DN_N_ELEMENTS (changes), true);
}

TEST ("what changes the run counts")
{
    static const struct change changes[] = {
        {torchrun, "resnet50", "resnet101"},
        {torchrun, "train.py", "finetune.py"},
        {torchrun, "train.py", "-m pkg.train"},
        {torchrun, "--batch-size 256", "--batch-size 128"},
        {torchrun, "--epochs 90", "--epochs 30"},
        {torchrun, "--lr 0.1", "--lr 0.1 --compile"},
        {torchrun, "/datasets/imagenet", "/datasets/cifar10"},
        {torchrun, "cuda/12.1", "cuda/11.8"},
        {hydra, "1 2 3", "1 2"},
        {hydra, "experiment=vit_cifar", "experiment=vit_imagenet"},
        {hydra, "model.name=vit_b", "model.name=vit_l"},
        {hydra, "trainer.max_epochs=20", "trainer.max_epochs=10"},
        {hydra, "/data/cifar10", "/data/cifar100"},
        {hydra, "python -u main.py", "python -u other.py"},
        {heredoc, "model: gpt2 ", "model: gpt3 "},
        {heredoc, "batch: 8", "batch: 16"},
        {heredoc, "srun python run.py", "srun python run.py --fp16"},
    };

    check (changes, DN_N_ELEMENTS (changes), false);
}

TEST ("the folder of a settings file counts")
{
    struct dn_fingerprint a = print_of ("run --config /home/a/bert/base.yaml");
    struct dn_fingerprint b = print_of ("run --config /data/b/bert/base.yaml");
    struct dn_fingerprint c = print_of ("run --config /home/a/gpt/base.yaml");

    assert_string_equal (a.text, b.text);
    assert_string_not_equal (a.text, c.text);
}

TEST ("work that the metadata state does not count")
{
    struct dn_fingerprint a =
        print_in ("train --epochs 90", "model=resnet50", true, NULL);
    struct dn_fingerprint b =
        print_in ("train --epochs 10", "model=resnet50", true, NULL);
    struct dn_fingerprint c =
        print_in ("train --epochs 10", "model=resnet18", true, NULL);

    assert_string_equal (a.text, b.text);
    assert_string_not_equal (b.text, c.text);
}

TEST ("arguments count as words do")
{
    static const char *const first[] = {"job.sh", "resnet50", "--seed", "1"};
    static const char *const again[] = {"/tmp/job.sh", "resnet50", "--seed", "2"};
    static const char *const other[] = {"job.sh", "vgg16", "--seed", "1"};
    const char *const *const lists[] = {first, again, other};
    struct dn_fingerprint prints[3];
    struct dn_reading reading;

    for (int i = 0; i < 3; i++) {
        struct dn_job job = dn_job_empty ();

        job.kind = DN_JOB_BATCH;
        job.script = "#!/bin/sh\ntrain \"$@\"\n";
        job.args = lists[i];
        job.n_args = 4;
        reading = reading_of (&job);
        prints[i] = dn_fingerprint_of (&reading.print, &job, "", false);
    }
    assert_string_equal (prints[0].text, prints[1].text);
    assert_string_not_equal (prints[0].text, prints[2].text);
}

TEST ("a job without words has no fingerprint")
{
    static const char *const none[] = {NULL, "", "#!/bin/sh\n# nothing\n", "\n;;\n"};

    for (size_t i = 0; i < DN_N_ELEMENTS (none); i++)
        assert_string_equal (print_in (none[i], "model=resnet50", false, NULL).text,
                             "");
    assert_int_equal (strlen (print_of ("x").text), 19);
    assert_memory_equal (print_of ("x").text, DN_FINGERPRINT_MARK, 3);
}

static double spent_more_each_time (const struct dn_deadline *self)
{
    static double spent;

    (void) self;
    return spent++;
}

/* Any bytes are read, in linear time, and the deadline is looked at. */
TEST ("hostile scripts are read")
{
    const struct dn_deadline deadline = {spent_more_each_time, 5};
    char *script = unit_keep (malloc (DN_SCRIPT_HEAD_MAX + 100), free);
    struct dn_job job = dn_job_empty ();
    struct dn_reading reading;
    struct dn_err err = {0};

    for (int kind = 0; kind < 256; kind++) {
        for (size_t i = 0; i < DN_SCRIPT_HEAD_MAX + 99; i++)
            script[i] = (char) (kind == 0 ? "echo >"[i % 6] : kind);
        script[DN_SCRIPT_HEAD_MAX + 99] = '\0';
        print_of (script);
    }
    job.script = script;
    assert_int_equal (
        dn_reading_of (all_words (), &job, true, NULL, &deadline, &reading, &err), -1);
    assert_int_equal (err.code, DN_E_TIME);
}

TEST ("a name has a fingerprint of its own")
{
    assert_string_not_equal (dn_fingerprint_of_name ("bert").text,
                             dn_fingerprint_of_name ("gpt").text);
    assert_int_equal (strlen (dn_fingerprint_of_name ("bert").text), 19);
}

/* --- kin ---------------------------------------------------------------------------
 */

TEST ("scripts that differ in their batch are kin, others are not")
{
    static const struct {
        struct change change;
        bool same;
        int64_t batch;
    } cases[] = {
        {{torchrun, "--batch-size 256", "--batch-size 128"}, true, 128},
        {{torchrun, "--batch-size 256", "--batch-size=128"}, true, 128},
        {{torchrun, "--batch-size 256", "--batch-size $B"}, false, 0},
        {{torchrun, "--batch-size 256", "--batch-size 8 --bs 8"}, false, 8},
        {{torchrun, "--batch-size 256", ""}, false, DN_UNSET},
        {{torchrun, "resnet50", "resnet101"}, false, 256},
        {{torchrun, "--epochs 90", "--epochs 30"}, false, 256},
        {{torchrun, "--seed 1", "--seed 2"}, true, 256},
    };
    int64_t batch;
    struct dn_fingerprint whole = print_in (torchrun, "", false, &batch);

    assert_int_equal (batch, 256);
    assert_string_not_equal (whole.text, print_of (torchrun).text);
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        char *text = changed (&cases[i].change);
        struct dn_fingerprint other = print_in (text, "", false, &batch);

        if ((strcmp (whole.text, other.text) == 0) != cases[i].same
            || batch != cases[i].batch)
            fail_msg ("case %zu: %s, %" PRId64, i, other.text, batch);
    }
}

TEST (
    "a script without a batch is its own kin, and epochs count where they are unstated")
{
    int64_t batch;
    struct dn_fingerprint one = print_in (hydra, "a=1", false, &batch);
    struct dn_fingerprint two;
    char *text = text_with (torchrun, "--epochs 90", "--epochs 30");

    assert_int_equal (batch, DN_UNSET);
    assert_string_equal (one.text, print_in (hydra, "a=1", false, NULL).text);
    assert_string_equal (print_in (hydra, "a=1", true, &batch).text,
                         print_in (hydra, "a=1", true, NULL).text);
    one = print_in (torchrun, "", true, &batch);
    two = print_in (text, "", true, &batch);
    assert_string_equal (one.text, two.text);
    one = print_in (heredoc, "", false, &batch);
    assert_int_equal (batch, 8);
}
