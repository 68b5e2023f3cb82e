/* fake_state.c - sites for the plugin, loaded once from files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_state.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/small_bundle.h"
#include "expect.h"
#include "scene.h"
#include "scratch.h"
#include "stand_in.h"
#include "submit/host.h"
#include "submit/keeper.h"
#include "submit/state.h"
#include "trace/trace.h"

#define GPU_REST                                                                       \
    "PerNode=4 Nodes=2 NodeCpus=96 NodeMemory=512000 NodeTmp=900000 "                  \
    "ThreadsPerCore=2 Partitions=gpu Features=ib "
#define A100  "Gpu Type=a100 Device=a100_40gb Cost=4 " GPU_REST
#define V100  "Gpu Type=v100 Device=v100_16gb Cost=1 " GPU_REST
#define TYPES A100 "\n" V100 "\n"
#define EAGER                                                                          \
    "Mode=enforce\nMaxSlowdown=9\nMinConfidence=0\nTimeMin=1\n"                        \
    "ProgressDir=" FAKE_PROGRESS_DIR "\n"

static const struct fake_site sites[] = {
    {EAGER TYPES, ENFORCES | RECORDS},
    {"MinConfidence=0\nMessage=always\n" TYPES, RECORDS},
    {"Mode=observe\nOptIn=all\nMinConfidence=0\n" TYPES, WANTS_ALL | RECORDS},
    {EAGER A100 "ByPartition=gpu-a100 MaxTime=1-0\n" V100
                "ByPartition=gpu-v100 MaxTime=2-0\n",
     ENFORCES | MOVES_PARTITION | RECORDS},
    {EAGER A100 "ByFeature=ampere\n" V100 "ByFeature=volta\n",
     ENFORCES | MOVES_FEATURES | RECORDS},
    {EAGER TYPES "NeverRaise=no\nFillUnset=yes\nTimeMax=2-0\nObjective=time\n",
     ENFORCES | RAISES | FILLS | RECORDS},
    {EAGER TYPES "Bundle=%s\nTimeQuantile=0.5\n", ENFORCES | RECORDS | BUNDLE},
    {EAGER TYPES "TimeLimit=time_min\nOptIn=all\n",
     ENFORCES | TIME_MIN | WANTS_ALL | RECORDS},
    {EAGER TYPES "Record=none\nObjective=energy\nControlGroup=50\n"
                 "SidecarDir=%s\nDecisionLog=/nonexistent/log\n",
     ENFORCES},
    {"Mode=enforce\nMinConfidence=0\nFillUnset=yes\nOptIn=metadata\n" TYPES
     "Policy Partition=debug,test Mode=observe\n"
     "Policy Account=course QOS=exam TimeLimit=keep GpuType=keep\n"
     "Policy User=0,1000 OptIn=all Cpus=keep ControlGroup=10\n"
     "Policy Group=7 Message=never Record=none FillUnset=no\n",
     ENFORCES | FILLS | WANTS_ALL | RECORDS},
};

#define N_SITES (sizeof (sites) / sizeof (sites[0]))

static const char sidecar[] =
    "{\"dnnest\":1,\"spec\":{\"model\":\"resnet50\",\"batch\":64,"
    "\"precision\":\"fp16\",\"epochs\":2,\"dataset\":\"imagenet\"}}";

static struct dn_site *loaded[N_SITES];
static unsigned present;

/* --- sites ----------------------------------------------------------------------- */

static void write_files (void)
{
    scratch_folder ("hardware");
    scratch_put ("hardware/generations.conf", "Generation=volta\nGeneration=ampere\n");
    scratch_put ("hardware/v100.conf", scene_v100);
    scratch_put ("hardware/a100.conf", scene_a100);
    scratch_put ("datasets.conf", scene_datasets);
    scratch_folder ("bundle");
    expect (small_bundle_write (scratch_path ("bundle")) == 0, "a bundle");
    scratch_folder ("sidecars");
    scratch_put ("sidecars/job.json", sidecar);
}

/* The configuration, with the path of its folder in place of its "%s". */
static void write_conf (const struct fake_site *site)
{
    const char *place = strstr (site->conf, "%s");
    char text[4096];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf,
                "%.*s",
                (int) (place ? place - site->conf : (ptrdiff_t) strlen (site->conf)),
                site->conf);
    if (place)
        dn_buf_add (&buf,
                    "%s%s",
                    scratch_path (site->may & BUNDLE ? "bundle" : "sidecars"),
                    place + 2);
    expect (!buf.cut, "a long configuration");
    scratch_put ("dnnest.conf", text);
}

static struct dn_site *load_site (const struct fake_site *fake)
{
    const struct dn_load_context context = {
        .scheduler_parameters = fake->may & TIME_MIN ? "time_min_as_soft_limit" : NULL,
        .slurm_version = 2411};
    const struct dn_load_paths paths = {.conf = scratch_path ("dnnest.conf"),
                                        .hardware = scratch_path ("hardware"),
                                        .datasets = scratch_path ("datasets.conf"),
                                        .bundle = "none"};
    struct dn_site *site;
    struct dn_err err = {0};

    write_conf (fake);
    site = dn_load_site (&paths, &context, &err);
    expect_done (site && site->bundle_err.code == DN_E_NONE, fake->conf, &err);
    expect ((site->bundle != NULL) == ((fake->may & BUNDLE) != 0), "a bundle");
    return site;
}

const struct fake_site *fake_state_choose (unsigned site)
{
    present = site % N_SITES;
    return &sites[present];
}

void fake_state_partition (char *name)
{
    default_part_name = name;
}

/* --- functions that the plugin calls ------------------------------------------------
 */

void dn_keeper_start (void)
{
    write_files ();
    for (size_t i = 0; i < N_SITES; i++)
        loaded[i] = load_site (&sites[i]);
}

void dn_keeper_stop (void)
{
}

/* There is no dnnestd, and every input is checked independently of those before. */
void dn_state_take (struct dn_state *state)
{
    *state = (struct dn_state){.site = loaded[present]};
}

/* The line of the decision log must be a single line of JSON. */
void dn_trace_hand_over (struct dn_event *event)
{
    struct json_object *json;
    char *line;

    if (!event)
        return;
    line = event->line;
    expect (line[0] != '\0', "no line");
    expect (line[strlen (line) - 1] == '\n', "a line without end");
    line[strlen (line) - 1] = '\0';
    expect (is_printable (line), "control characters in the decision log");
    json = json_tokener_parse (line);
    expect (json_object_is_type (json, json_type_object), "no JSON");
    json_object_put (json);
    free (event);
}
