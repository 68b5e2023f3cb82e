/* apps.c - what the finished runs of each user's applications say, as a text
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/apps_lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/limits.h"
#include "base/messages.h"

/* How far outside the work of the runs, as a factor, the law holds as it is, and the
 * spread that is added beyond per factor of e.
 */
#define NEAR      2
#define FAR_SIGMA 0.25

/* Seconds since 1970 up to the end of 32 bits. */
#define TIME_MAX UINT32_MAX

/* Three years, as ms and as us; a spread of a factor of e^10; 10^15 units of work. */
#define MS_MAX       INT64_C (100000000000)
#define US_MAX       INT64_C (100000000000000)
#define SIGMA_MAX    10000000
#define CORES_MAX    4096000
#define MIB_MAX      16777216
#define HOST_MIB_MAX (INT64_C (1) << 40)
#define WORK_MAX     INT64_C (1000000000000000)
#define WORKERS_MAX  4096
#define PPM          1000000

_Static_assert(DN_APPS_MAX * sizeof (struct dn_app_row)
                       + DN_APPS_KNOWN_MAX
                             * (sizeof (struct dn_app_known)
                                + sizeof (struct dn_app_kin))
                       + DN_APPS_TEXTS_MAX
                   <= 16000000,
               "16 MB in all");

static const char *const unit_text[] = {DN_WORK_UNITS (DN_ENUM_WORD)};

const struct dn_names dn_work_unit_names = DN_NAMES (unit_text, DN_N_WORK_UNITS);

static const struct dn_member head_fields[] = {
    DN_COUNT ("Version", struct dn_app_head, version, 1, DN_APPS_VERSION),
    DN_TEXT ("Cluster", struct dn_app_head, cluster, false),
    DN_COUNT ("Time", struct dn_app_head, time_s, 0, TIME_MAX),
    DN_FLAG ("ByAccount", struct dn_app_head, by_account, true),
    DN_TEXT ("Bundle", struct dn_app_head, bundle, false),
};
static const struct dn_member type_fields[] = {
    DN_TEXT ("Name", struct dn_app_type, name, false),
};
static const struct dn_member network_fields[] = {
    DN_TEXT ("Graph", struct dn_app_network, graph, true),
};
static const struct dn_member app_fields[] = {
    DN_TEXT ("Key", struct dn_app_line, key, true),
    DN_COUNT ("Type", struct dn_app_line, type, 0, DN_APP_TYPES_MAX - 1),
    DN_COUNT_OR ("Gpus", struct dn_app_line, gpus, 0, UINT16_MAX, 0),
    {.key = "Unit",
     .type = DN_MEMBER_NAME,
     .offset = offsetof (struct dn_app_line, unit),
     .required = true,
     .names = &dn_work_unit_names},
    DN_COUNT ("Freedom", struct dn_app_line, freedom, 1, UINT8_MAX),
    DN_COUNT ("Runs", struct dn_app_line, runs, 1, UINT32_MAX),
    DN_COUNT ("Last", struct dn_app_line, last_s, 0, TIME_MAX),
    DN_COUNT_OR ("Start", struct dn_app_line, start_ms, 0, MS_MAX, 0),
    DN_COUNT ("Time", struct dn_app_line, unit_us, 1, US_MAX),
    DN_COUNT ("Sigma", struct dn_app_line, sigma_ppm, 1, SIGMA_MAX),
    DN_COUNT ("Longest", struct dn_app_line, longest_ms, 0, MS_MAX),
    DN_COUNT_OR ("Cores", struct dn_app_line, milli_cores, 0, CORES_MAX, 0),
    DN_COUNT_OR ("Memory", struct dn_app_line, memory_mib, 0, MIB_MAX, 0),
    DN_COUNT_OR ("HostMemory", struct dn_app_line, host_mib, 0, HOST_MIB_MAX, 0),
    DN_COUNT_OR ("HostRuns", struct dn_app_line, host_runs, 0, UINT8_MAX, 0),
    DN_FLAG ("HostKept", struct dn_app_line, host_kept, false),
    DN_COUNT_OR ("WorkMin", struct dn_app_line, work_min, 1, WORK_MAX, 1),
    DN_COUNT_OR ("WorkMax", struct dn_app_line, work_max, 1, WORK_MAX, 1),
    DN_FLAG ("MemorySaid", struct dn_app_line, memory_said, false),
    DN_COUNT_OR ("Step", struct dn_app_line, step_us, 0, US_MAX, 0),
    DN_COUNT_OR ("StartUp", struct dn_app_line, start_up_ms, 0, MS_MAX, 0),
};
static const struct dn_member captured_fields[] = {
    DN_TEXT ("Key", struct dn_app_captured, key, true),
    DN_TEXT ("Spec", struct dn_app_captured, spec, false),
    DN_TEXT ("Arch", struct dn_app_captured, arch, false),
    DN_COUNT_OR ("Network",
                 struct dn_app_captured,
                 network,
                 0,
                 DN_APPS_KNOWN_MAX - 1,
                 -1),
    DN_TEXT ("Job", struct dn_app_captured, job, false),
    DN_TEXT ("Kin", struct dn_app_captured, kin, false),
    DN_COUNT_OR ("Batch", struct dn_app_captured, batch, 0, INT32_MAX, 0),
    DN_COUNT ("Last", struct dn_app_captured, last_s, 0, TIME_MAX),
    DN_COUNT_OR ("Steps", struct dn_app_captured, steps, 0, WORK_MAX, 0),
    DN_COUNT_OR ("Epochs", struct dn_app_captured, milli_epochs, 0, WORK_MAX, 0),
    DN_COUNT_OR ("Loader", struct dn_app_captured, loader_ppm, 0, PPM, -1),
    DN_COUNT_OR ("Workers", struct dn_app_captured, workers, 0, WORKERS_MAX, -1),
    DN_COUNT_OR ("Gpus", struct dn_app_captured, gpus, 0, UINT16_MAX, 0),
    DN_COUNT_OR ("GpusUsed", struct dn_app_captured, gpus_used, 0, UINT16_MAX, 0),
    DN_COUNT_OR ("GpusRuns", struct dn_app_captured, gpus_runs, 0, 2, 0),
};
static const struct dn_member tail_fields[] = {
    DN_COUNT ("Rows", struct dn_app_tail, rows, 0, DN_APPS_MAX),
    DN_COUNT_OR ("Captured", struct dn_app_tail, captured, 0, DN_APPS_KNOWN_MAX, 0),
};

