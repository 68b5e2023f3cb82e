/* apps.c - what the finished runs of each user's applications say, as a text
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/apps.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/limits.h"
#include "base/messages.h"

/* Seconds since 1970 up to the end of 32 bits. */
#define TIME_MAX UINT32_MAX

/* Units of the numbers in the file, which are all whole. */
#define PER_MILLI 1e3
#define PER_MICRO 1e6

/* Three years, as ms and as us; a spread of a factor of e^10; 10^15 units of work. */
#define MS_MAX    INT64_C (100000000000)
#define US_MAX    INT64_C (100000000000000)
#define SIGMA_MAX 10000000
#define CORES_MAX 4096000
#define MIB_MAX   16777216
#define WORK_MAX  INT64_C (1000000000000000)

#define MIB_PER_GIB 1024.0

#define KEY_DIGITS 16

_Static_assert(DN_APPS_MAX * sizeof (struct dn_app_row) <= 8000000, "rows of 8 MB");

static const char *const unit_text[] = {
    [DN_WORK_RUN] = "run",
    [DN_WORK_EPOCHS] = "epochs",
    [DN_WORK_STEPS] = "steps",
    [DN_WORK_PREDICTED] = "predicted",
};

const struct dn_names dn_work_unit_names = DN_NAMES (unit_text, DN_N_WORK_UNITS);

/* The lines, as they are written. */
struct head {
    int64_t version;
    int64_t time_s;
    bool by_account;
    char bundle[DN_NAME_MAX];
};
struct type {
    char name[DN_NAME_MAX];
};
struct app {
    char key[KEY_DIGITS + 1];
    int64_t type;
    int64_t gpus;
    int unit;
    int64_t freedom;
    int64_t runs;
    int64_t last_s;
    int64_t start_ms;
    int64_t unit_us;
    int64_t sigma_ppm;
    int64_t longest_ms;
    int64_t milli_cores;
    int64_t memory_mib;
    int64_t work_min;
    int64_t work_max;
};
struct tail {
    int64_t rows;
};

static const struct dn_member head_fields[] = {
    DN_COUNT ("Version", struct head, version, DN_APPS_VERSION, DN_APPS_VERSION),
    DN_COUNT ("Time", struct head, time_s, 0, TIME_MAX),
    DN_FLAG ("ByAccount", struct head, by_account, true),
    DN_TEXT ("Bundle", struct head, bundle, false),
};
static const struct dn_member type_fields[] = {
    DN_TEXT ("Name", struct type, name, false),
};
static const struct dn_member app_fields[] = {
    DN_TEXT ("Key", struct app, key, true),
    DN_COUNT ("Type", struct app, type, 0, DN_APP_TYPES_MAX - 1),
    DN_COUNT_OR ("Gpus", struct app, gpus, 0, UINT16_MAX, 0),
    {.key = "Unit",
     .type = DN_MEMBER_NAME,
     .offset = offsetof (struct app, unit),
     .required = true,
     .names = &dn_work_unit_names},
    DN_COUNT ("Freedom", struct app, freedom, 1, UINT8_MAX),
    DN_COUNT ("Runs", struct app, runs, 1, UINT32_MAX),
    DN_COUNT ("Last", struct app, last_s, 0, TIME_MAX),
    DN_COUNT_OR ("Start", struct app, start_ms, 0, MS_MAX, 0),
    DN_COUNT ("Time", struct app, unit_us, 1, US_MAX),
    DN_COUNT ("Sigma", struct app, sigma_ppm, 1, SIGMA_MAX),
    DN_COUNT ("Longest", struct app, longest_ms, 0, MS_MAX),
    DN_COUNT_OR ("Cores", struct app, milli_cores, 0, CORES_MAX, 0),
    DN_COUNT_OR ("Memory", struct app, memory_mib, 0, MIB_MAX, 0),
    DN_COUNT_OR ("WorkMin", struct app, work_min, 1, WORK_MAX, 1),
    DN_COUNT_OR ("WorkMax", struct app, work_max, 1, WORK_MAX, 1),
};
static const struct dn_member tail_fields[] = {
    DN_COUNT ("Rows", struct tail, rows, 0, DN_APPS_MAX),
};

#define LINE(word, fields)                                                             \
    {                                                                                  \
        word, fields, (int) DN_N_ELEMENTS (fields)                                     \
    }

static const struct dn_line_kind kinds[] = {
    [DN_APPS_LINE_HISTORY] = LINE ("History", head_fields),
    [DN_APPS_LINE_TYPE] = LINE ("Type", type_fields),
    [DN_APPS_LINE_APP] = LINE ("App", app_fields),
    [DN_APPS_LINE_END] = LINE ("End", tail_fields),
};

