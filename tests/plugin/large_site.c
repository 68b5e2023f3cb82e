/* large_site.c - a site of eight GPU types with the bundle that comes with dnnest
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "large_site.h"

const char *const large_job_names[N_LARGE_JOBS] = {"no comment",
                                                   "a comment of its owner's",
                                                   "resnet50, eight candidates",
                                                   "bert_large, eight candidates",
                                                   "a sidecar, eight candidates",
                                                   "metadata with a mistake"};

static const char *const comments[N_LARGE_JOBS] = {
    NULL,
    "ticket:4711, second series",
    RESNET,
    "dnnest:model=bert_large,batch=16,precision=fp16,seq_len=512,optimizer=lamb,"
    "steps=20000",
    NULL,
    "dnnest:model=resnet50,batch=64,colour=red"};

#define SIDECAR                                                                        \
    "DNNEST_SIDECAR={\"dnnest\":1,\"spec\":{\"model\":\"vgg16\",\"batch\":32,"         \
    "\"precision\":\"fp32\",\"epochs\":20,\"dataset\":\"imagenet\"}}"

/* As long as people's scripts are. */
static void set_script (job_desc_msg_t *desc)
{
    char text[4096] = "#!/bin/bash\n#SBATCH --job-name=train --time=1-00:00:00\n"
                      "#SBATCH --gres=gpu:a100:4 --cpus-per-task=80\n";

    for (int i = 0; i < 40; i++)
        strcat (text, "export SETTING=1 # what people write into scripts\n");
    strcat (text, "srun python train.py --epochs 90 --batch-size 64\n");
    slurm_text_free (&desc->script);
    desc->script = slurm_text (text);
}

void make_large_job (job_desc_msg_t *desc, enum large_job kind)
{
    static const char *const sidecar[] = {SIDECAR, NULL};

    make_job (desc, comments[kind]);
    set_script (desc);
    if (kind == LARGE_SIDECAR)
        job_set_spank_env (desc, sidecar);
}

static void run_shell (const char *command)
{
    if (system (command) != 0)
        fail_msg ("failed: %s", command);
}

void make_large_site (void)
{
    const char *top = getenv ("abs_top_srcdir");
    const char *bundle = getenv ("DNNEST_BUNDLE");
    char command[2048];

    if (!top)
        top = ".";
    snprintf (bundle_dir, sizeof (bundle_dir), "%s/large", site_dir);
    snprintf (command,
              sizeof (command),
              "cp %s/etc/hardware/*.conf %s/hardware/ && cp -r %s%s %s && "
              "cp %s/etc/datasets.conf %s/ && chmod -R go-w %s",
              top,
              site_dir,
              bundle ? bundle : top,
              bundle ? "" : "/etc/bundle",
              bundle_dir,
              top,
              site_dir,
              site_dir);
    run_shell (command);
}

void remove_large_site (void)
{
    char command[512];

    snprintf (
        command, sizeof (command), "rm -rf %s/large %s/hardware", site_dir, site_dir);
    run_shell (command);
    snprintf (bundle_dir, sizeof (bundle_dir), "none");
}
