/* costly_site.c - a site on which a decision costs as much as any site can make it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "costly_site.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "expect.h"
#include "host/load.h"
#include "predict/tuning.h"
#include "scratch.h"
#include "submit/keeper.h"
#include "submit/state.h"
#include "submit/submit.h"
#include "trace/trace.h"

#define GPU_REST                                                                       \
    " Cost=1 PerNode=4 Nodes=64 NodeCpus=96 NodeMemory=512000 Partitions=gpu\n"

static struct dn_site *present;

/* --- files ----------------------------------------------------------------------- */

static void copy_files (void)
{
    const char *top = getenv ("abs_top_srcdir");
    char command[2048];

    scratch_folder ("sidecars");
    if (snprintf (
            command,
            sizeof (command),
            "cp -r %s/etc/hardware %s/etc/bundle %s/etc/zoo %s/etc/datasets.conf %s/ && "
            "chmod -R go-w %s",
            top ? top : ".",
            top ? top : ".",
            top ? top : ".",
            top ? top : ".",
            scratch_path (""),
            scratch_path (""))
            >= (int) sizeof (command)
        || system (command) != 0)
        expect (false, "files of a site");
}

/* As many lines as there may be, of as many names; only the last names match. */
static void write_policies (FILE *file)
{
    static const char *const scopes[] = {"Partition", "Account", "QOS"};

    for (int line = 0; line < DN_POLICY_LINES_MAX; line++) {
        fprintf (file, "Policy");
        for (size_t s = 0; s < DN_N_ELEMENTS (scopes); s++) {
            fprintf (file, " %s=", scopes[s]);
            for (int i = 1; i < DN_POLICY_NAMES_MAX; i++)
                fprintf (file, "like-all-the-others-%d,", i);
            fprintf (file, "last");
        }
        fprintf (file, " MaxSlowdown=%d\n", 2 + line);
    }
}

static bool is_gpu (const char *name)
{
    static const char *const others[] = {
        "bow", "cpu", "cs2", "gaudi", "mi", "sn30", "site", "."};

    for (size_t i = 0; i < DN_N_ELEMENTS (others); i++)
        if (strncmp (name, others[i], strlen (others[i])) == 0)
            return false;
    return true;
}

/* As many types as there may be; "a100" is one of them. */
static void write_gpus (FILE *file)
{
    DIR *dir = opendir (scratch_path ("hardware"));
    struct dirent *entry;
    int n = 0;

    expect (dir != NULL, "hardware");
    fprintf (file, "Gpu Type=a100 Device=a100_sxm4_40gb" GPU_REST);
    while (n < DN_CANDIDATES_MAX - 1 && (entry = readdir (dir)))
        if (is_gpu (entry->d_name) && strcmp (entry->d_name, "a100_sxm4_40gb.conf") != 0
            && strcmp (entry->d_name, "generations.conf") != 0)
            fprintf (file,
                     "Gpu Type=type%d Device=%.*s" GPU_REST,
                     n++,
                     (int) strcspn (entry->d_name, "."),
                     entry->d_name);
    closedir (dir);
    expect (n == DN_CANDIDATES_MAX - 1, "too few devices");
}

static void write_conf (void)
{
    FILE *file = fopen (scratch_path ("dnnest.conf"), "w");

    expect (file != NULL, "dnnest.conf");
    fprintf (file,
             "Mode=enforce\nOptIn=all\nMaxSlowdown=100\nMinConfidence=0\n"
             "NeverRaise=no\nFillUnset=yes\nTimeMax=30-0\nMessage=always\n"
             "ControlGroup=1 StartChanges=0\n");
    fprintf (file, "SidecarDir=%s\n", scratch_path ("sidecars"));
    fprintf (file, "DecisionLog=%s\n", scratch_path ("log"));
    write_gpus (file);
    write_policies (file);
    fclose (file);
}

/* The longest history of one application of the user who submits, on all devices. */
static struct dn_tuning *make_tuning (const struct dn_catalogue *catalogue)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream (&text, &len);
    struct dn_tuning *tuning;
    struct dn_err err = {0};

    fprintf (file,
             "{\"dnnest_site\": 4, \"runs\": 32, \"constants\": {\"launch_s\":"
             " {\"value\": 4e-05, \"shipped\": 6e-05, \"sigma\": 0.2}},"
             " \"history\": {\"noise\": 0.05, \"spread\": 0.3, \"alone\": 0.4,"
             " \"lengths\": {\"batch\": 3, \"accumulation\": 3, \"gpus\": 4,"
             " \"nodes\": 4, \"sample_flops\": 5, \"device\": 1.5, \"precision\": 2},"
             " \"shared\": 0.1, \"device\": 0.2, \"level\": 1.1,"
             " \"law\": {\"levels\": [0.5, 0.95], \"seen\": [0, 1.7],"
             " \"unseen\": [0, 2]}, \"users\": {\"%u\": {\"" COSTLY_APPLICATION
             "\": {\"level\": 1, \"runs\": [",
             (unsigned) getuid ());
    for (int i = 0; i < DN_HISTORY_OWN_MAX; i++)
        fprintf (file,
                 "%s{\"device\": \"%s\", \"precision\": \"fp16\", \"ratio\": 1.25,"
                 " \"own\": 1.3, \"noise\": 0.06, \"at\": [%d, 2, 3, 4, 5]}",
                 i > 0 ? "," : "",
                 catalogue->devices[i].name,
                 i % 20);
    fprintf (file, "]}}}}}");
    fclose (file);
    tuning = dn_tuning_read ((struct dn_span){text, len}, &err);
    expect_done (tuning != NULL, "site.json", &err);
    free (text);
    return tuning;
}

static struct dn_site *load_site (void)
{
    const struct dn_load_paths paths = {.conf = scratch_path ("dnnest.conf"),
                                        .hardware = scratch_path ("hardware"),
                                        .datasets = scratch_path ("datasets.conf"),
                                        .zoo = scratch_path ("zoo"),
                                        .bundle = scratch_path ("bundle")};
    const struct dn_load_context context = {.slurm_version = 2411};
    struct dn_err err = {0};
    struct dn_site *site = dn_load_site (&paths, &context, &err);

    expect_done (site && site->bundle, "a site", site ? &site->bundle_err : &err);
    return site;
}

void costly_site_start (void)
{
    copy_files ();
    write_conf ();
    costly_site_file ("");
    present = load_site ();
    if (!present->bundle->tuning)
        present->bundle->tuning = make_tuning (&present->catalogue);
    /* The white box runs once more for a device with measured rates. */
    for (int i = 0; i < present->catalogue.n_devices; i++)
        present->catalogue.devices[i].measured.stream =
            0.9 * present->catalogue.devices[i].bandwidth;
}

void costly_site_stop (void)
{
    dn_load_free (present);
    present = NULL;
}

void costly_site_limit (double decision_ms)
{
    present->decision_ms = decision_ms;
}

void costly_site_file (const char *file)
{
    scratch_put ("sidecars/job.json", file);
}

char *costly_site_submit (job_desc_msg_t *desc)
{
    char *message = NULL;

    dn_submit_job (desc, &message);
    return message;
}

/* --- functions that the plugin calls --------------------------------------------- */

void dn_state_take (struct dn_state *state)
{
    *state = (struct dn_state){.site = present, .view.now_s = (int64_t) time (NULL)};
}

void dn_trace_hand_over (struct dn_event *event)
{
    free (event);
}