const struct dn_line_kind dn_apps_kinds[] = {
    [DN_APPS_LINE_HISTORY] = DN_LINE ("History", head_fields),
    [DN_APPS_LINE_TYPE] = DN_LINE ("Type", type_fields),
    [DN_APPS_LINE_NETWORK] = DN_LINE ("Network", network_fields),
    [DN_APPS_LINE_APP] = DN_LINE ("App", app_fields),
    [DN_APPS_LINE_CAPTURED] = DN_LINE ("Captured", captured_fields),
    [DN_APPS_LINE_END] = DN_LINE ("End", tail_fields),
};

static dn_app_key key_of (struct dn_span whose, const char *app)
{
    struct dn_digester digester = dn_digest_begin ();
    char digits[DN_APP_KEY_DIGITS + 1];
    struct dn_digest digest;

    dn_digest_add (&digester, whose);
    dn_digest_add (&digester, dn_span_of (":"));
    dn_digest_add (&digester, dn_span_of (app));
    digest = dn_digest_end (&digester);
    memcpy (digits, digest.hex, DN_APP_KEY_DIGITS);
    digits[DN_APP_KEY_DIGITS] = '\0';
    return strtoull (digits, NULL, DN_APP_KEY_DIGITS);
}

dn_app_key dn_app_key_of_user (int64_t user, const char *app)
{
    char whose[DN_NAME_MAX];

    snprintf (whose, sizeof (whose), "user:%" PRId64, user);
    return key_of (dn_span_of (whose), app);
}

dn_app_key dn_app_key_of_account (const char *account, const char *app)
{
    char whose[DN_NAME_MAX + 16];

    snprintf (whose, sizeof (whose), "account:%.*s", DN_NAME_MAX, account);
    return key_of (dn_span_of (whose), app);
}

static int read_head (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct dn_app_head head;

    if ((dn_fields_version (line, 1, NULL) < 0 && dn_fields_version (line, 2, NULL) < 0
         && dn_fields_version (line, DN_APPS_VERSION, err) < 0)
        || dn_fields_read (&dn_apps_kinds[DN_APPS_LINE_HISTORY], line, &head, err) < 0)
        return -1;
    memcpy (apps->cluster, head.cluster, sizeof (apps->cluster));
    apps->time_s = head.time_s;
    apps->by_account = head.by_account;
    memcpy (apps->bundle, head.bundle, sizeof (apps->bundle));
    return 0;
}

