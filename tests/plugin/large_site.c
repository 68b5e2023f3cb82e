/* large_site.c - a site of eight GPU types with the bundle that comes with dnnest
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "large_site.h"

/* The number of a new job changes the amount of its work, and so the estimates by very
 * little.
 */
#define RESNET_TEXT                                                                    \
    "dnnest:model=resnet50,batch=64,precision=fp16,epochs=20.%09u,dataset=imagenet"
#define BERT_TEXT                                                                      \
    "dnnest:model=bert_large,batch=16,precision=fp16,seq_len=512,optimizer=lamb,"      \
    "epochs=2.%09u,samples=1000000"
#define SIDECAR_TEXT                                                                   \
    "DNNEST_SIDECAR={\"dnnest\":1,\"spec\":{\"model\":\"resnet34\",\"batch\":32,"      \
    "\"precision\":\"fp32\",\"epochs\":20.%09u,\"dataset\":\"imagenet\"}}"

const struct large_kind large_jobs[N_LARGE_JOBS] = {
    [LARGE_SILENT] = {"no comment", NULL, false},
    [LARGE_REMARK] = {"a comment of its owner's", "ticket:4711, second series", false},
    [LARGE_RESNET] = {"resnet50, eight candidates, repeated", RESNET_TEXT, false},
    [LARGE_NEW_RESNET] = {"resnet50, eight candidates, new", RESNET_TEXT, true},
    [LARGE_BERT] = {"bert_large, eight candidates, repeated", BERT_TEXT, false},
    [LARGE_NEW_BERT] = {"bert_large, eight candidates, new", BERT_TEXT, true},
    [LARGE_SIDECAR] = {"a sidecar, eight candidates, repeated", SIDECAR_TEXT, false},
    [LARGE_NEW_SIDECAR] = {"a sidecar, eight candidates, new", SIDECAR_TEXT, true},
    [LARGE_MISTAKEN] = {"metadata with a mistake",
                        "dnnest:model=resnet50,batch=64,colour=red",
                        false},
    [LARGE_TOO_LARGE] = {"resnet50 that fits no candidate, new",
                         "dnnest:model=resnet50,batch=16384,precision=fp16,"
                         "epochs=20.%09u,samples=1000000",
                         true},
    [LARGE_HOPELESS] = {"llama_2_70b that nothing makes fit, new",
                        "dnnest:model=llama_2_70b,batch=8,precision=fp32,epochs=2.%09u,"
                        "samples=100000",
                        true},
};

/* 'text' with 'number' in the place of its "%09u", if it has one. */
static void number_text (const char *text, unsigned number, char *out, size_t size)
{
    const char *place = strstr (text, "%09u");

    if (place)
        snprintf (out,
                  size,
                  "%.*s%09u%s",
                  (int) (place - text),
                  text,
                  number,
                  place + strlen ("%09u"));
    else
        snprintf (out, size, "%s", text);
}

/* A script of usual length; that of a new job has another number. */
static void set_script (job_desc_msg_t *desc, unsigned number)
{
    char text[4096] = "#!/bin/bash\n#SBATCH --job-name=train --time=1-00:00:00\n"
                      "#SBATCH --gres=gpu:a100:4 --cpus-per-task=80\n";

    for (int i = 0; i < 40; i++)
        strcat (text, "export SETTING=1 # what people write into scripts\n");
    sprintf (text + strlen (text),
             "srun python train.py --epochs 90 --batch-size 64 --lr 0.%09u\n",
             number);
    slurm_text_free (&desc->script);
    desc->script = slurm_text (text);
}

void make_large_job (job_desc_msg_t *desc, enum large_job kind)
{
    static unsigned n_new;
    char text[512];
    const char *const entries[] = {text, NULL};
    const char *form = large_jobs[kind].text;
    bool sidecar = kind == LARGE_SIDECAR || kind == LARGE_NEW_SIDECAR;
    unsigned number = large_jobs[kind].is_new ? ++n_new % 1000000000 : 0;

    if (form)
        number_text (form, number, text, sizeof (text));
    make_job (desc, sidecar || !form ? NULL : text);
    set_script (desc, number);
    if (sidecar)
        job_set_spank_env (desc, entries);
}

void make_large_site (void)
{
    const char *top = getenv ("abs_top_srcdir");
    const char *bundle = getenv ("DNNEST_BUNDLE");
    const char *command;

    if (!top)
        top = ".";
    snprintf (bundle_dir, sizeof (bundle_dir), "%s/large", scratch_path (""));
    command =
        unit_text ("cp %2$s/etc/hardware/*.conf %1$s/hardware/ && cp -r %3$s%4$s "
                   "%5$s && cp %2$s/etc/datasets.conf %1$s/ && chmod -R go-w %1$s",
                   scratch_path (""),
                   top,
                   bundle ? bundle : top,
                   bundle ? "" : "/etc/bundle",
                   bundle_dir);
    if (system (command) != 0)
        fail_msg ("failed: %s", command);
}
