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

const struct dn_names dn_work_unit_names = DN_NAMES_OF (WORK_UNITS);

/* The numbers in the file are all whole. */
#define MILLI 1e3
#define MICRO 1e6
#define MIB   1024.0 /* of GiB */

#define APPS     struct dn_apps
#define ROW      struct dn_app_row
#define CAPTURED struct dn_app_captured

static const struct dn_member head_fields[] = {
    DN_COUNT ("Version", APPS, version, 1, DN_APPS_VERSION),
    DN_TEXT ("Cluster", APPS, cluster, false),
    DN_COUNT ("Time", APPS, time_s, 0, TIME_MAX),
    DN_FLAG ("ByAccount", APPS, by_account, true),
    DN_TEXT ("Bundle", APPS, bundle, false),
};
static const struct dn_member type_fields[] = {
    {.key = "Name", .type = DN_MEMBER_TEXT, .size = DN_NAME_MAX},
};
static const struct dn_member network_fields[] = {
    DN_TEXT ("Graph", struct dn_app_network, graph, true),
};
static const struct dn_member app_fields[] = {
    DN_KEY ("Key", ROW, key, true),
    DN_COUNT ("Type", ROW, type, 0, DN_APP_TYPES_MAX - 1),
    DN_COUNT_OR ("Gpus", ROW, gpus, 0, UINT16_MAX, 0),
    DN_WORD ("Unit", ROW, unit, &dn_work_unit_names),
    DN_COUNT ("Freedom", ROW, freedom, 1, UINT8_MAX),
    DN_COUNT ("Runs", ROW, runs, 1, UINT32_MAX),
    DN_COUNT ("Last", ROW, last_s, 0, TIME_MAX),
    DN_REAL_OR ("Start", ROW, start_s, MILLI, 0, MS_MAX, 0),
    DN_REAL ("Time", ROW, unit_s, MICRO, 1, US_MAX),
    DN_REAL ("Sigma", ROW, sigma, MICRO, 1, SIGMA_MAX),
    DN_REAL ("Longest", ROW, longest_s, MILLI, 0, MS_MAX),
    DN_REAL_OR ("Cores", ROW, cores, MILLI, 0, CORES_MAX, 0),
    DN_REAL_OR ("Memory", ROW, gpu_mem_gb, MIB, 0, MIB_MAX, 0),
    DN_REAL_OR ("HostMemory", ROW, mem_gb, MIB, 0, HOST_MIB_MAX, 0),
    DN_COUNT_OR ("HostRuns", ROW, mem_runs, 0, UINT8_MAX, 0),
    DN_FLAG ("HostKept", ROW, mem_kept, false),
    DN_REAL_OR ("WorkMin", ROW, work_min, 1, 1, WORK_MAX, 1),
    DN_REAL_OR ("WorkMax", ROW, work_max, 1, 1, WORK_MAX, 1),
    DN_FLAG ("MemorySaid", ROW, gpu_mem_said, false),
    DN_REAL_OR ("Step", ROW, step_s, MICRO, 0, US_MAX, 0),
    DN_REAL_OR ("StartUp", ROW, start_up_s, MILLI, 0, MS_MAX, 0),
};
static const struct dn_member captured_fields[] = {
    DN_KEY ("Key", CAPTURED, known.key, true),
    DN_TEXT ("Spec", CAPTURED, spec, false),
    DN_TEXT ("Arch", CAPTURED, arch, false),
    DN_COUNT_OR ("Network", CAPTURED, known.network, 0, DN_APPS_KNOWN_MAX - 1, -1),
    DN_TEXT ("Job", CAPTURED, job, false),
    DN_KEY ("Kin", CAPTURED, known.kin, false),
    DN_COUNT_OR ("Batch", CAPTURED, known.batch, 0, INT32_MAX, 0),
    DN_COUNT ("Last", CAPTURED, known.last_s, 0, TIME_MAX),
    DN_REAL_OR ("Steps", CAPTURED, known.steps, 1, 0, WORK_MAX, 0),
    DN_REAL_OR ("Epochs", CAPTURED, known.epochs, MILLI, 0, WORK_MAX, 0),
    DN_REAL_OR ("Loader", CAPTURED, known.loader_share, MICRO, 0, PPM, -1),
    DN_COUNT_OR ("Workers", CAPTURED, known.workers, 0, WORKERS_MAX, -1),
    DN_COUNT_OR ("Gpus", CAPTURED, known.gpus, 0, UINT16_MAX, 0),
    DN_COUNT_OR ("GpusUsed", CAPTURED, known.gpus_used, 0, UINT16_MAX, 0),
    DN_COUNT_OR ("GpusRuns", CAPTURED, known.gpus_runs, 0, 2, 0),
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
    char digits[DN_KEY_DIGITS + 1];
    struct dn_digest digest;

    dn_digest_add (&digester, whose);
    dn_digest_add (&digester, dn_span_of (":"));
    dn_digest_add (&digester, dn_span_of (app));
    digest = dn_digest_end (&digester);
    memcpy (digits, digest.hex, DN_KEY_DIGITS);
    digits[DN_KEY_DIGITS] = '\0';
    return strtoull (digits, NULL, DN_KEY_DIGITS);
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
    return (dn_fields_version (line, 1, NULL) < 0
            && dn_fields_version (line, 2, NULL) < 0
            && dn_fields_version (line, DN_APPS_VERSION, err) < 0)
                   || dn_fields_read (
                          &dn_apps_kinds[DN_APPS_LINE_HISTORY], line, to, err)
                          < 0
               ? -1
               : 0;
}

static int read_type (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;

    if (apps->n_types == DN_APP_TYPES_MAX)
        return dn_refuse (err, lines, (int64_t) DN_APP_TYPES_MAX, "Type");
    if (dn_rows_grow (&apps->types, apps->n_types, sizeof (*apps->types), err) < 0)
        return -1;
    return dn_fields_read (
        &dn_apps_kinds[DN_APPS_LINE_TYPE], line, apps->types[apps->n_types++], err);
}

static bool is_before (const struct dn_app_row *a, const struct dn_app_row *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    return a->type != b->type ? a->type < b->type : a->gpus < b->gpus;
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
    struct dn_app_row row = {.key = 0};

    if (dn_fields_read (&dn_apps_kinds[DN_APPS_LINE_APP], line, &row, err) < 0
        || check_row (apps, &row, err) < 0
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

static int read_captured (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct dn_app_captured captured = {.known = {.key = 0}};
    struct dn_app_known *known = &captured.known;

    if (dn_fields_read (&dn_apps_kinds[DN_APPS_LINE_CAPTURED], line, &captured, err)
        < 0)
        return -1;
    known->spec = captured.spec;
    known->arch = captured.arch;
    known->job = captured.job;
    if (known->network >= apps->n_networks)
        return dn_refuse (
            err, app_network, (int) known->network, (int) apps->n_networks);
    if (apps->n_known > 0 && apps->known[apps->n_known - 1].key >= known->key)
        return dn_refuse (err, app_known_order);
    return dn_apps_add_known (apps, known, err);
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