static int read_type (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct dn_app_type type;

    if (dn_fields_read (&dn_apps_kinds[DN_APPS_LINE_TYPE], line, &type, err) < 0)
        return -1;
    if (apps->n_types == DN_APP_TYPES_MAX)
        return dn_refuse (err, lines, (int64_t) DN_APP_TYPES_MAX, "Type");
    if (dn_rows_grow (&apps->types, apps->n_types, sizeof (*apps->types), err) < 0)
        return -1;
    memcpy (apps->types[apps->n_types++], type.name, sizeof (type.name));
    return 0;
}

int dn_app_key_read (const char *text, dn_app_key *key, struct dn_err *err)
{
    if (strspn (text, "0123456789abcdef") != DN_APP_KEY_DIGITS)
        return dn_refuse (err, app_key, DN_QUOTED (text), DN_APP_KEY_DIGITS);
    *key = strtoull (text, NULL, DN_APP_KEY_DIGITS);
    return 0;
}

static bool is_before (const struct dn_app_row *a, const struct dn_app_row *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    return a->type != b->type ? a->type < b->type : a->gpus < b->gpus;
}

static struct dn_app_row row_of (const struct dn_app_line *app)
{
    return (struct dn_app_row){
        .type = (int32_t) app->type,
        .gpus = (uint16_t) app->gpus,
        .unit = (uint8_t) app->unit,
        .freedom = (uint8_t) app->freedom,
        .runs = (uint32_t) app->runs,
        .last_s = (uint32_t) app->last_s,
        .start_s = (float) ((double) app->start_ms / DN_APPS_PER_MILLI),
        .unit_s = (float) ((double) app->unit_us / DN_APPS_PER_MICRO),
        .sigma = (float) ((double) app->sigma_ppm / DN_APPS_PER_MICRO),
        .longest_s = (float) ((double) app->longest_ms / DN_APPS_PER_MILLI),
        .cores = (float) ((double) app->milli_cores / DN_APPS_PER_MILLI),
        .gpu_mem_gb = (float) ((double) app->memory_mib / DN_APPS_MIB_PER_GIB),
        .mem_gb = (float) ((double) app->host_mib / DN_APPS_MIB_PER_GIB),
        .mem_runs = (uint8_t) app->host_runs,
        .mem_kept = app->host_kept,
        .work_min = (float) app->work_min,
        .work_max = (float) app->work_max,
        .gpu_mem_said = app->memory_said,
        .step_s = (float) ((double) app->step_us / DN_APPS_PER_MICRO),
        .start_up_s = (float) ((double) app->start_up_ms / DN_APPS_PER_MILLI),
    };
}

static int check_row (const struct dn_apps *apps,
                      const struct dn_app_row *row,
                      struct dn_err *err)
{
    if (apps->n_rows == DN_APPS_MAX)
        return dn_refuse (err, lines, (int64_t) DN_APPS_MAX, "App");
    if (row->type >= apps->n_types)
        return dn_refuse (err, app_type, (int) row->type, (int) apps->n_types);
    if (row->work_min > row->work_max)
        return dn_refuse (err, app_work);
    if (apps->n_rows > 0 && !is_before (&apps->rows[apps->n_rows - 1], row))
        return dn_refuse (err, app_order);
    return 0;
}

static int read_app (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct dn_app_row row;
    struct dn_app_line app;

    if (dn_fields_read (&dn_apps_kinds[DN_APPS_LINE_APP], line, &app, err) < 0)
        return -1;
    row = row_of (&app);
    if (dn_app_key_read (app.key, &row.key, err) < 0 || check_row (apps, &row, err) < 0
        || dn_rows_grow (&apps->rows, apps->n_rows, sizeof (row), err) < 0)
        return -1;
    apps->rows[apps->n_rows++] = row;
    return 0;
}

static int read_network (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_app_network network;

    if (dn_fields_read (&dn_apps_kinds[DN_APPS_LINE_NETWORK], line, &network, err) < 0)
        return -1;
    for (char *at = network.graph; (at = strchr (at, '\'')); at++)
        *at = '"';
    return dn_apps_add_network (to, network.graph, err);
}