const struct dn_line_kind *dn_apps_line (enum dn_apps_line line)
{
    return &kinds[line];
}

static dn_app_key key_of (struct dn_span whose, const char *app)
{
    struct dn_digester digester = dn_digest_begin ();
    char digits[KEY_DIGITS + 1];
    struct dn_digest digest;

    dn_digest_add (&digester, whose);
    dn_digest_add (&digester, dn_span_of (":"));
    dn_digest_add (&digester, dn_span_of (app));
    digest = dn_digest_end (&digester);
    memcpy (digits, digest.hex, KEY_DIGITS);
    digits[KEY_DIGITS] = '\0';
    return strtoull (digits, NULL, KEY_DIGITS);
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
    struct head head;

    if (dn_fields_version (line, DN_APPS_VERSION, err) < 0
        || dn_fields_read (&kinds[DN_APPS_LINE_HISTORY], line, &head, err) < 0)
        return -1;
    apps->time_s = head.time_s;
    apps->by_account = head.by_account;
    memcpy (apps->bundle, head.bundle, sizeof (apps->bundle));
    return 0;
}

static int read_type (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct type type;

    if (dn_fields_read (&kinds[DN_APPS_LINE_TYPE], line, &type, err) < 0)
        return -1;
    if (apps->n_types == DN_APP_TYPES_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_lines, (int64_t) DN_APP_TYPES_MAX, "Type");
    if (dn_rows_grow (&apps->types, apps->n_types, sizeof (*apps->types), err) < 0)
        return -1;
    memcpy (apps->types[apps->n_types++], type.name, sizeof (type.name));
    return 0;
}

/* 16 digits in lower case. */
static int read_key (const char *text, dn_app_key *key, struct dn_err *err)
{
    if (strspn (text, "0123456789abcdef") != KEY_DIGITS)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           dn_say_err_app_key,
                           dn_quote (text, strlen (text)).text,
                           KEY_DIGITS);
    *key = strtoull (text, NULL, KEY_DIGITS);
    return 0;
}

static bool is_before (const struct dn_app_row *a, const struct dn_app_row *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    return a->type != b->type ? a->type < b->type : a->gpus < b->gpus;
}

static struct dn_app_row row_of (const struct app *app)
{
    return (struct dn_app_row){
        .type = (int32_t) app->type,
        .gpus = (uint16_t) app->gpus,
        .unit = (uint8_t) app->unit,
        .freedom = (uint8_t) app->freedom,
        .runs = (uint32_t) app->runs,
        .last_s = (uint32_t) app->last_s,
        .start_s = (float) ((double) app->start_ms / PER_MILLI),
        .unit_s = (float) ((double) app->unit_us / PER_MICRO),
        .sigma = (float) ((double) app->sigma_ppm / PER_MICRO),
        .longest_s = (float) ((double) app->longest_ms / PER_MILLI),
        .cores = (float) ((double) app->milli_cores / PER_MILLI),
        .gpu_mem_gb = (float) ((double) app->memory_mib / MIB_PER_GIB),
        .work_min = (float) app->work_min,
        .work_max = (float) app->work_max,
    };
}

static int check_row (const struct dn_apps *apps,
                      const struct dn_app_row *row,
                      struct dn_err *err)
{
    if (apps->n_rows == DN_APPS_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_lines, (int64_t) DN_APPS_MAX, "App");
    if (row->type >= apps->n_types)
        return dn_err_set (
            err, DN_E_RANGE, dn_say_err_app_type, (int) row->type, (int) apps->n_types);
    if (row->work_min > row->work_max)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_app_work);
    if (apps->n_rows > 0 && !is_before (&apps->rows[apps->n_rows - 1], row))
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_app_order);
    return 0;
}

static int read_app (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct dn_app_row row;
    struct app app;

    if (dn_fields_read (&kinds[DN_APPS_LINE_APP], line, &app, err) < 0)
        return -1;
    row = row_of (&app);
    if (read_key (app.key, &row.key, err) < 0 || check_row (apps, &row, err) < 0
        || dn_rows_grow (&apps->rows, apps->n_rows, sizeof (row), err) < 0)
        return -1;
    apps->rows[apps->n_rows++] = row;
    return 0;
}

static int read_tail (void *to, const struct dn_keyline *line, struct dn_err *err)
{
    struct dn_apps *apps = to;
    struct tail tail;

    if (dn_fields_read (&kinds[DN_APPS_LINE_END], line, &tail, err) < 0)
        return -1;
    if (tail.rows != apps->n_rows)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_rows, tail.rows, apps->n_rows);
    return 0;
}

