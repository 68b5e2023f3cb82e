/* scene.c - a small site and the demonstration's job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <glob.h>

#include "scene.h"
#include "scratch.h"

const char scene_v100[] =
    "Device=v100_16gb\nVendor=nvidia\nArch=volta\nFp32=15.7T\nFp16=125T\nMemory=16GiB\n"
    "Bandwidth=900G\nSms=80\nLink=nvlink\nLinkBandwidth=150G\nPcieBandwidth=12G\n"
    "Tdp=300\nIdle=40\n";
const char scene_a100[] =
    "Device=a100_40gb\nVendor=nvidia\nArch=ampere\nFp32=19.5T\nTf32=156T\nFp16=312T\n"
    "Bf16=312T\nMemory=40GiB\nBandwidth=1555G\nSms=108\nLink=nvlink\n"
    "LinkBandwidth=300G\nPcieBandwidth=24G\nTdp=400\nIdle=55\n";
static const char gpus[] =
    "Gpu Type=v100 Device=v100_16gb Cost=1 PerNode=4 NodeCpus=96 NodeMemory=512000 "
    "Nodes=2 NodeTmp=900000 ThreadsPerCore=2 Partitions=gpu,long ByPartition=gpu-v100 MaxTime=2-0 ByFeature=volta Features=ib\n"
    "Gpu Type=a100 Device=a100_40gb Cost=4 PerNode=4 NodeCpus=96 NodeMemory=512000 "
    "Nodes=2 NodeTmp=900000 ThreadsPerCore=2 Partitions=gpu,long ByPartition=gpu-a100 MaxTime=2-0 ByFeature=ampere Features=ib\n";
const char scene_datasets[] =
    "Dataset=imagenet Samples=1281167 SampleBytes=110k Decode=jpeg\n";

static const char plain_gpus[] = "Gpu Type=v100 Device=v100_16gb Cost=1\n"
                                 "Gpu Type=a100 Device=a100_40gb Cost=4\n";

void scene_catalogue_add (struct dn_catalogue *catalogue, const char *path)
{
    char *text = tree_text (path);

    assert_done (
        dn_catalogue_add (catalogue, dn_span_of (text), path, false, &unit_err));
    free (text);
}

void scene_generations (struct dn_catalogue *catalogue)
{
    scene_catalogue_add (catalogue, "etc/hardware/generations.conf");
    assert_done (dn_catalogue_link (catalogue, &unit_err));
}

void scene_shipped (struct dn_catalogue *catalogue)
{
    const char *top = getenv ("srcdir");
    glob_t found;

    assert_int_equal (
        glob (unit_text ("%s/etc/hardware/*.conf", top ? top : "."), 0, NULL, &found),
        0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        scene_catalogue_add (catalogue, strstr (found.gl_pathv[i], "etc/hardware/"));
    globfree (&found);
}

const struct dn_generation *scene_generation (const char *name)
{
    static struct dn_catalogue catalogue;

    if (catalogue.n_generations == 0)
        scene_generations (&catalogue);
    for (int i = 0; i < catalogue.n_generations; i++)
        if (strcmp (catalogue.generations[i].name, name) == 0)
            return &catalogue.generations[i];
    fail_msg ("no generation %s", name);
    return NULL;
}

static void free_site (void *site)
{
    dn_site_free (site);
    free (site);
}

static struct dn_site *site_of (const char *lines, const char *conf)
{
    struct dn_site *site = malloc (sizeof (*site));
    struct dn_err *err = &unit_err;

    assert_non_null (site);
    assert_done (dn_site_init (site, "/hardware", "/datasets", err));
    assert_done (dn_catalogue_add (
        &site->catalogue, dn_span_of (scene_v100), "v100", false, err));
    assert_done (dn_catalogue_add (
        &site->catalogue, dn_span_of (scene_a100), "a100", false, err));
    assert_done (dn_datasets_read (
        dn_span_of (scene_datasets), "datasets", &site->datasets, err));
    /* Not the defaults: the tests see by a move that a type is fit for the job, and by
     * a limit that it may change. */
    site->rules.evidence_time = DN_TIME_NEEDS_WORDS;
    site->rules.gpu_type = DN_TYPE_CHOOSE;
    site->rules.objective = DN_OBJECTIVE_COST;
    assert_done (dn_site_read (site, dn_span_of (lines), "gpus", NULL, err));
    assert_done (dn_site_read (site, dn_span_of (conf), "conf", NULL, err));
    scene_generations (&site->catalogue);
    return site;
}

struct dn_site *scene_site (const char *conf)
{
    return unit_keep (site_of (gpus, conf), free_site);
}

const struct dn_site *scene_plain (void)
{
    static struct dn_site *site;

    if (!site)
        site = site_of (gpus, "");
    return site;
}

static void free_advice (void *advice)
{
    dn_advice_free (advice);
}

static void free_cluster (void *cluster)
{
    dn_cluster_free (cluster);
}

struct dn_advice *scene_new (void)
{
    struct dn_advice *advice = dn_advice_new ();

    assert_non_null (advice);
    return unit_keep (advice, free_advice);
}

struct dn_job scene_job (void)
{
    struct dn_job job = dn_job_empty ();

    job.kind = DN_JOB_BATCH;
    job.user_id = 1000;
    job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100:4";
    job.time_limit_min = 1440;
    job.cpus_per_task = 80;
    job.min_cpus = 80;
    job.pn_min_cpus = 80;
    job.num_tasks = 1;
    job.mem_per_node_mb = 256000;
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
                  "epochs=20,dataset=imagenet";
    job.script = "#!/bin/sh\nsrun hostname\n";
    return job;
}