static struct dn_app_known known_of (struct dn_app_captured *captured)
{
    return (struct dn_app_known){
        .spec = captured->spec,
        .arch = captured->arch,
        .job = captured->job,
        .batch = (int32_t) captured->batch,
        .network = (int32_t) captured->network,
        .last_s = (uint32_t) captured->last_s,
        .steps = (float) captured->steps,
        .epochs = (float) ((double) captured->milli_epochs / DN_APPS_PER_MILLI),
        .loader_share = captured->loader_ppm < 0
                            ? -1
                            : (float) ((double) captured->loader_ppm / PPM),
        .workers = (int16_t) captured->workers,
        .gpus = (uint16_t) captured->gpus,
        .gpus_used = (uint16_t) captured->gpus_used,
        .gpus_runs = (uint8_t) captured->gpus_runs,
    };
}

static int read_captured (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct dn_app_captured captured;
    struct dn_app_known known;

    if (dn_fields_read (&dn_apps_kinds[DN_APPS_LINE_CAPTURED], line, &captured, err)
        < 0)
        return -1;
    known = known_of (&captured);
    if (dn_app_key_read (captured.key, &known.key, err) < 0
        || (captured.kin[0] != '\0'
            && dn_app_key_read (captured.kin, &known.kin, err) < 0))
        return -1;
    if (known.network >= apps->n_networks)
        return dn_refuse (
            err, app_network, (int) known.network, (int) apps->n_networks);
    if (apps->n_known > 0 && apps->known[apps->n_known - 1].key >= known.key)
        return dn_refuse (err, app_known_order);
    return dn_apps_add_known (apps, &known, err);
}

static int read_tail (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct dn_app_tail tail;

    if (dn_fields_read (&dn_apps_kinds[DN_APPS_LINE_END], line, &tail, err) < 0)
        return -1;
    if (tail.rows != apps->n_rows)
        return dn_refuse (err, rows, "Rows", tail.rows, apps->n_rows);
    if (tail.captured != apps->n_known)
        return dn_refuse (err, rows, "Captured", tail.captured, apps->n_known);
    return 0;
}

static int (*const readers[]) (void *, const struct dn_keyline *, struct dn_err *) = {
    [DN_APPS_LINE_HISTORY] = read_head,
    [DN_APPS_LINE_TYPE] = read_type,
    [DN_APPS_LINE_NETWORK] = read_network,
    [DN_APPS_LINE_APP] = read_app,
    [DN_APPS_LINE_CAPTURED] = read_captured,
    [DN_APPS_LINE_END] = read_tail,
};

static const struct dn_lines lines = {.kinds = dn_apps_kinds,
                                      .n_kinds = (int) DN_N_ELEMENTS (readers),
                                      .expected = dn_say_apps_lines,
                                      .readers = readers,
                                      .max = DN_APPS_FILE_MAX};

static int compare_kin (const void *a, const void *b)
{
    const struct dn_app_kin *x = a;
    const struct dn_app_kin *y = b;

    if (x->kin != y->kin)
        return x->kin < y->kin ? -1 : 1;
    return (x->last_s > y->last_s) - (x->last_s < y->last_s);
}

static int index_kin (struct dn_apps *apps, struct dn_err *err)
{
    for (int64_t i = 0; i < apps->n_known; i++) {
        const struct dn_app_known *known = &apps->known[i];

        if (known->kin == 0)
            continue;
        if (dn_rows_grow (&apps->kin, apps->n_kin, sizeof (*apps->kin), err) < 0)
            return -1;
        apps->kin[apps->n_kin++] =
            (struct dn_app_kin){known->kin, known->last_s, (int32_t) i};
    }
    if (apps->n_kin > 0)
        qsort (apps->kin, (size_t) apps->n_kin, sizeof (*apps->kin), compare_kin);
    return 0;
}

/* 'rows', or as much of their memory as 'n' need: they grew by doubling. */
static void *fitted (void *rows, int64_t n, size_t size)
{
    void *fit = n > 0 ? realloc (rows, (size_t) n * size) : NULL;

    return fit ? fit : rows;
}

struct dn_apps *dn_apps_read (struct dn_span text, const char *file, struct dn_err *err)
{
    struct dn_apps *apps = calloc (1, sizeof (*apps));
    struct dn_err local;