static int (*const readers[]) (void *, const struct dn_keyline *, struct dn_err *) = {
    [DN_APPS_LINE_HISTORY] = read_head,
    [DN_APPS_LINE_TYPE] = read_type,
    [DN_APPS_LINE_APP] = read_app,
    [DN_APPS_LINE_END] = read_tail,
};

static const struct dn_lines lines = {.kinds = kinds,
                                      .n_kinds = (int) DN_N_ELEMENTS (readers),
                                      .expected = dn_say_apps_lines,
                                      .readers = readers,
                                      .max = DN_APPS_FILE_MAX};

/* Give back the memory that the growing rows have left over. */
static void fit_rows (struct dn_apps *apps)
{
    struct dn_app_row *rows;

    if (apps->n_rows == 0)
        return;
    rows = realloc (apps->rows, (size_t) apps->n_rows * sizeof (*rows));
    if (rows)
        apps->rows = rows;
}

struct dn_apps *dn_apps_read (struct dn_span text, const char *file, struct dn_err *err)
{
    struct dn_apps *apps = calloc (1, sizeof (*apps));
    struct dn_err local;

    if (!apps) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, file);
        return NULL;
    }
    if (dn_lines_read (&lines, text, file, apps, err ? err : &local) == 0) {
        fit_rows (apps);
        return apps;
    }
    dn_apps_free (apps);
    return NULL;
}

void dn_apps_free (struct dn_apps *apps)
{
    if (!apps)
        return;
    free (apps->types);
    free (apps->rows);
    free (apps);
}

static int write_line (enum dn_apps_line kind,
                       const void *row,
                       dn_apps_put_f put,
                       void *to)
{
    char text[DN_FIELDS_LINE_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_fields_write (&kinds[kind], row, &buf);
    return put (to, text, buf.len);
}

/* In whole numbers of 1/'per'; what is no number, or too large, as the end of the range
 * that dn_fields_write () knows.
 */
static int64_t whole (double value, double per)
{
    double scaled = value * per;

    if (!(scaled > 0))
        return 0;
    return scaled < 1e18 ? llround (scaled) : INT64_MAX;
}

static int write_app (const struct dn_app_row *row, dn_apps_put_f put, void *to)
{
    struct app app = {.type = row->type,
                      .gpus = row->gpus,
                      .unit = row->unit < DN_N_WORK_UNITS ? row->unit : DN_WORK_RUN,
                      .freedom = row->freedom,
                      .runs = row->runs,
                      .last_s = row->last_s,
                      .start_ms = whole (row->start_s, PER_MILLI),
                      .unit_us = whole (row->unit_s, PER_MICRO),
                      .sigma_ppm = whole (row->sigma, PER_MICRO),
                      .longest_ms = whole (row->longest_s, PER_MILLI),
                      .milli_cores = whole (row->cores, PER_MILLI),
                      .memory_mib = whole (row->gpu_mem_gb, MIB_PER_GIB),
                      .work_min = whole (row->work_min, 1),
                      .work_max = whole (row->work_max, 1)};

    snprintf (app.key, sizeof (app.key), "%016" PRIx64, row->key);
    return write_line (DN_APPS_LINE_APP, &app, put, to);
}

int dn_apps_write (const struct dn_apps *apps, dn_apps_put_f put, void *to)
{
    const struct tail tail = {apps->n_rows};
    struct head head = {DN_APPS_VERSION, apps->time_s, apps->by_account, ""};
    struct type type;
    int rc;

    memcpy (head.bundle, apps->bundle, sizeof (head.bundle));
    rc = write_line (DN_APPS_LINE_HISTORY, &head, put, to);
    for (int i = 0; i < apps->n_types && rc == 0; i++) {
        memcpy (type.name, apps->types[i], sizeof (type.name));
        rc = write_line (DN_APPS_LINE_TYPE, &type, put, to);
    }
    for (int64_t i = 0; i < apps->n_rows && rc == 0; i++)
        rc = write_app (&apps->rows[i], put, to);
    return rc ? rc : write_line (DN_APPS_LINE_END, &tail, put, to);
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
      SCORES (__VA_ARGS__)}},

static const struct {
    int freedom;
    struct dn_quantiles quantiles;
} laws[] = {
#include "predict/student.inc"
};

/* The law of as many degrees of freedom, or of the next smaller number of the table,
 * which is wider.
 */
static const struct dn_quantiles *law_of (int freedom)
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
                             .quantiles = law_of (row->freedom)};
}