/* Append those of 'rows' that begin with 'kind', and count them. */
static int take_rows (struct dn_buf *buf, const char *rows, const char *kind)
{
    struct dn_span rest = dn_span_of (rows);
    bool owner = false;
    int n = 0;

    while (rest.text) {
        struct dn_span row = dn_span_cut (&rest, "\n");
        struct dn_span word = row;

        word = dn_span_cut (&word, " ");
        owner = dn_span_is (word, kind) || (owner && dn_span_is (word, "Limit"));
        if (!owner)
            continue;
        dn_buf_add (buf, "%.*s\n", (int) row.len, row.text);
        n++;
    }
    return n;
}

/* A snapshot must have its rows in this order. */
static struct dn_cluster *read_rows (const char *rows)
{
    static const char *const kinds[] = {"Group", "Wait", "Partition", "Qos", "Assoc"};
    size_t size = strlen (rows) + 200;
    char *text = malloc (size);
    struct dn_buf buf = dn_buf_on (text, size);
    struct dn_cluster *cluster;
    int n = 0;

    dn_buf_add (&buf,
                "Cluster Version=1 Name=c Time=%d Slurm=2411 SoftTimeMin=no "
                "Enforces=yes\n",
                SCENE_NOW);
    for (size_t i = 0; i < DN_N_ELEMENTS (kinds); i++) {
        n += take_rows (&buf, rows, kinds[i]);
        if (i == 0 && !strstr (rows, "Wait Type=a100"))
            n += take_rows (&buf, "Wait Type=a100\n", "Wait");
        if (i == 0 && !strstr (rows, "Wait Type=v100"))
            n += take_rows (&buf, "Wait Type=v100\n", "Wait");
    }
    dn_buf_add (&buf, "End Rows=%d\n", n);
    cluster = assert_made (dn_cluster_read (dn_span_of (text), "snapshot", &unit_err));
    for (int64_t i = 0; i < cluster->n_waits; i++)
        snprintf (cluster->waits[i].feature,
                  DN_NAME_MAX,
                  "%s",
                  strcmp (cluster->waits[i].type, "a100") == 0 ? "ampere" : "volta");
    free (text);
    return unit_keep (cluster, free_cluster);
}

char scene_log[DN_LOG_TEXT_MAX];

void scene_idle (struct dn_view *view)
{
    *view = (struct dn_view){.cluster = read_rows (SCENE_IDLE), .now_s = SCENE_NOW};
}

static struct dn_advice *advise (struct dn_site *site,
                                 const struct dn_view *view,
                                 const struct dn_job *job)
{
    struct dn_advice *advice = scene_new ();

    assert_done (dn_advise (site, view, job, NULL, NULL, advice, &unit_err));
    return advice;
}

struct dn_advice *scene_advise_in (const char *conf,
                                   const struct dn_view *view,
                                   const struct dn_job *job)
{
    return advise (scene_site (conf), view, job);
}

struct dn_advice *scene_advise (const char *conf, const struct dn_job *job)
{
    struct dn_view view;
    struct dn_advice *advice;

    scene_idle (&view);
    advice = scene_advise_in (conf, &view, job);
    scene_log[0] = '\0';
    if (advice->decision.verdict != DN_VERDICT_NONE)
        dn_advice_log (advice, scene_log);
    return advice;
}

struct dn_advice *scene_see (const char *conf,
                             const char *rows,
                             int64_t age_s,
                             const struct dn_job *job)
{
    bool own = strstr (conf, "Gpu Type=") != NULL;
    struct dn_site *site = unit_keep (site_of (own ? "" : plain_gpus, conf), free_site);
    struct dn_view view = {.cluster = read_rows (rows), .now_s = SCENE_NOW + age_s};

    return advise (site, &view, job);
}

const struct dn_edit *scene_edit (const struct dn_advice *advice,
                                  enum dn_field field,
                                  const char *with)
{
    for (int i = 0; i < advice->patch.n_edits; i++) {
        const struct dn_edit *edit = &advice->patch.edits[i];

        if (edit->field == field && (!with || strstr (edit->new_text, with)))
            return edit;
    }
    return NULL;
}

const char *scene_text (const struct dn_advice *advice, enum dn_field field)
{
    const struct dn_edit *edit = scene_edit (advice, field, NULL);

    return edit ? edit->new_text : NULL;
}

int64_t scene_number (const struct dn_advice *advice, enum dn_field field)
{
    const struct dn_edit *edit = scene_edit (advice, field, NULL);

    return edit ? edit->new_number : DN_UNSET;
}

const char *scene_record (const struct dn_advice *advice)
{
    const char *record = scene_text (advice, DN_FIELD_ADMIN_COMMENT);

    assert_non_null (record);
    return record;
}

static bool has_reason (const struct dn_decision *decision, const char *part)
{
    for (int i = 0; i < decision->n_reasons; i++)
        if (strstr (SAID (decision->reasons[i]), part))
            return true;
    return false;
}

bool scene_has_reason (const struct dn_advice *advice, const char *part)
{
    return has_reason (&advice->decision, part);
}

void scene_need_reason (const struct dn_advice *advice, const char *part)
{
    scene_holds (&advice->decision, true, "", 0, "", part);
}

void scene_holds (const struct dn_decision *decision,
                  bool holds,
                  const char *file,
                  int line,
                  const char *what,
                  const char *part)
{
    if (holds && (part[0] == '\0' || has_reason (decision, part)))
        return;
    for (int i = 0; i < decision->n_reasons; i++)
        print_message ("# %s\n", SAID (decision->reasons[i]));
    fail_msg ("%s:%d: not '%s', or no reason contains '%s'", file, line, what, part);
}