    if (!apps)
        return DN_NULL (dn_refuse (err, no_memory_for, file));
    if (dn_lines_read (&lines, text, file, apps, err ? err : &local) == 0
        && index_kin (apps, err) == 0) {
        apps->rows = fitted (apps->rows, apps->n_rows, sizeof (*apps->rows));
        apps->known = fitted (apps->known, apps->n_known, sizeof (*apps->known));
        apps->kin = fitted (apps->kin, apps->n_kin, sizeof (*apps->kin));
        return apps;
    }
    dn_apps_free (apps);
    return NULL;
}

void dn_apps_forget_known (struct dn_apps *apps)
{
    for (int64_t i = 0; i < apps->n_known; i++)
        free (apps->known[i].spec);
    for (int64_t i = 0; i < apps->n_networks; i++)
        free (apps->networks[i]);
    free (apps->known);
    free (apps->kin);
    free (apps->networks);
    apps->known = NULL;
    apps->kin = NULL;
    apps->networks = NULL;
    apps->n_known = apps->n_kin = apps->n_networks = 0;
    apps->n_text = 0;
}

void dn_apps_free (struct dn_apps *apps)
{
    if (!apps)
        return;
    dn_apps_forget_known (apps);
    free (apps->types);
    free (apps->rows);
    free (apps);
}

const struct dn_app_row *dn_apps_all (const struct dn_apps *apps,
                                      dn_app_key key,
                                      int64_t *n_rows)
{
    int64_t low = 0;
    int64_t high = apps ? apps->n_rows : 0;
    int64_t n = 0;

    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (apps->rows[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    while (apps && low + n < apps->n_rows && apps->rows[low + n].key == key)
        n++;
    *n_rows = n;
    return n > 0 ? &apps->rows[low] : NULL;
}

const struct dn_app_row *dn_apps_find (const struct dn_apps *apps,
                                       dn_app_key key,
                                       const char *type,
                                       int64_t gpus)
{
    const struct dn_app_row *any = NULL;
    int64_t n;
    const struct dn_app_row *rows = dn_apps_all (apps, key, &n);

    for (int64_t i = 0; i < n; i++) {
        const char *seen = apps->types[rows[i].type];

        if (!dn_word_equal (seen, strlen (seen), type, strlen (type)))
            continue;
        if (rows[i].gpus == gpus)
            return &rows[i];
        if (rows[i].gpus == 0)
            any = &rows[i];
    }
    return any;
}

/* --- kin ---------------------------------------------------------------------------
 */

const struct dn_app_known *dn_apps_kin (const struct dn_apps *apps, dn_app_key kin)
{
    const struct dn_app_known *own = dn_apps_known (apps, kin);
    const struct dn_app_known *other;
    int64_t low = 0;
    int64_t high = apps ? apps->n_kin : 0;

    while (low < high) { /* the first that is later */
        int64_t mid = low + (high - low) / 2;

        if (apps->kin[mid].kin <= kin)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0 || apps->kin[low - 1].kin != kin)
        return own;
    other = &apps->known[apps->kin[low - 1].at];
    return own && own->last_s > other->last_s ? own : other;
}

/* --- what runs have described -----------------------------------------------------
 */

/* Count the bytes of more texts. */
static int take_room (struct dn_apps *apps, size_t size, struct dn_err *err)
{
    if (apps->n_text + size > DN_APPS_TEXTS_MAX)
        return dn_refuse (err, app_texts, DN_APPS_TEXTS_MAX);
    apps->n_text += size;
    return 0;
}

size_t dn_app_known_size (const struct dn_app_known *known)
{
    return strlen (known->spec) + strlen (known->arch) + strlen (known->job) + 3
           + DN_APPS_TEXT_MORE;
}

int dn_app_known_copy (struct dn_app_known *known, struct dn_err *err)
{
    size_t spec = strlen (known->spec) + 1;
    size_t arch = strlen (known->arch) + 1;
    size_t job = strlen (known->job) + 1;
    char *texts = malloc (spec + arch + job);

    if (!texts)
        return dn_refuse (err, no_memory);
    memcpy (texts, known->spec, spec);
    memcpy (texts + spec, known->arch, arch);
    memcpy (texts + spec + arch, known->job, job);
    known->spec = texts;
    known->arch = texts + spec;
    known->job = texts + spec + arch;
    return 0;
}

int dn_apps_add_known (struct dn_apps *apps,
                       const struct dn_app_known *known,
                       struct dn_err *err)
{
    struct dn_app_known copy = *known;

    if (apps->n_known == DN_APPS_KNOWN_MAX)
        return dn_refuse (err, lines, (int64_t) DN_APPS_KNOWN_MAX, "Captured");
    if (dn_rows_grow (&apps->known, apps->n_known, sizeof (*known), err) < 0
        || take_room (apps, dn_app_known_size (known), err) < 0
        || dn_app_known_copy (&copy, err) < 0)
        return -1;
    apps->known[apps->n_known++] = copy;
    return 0;
}

int dn_apps_add_network (struct dn_apps *apps, const char *sidecar, struct dn_err *err)
{
    char *copy;

    if (apps->n_networks == DN_APPS_KNOWN_MAX)
        return dn_refuse (err, lines, (int64_t) DN_APPS_KNOWN_MAX, "Network");
    if (dn_rows_grow (&apps->networks, apps->n_networks, sizeof (char *), err) < 0
        || take_room (apps, strlen (sidecar) + 1 + DN_APPS_TEXT_MORE, err) < 0)
        return -1;
    copy = strdup (sidecar);
    if (!copy)
        return dn_refuse (err, no_memory);
    /* -Wanalyzer-malloc-leak: 'apps' has it */
    apps->networks[apps->n_networks++] = copy;
    return 0;
}

static int compare_known (const void *key, const void *element)
{
    const dn_app_key *wanted = key;
    const struct dn_app_known *known = element;

    return (*wanted > known->key) - (*wanted < known->key);
}

const struct dn_app_known *dn_apps_known (const struct dn_apps *apps, dn_app_key key)
{
    return apps && apps->n_known > 0 ? bsearch (&key,
                                                apps->known,
                                                (size_t) apps->n_known,
                                                sizeof (*apps->known),
                                                compare_known)
                                     : NULL;
}

const char *dn_apps_network (const struct dn_apps *apps,
                             const struct dn_app_known *known)
{
    return known->network >= 0 && known->network < apps->n_networks
               ? apps->networks[known->network]
               : NULL;
}

/* Normal scores of the quantiles 0.0001 to 0.9999, and those of Student's law, which is
 * symmetric, too.
 */
#define SCORES(a, b, c, d, e, f, g)                                                    \
    {                                                                                  \
        -(g), -(f), -(e), -(d), -(c), -(b), -(a), 0, a, b, c, d, e, f, g               \
    }
#define LAW(freedom, ...)                                                              \
    {freedom,                                                                          \
     {15,                                                                              \
      SCORES (0.5244, 0.8416, 1.2816, 1.6449, 2.3263, 3.0902, 3.7190),                 \
      SCORES (__VA_ARGS__),                                                            \
      NULL}},

static const struct {
    int freedom;
    struct dn_quantiles quantiles;
} laws[] = {
#include "predict/student.inc"
};

const struct dn_quantiles *dn_student_law (int freedom)
{
    size_t at = DN_N_ELEMENTS (laws) - 1;

    while (at > 0 && laws[at].freedom > freedom)
        at--;
    return &laws[at].quantiles;
}

struct dn_range dn_app_row_time (const struct dn_app_row *row, double work)
{
    double time_s = (double) row->start_s + (double) row->unit_s * work;

    return (struct dn_range){.p50 = time_s,
                             .sigma = (double) row->sigma,
                             .quantiles = dn_student_law (row->freedom)};
}

double dn_app_row_reach (const struct dn_app_row *row, double work)
{
    return dn_max (work / (double) row->work_max, (double) row->work_min / work);
}

struct dn_range dn_app_row_law (const struct dn_app_row *row, double work)
{
    struct dn_range law = dn_app_row_time (row, work);
    double whole = dn_app_row_time (row, (double) row->work_max).p50;
    double far = dn_app_row_reach (row, work);

    law.p50 = dn_min (law.p50, DN_APP_TIME_MAX_S);
    if (far > NEAR)
        law.sigma += FAR_SIGMA * log (far / NEAR);
    if (whole > 0)
        law.floor.ratio = (double) row->longest_s / whole;
    return law;
}
