/* accounting.c - jobs as sacct prints them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/accounting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

/* The columns: a name here, that of sacct, and whether they say what a job has used.
 * The texts of users are in the middle.
 */
#define COLUMNS(X)                                                                     \
    X (RAW_ID, "JobIDRaw", true)                                                       \
    X (JOB, "JobID", true)                                                             \
    X (CLUSTER, "Cluster", false)                                                      \
    X (USER, "User", false)                                                            \
    X (UID, "UID", false)                                                              \
    X (ACCOUNT, "Account", false)                                                      \
    X (PARTITION, "Partition", false)                                                  \
    X (QOS, "QOS", false)                                                              \
    X (NAME, "JobName", true)                                                          \
    X (SUBMIT, "Submit", false)                                                        \
    X (ELIGIBLE, "Eligible", false)                                                    \
    X (START, "Start", true)                                                           \
    X (END, "End", true)                                                               \
    X (SUSPENDED, "Suspended", true)                                                   \
    X (LIMIT, "TimelimitRaw", true)                                                    \
    X (STATE, "State", true)                                                           \
    X (NODES, "NNodes", true)                                                          \
    X (HOSTS, "NodeList", false)                                                       \
    X (TRES, "AllocTRES", true)                                                        \
    X (CPU_TIME, "TotalCPU", true)                                                     \
    X (USED, "TRESUsageInTot", true)                                                   \
    X (COMMENT, "AdminComment", true)                                                  \
    X (EXIT, "ExitCode", true)

enum column {
#define COLUMN(id, name, use) AT_##id,
    COLUMNS (COLUMN)
#undef COLUMN
    N_COLUMNS
};

static const struct column_info {
    const char *name;
    bool use;
} columns[] = {
#define COLUMN(id, name, use) {name, use},
    COLUMNS (COLUMN)
#undef COLUMN
};

/* Is the column asked for? */
static bool is_asked (enum dn_accounting_what what, int i)
{
    return what == DN_ACCOUNTING_ALL || columns[i].use;
}

void dn_accounting_columns (enum dn_accounting_what what, struct dn_buf *buf)
{
    for (int i = 0; i < N_COLUMNS; i++)
        if (is_asked (what, i))
            dn_buf_add (buf, "%s,", columns[i].name);
}

#define TEXT_MAX  1000
#define COUNT_MAX (INT64_C (1) << 53)

/* A record and the texts of its columns, which are cut out of it. */
struct record {
    char text[DN_ACCOUNTING_RECORD_MAX];
    size_t len;
    size_t seen; /* so far separators were looked for */
    int n;       /* of them */
    char *at[N_COLUMNS];
    char none[1]; /* "", of those that are not asked for */
};

struct dn_accounting {
    enum dn_accounting_what what;
    int n_columns; /* of it */
    dn_accounted_f take;
    void *to;
    char delimiter[DN_NAME_MAX];
    struct record records[2]; /* that of the last job, and the next */
    int last;
    int64_t refused;
    bool has_job;
    struct dn_accounted job;
    char state[DN_NAME_MAX];
    char host[DN_NAME_MAX * 4];
    char gpu[DN_NAME_MAX];
};

struct dn_accounting *dn_accounting_new (enum dn_accounting_what what,
                                         const char *delimiter,
                                         dn_accounted_f take,
                                         void *to)
{
    struct dn_accounting *a = calloc (1, sizeof (*a));

    if (!a)
        return NULL;
    a->what = what;
    for (int i = 0; i < N_COLUMNS; i++)
        a->n_columns += is_asked (what, i);
    a->take = take;
    a->to = to;
    snprintf (a->delimiter, sizeof (a->delimiter), "%s", delimiter);
    return a;
}

void dn_accounting_free (struct dn_accounting *accounting)
{
    free (accounting);
}

/* --- columns ---------------------------------------------------------------------- */

static int64_t count_of (const char *text)
{
    int64_t count;

    return dn_int_read (dn_span_of (text), "count", 0, COUNT_MAX, &count, NULL) == 0
               ? count
               : DN_UNSET;
}

static int64_t seconds_of (const char *text)
{
    struct dn_span span = {text, strcspn (text, ".")};
    int64_t seconds;

    return dn_time_read (span, "time", &seconds, NULL) == 0 ? seconds : DN_UNSET;
}

/* "01:02:03", "02:03.456"; NaN where none was measured. */
static double cpu_time_of (const char *text)
{
    int64_t seconds = seconds_of (text);
    const char *point = strchr (text, '.');
    int64_t ms = point ? count_of (point + 1) : 0;

    if (seconds < 0 || ms < 0 || ms > 999 || seconds + ms == 0)
        return NAN;
    return (double) seconds + 1e-3 * (double) ms;
}

static int64_t limit_of (const char *text)
{
    int64_t minutes = count_of (text);

    if (strcmp (text, "UNLIMITED") == 0)
        return DN_UNLIMITED;
    return minutes < 0 || minutes > INT32_MAX ? DN_UNSET : 60 * minutes;
}

/* "3:0", of a signal "0:9": the exit status, or 128 and the signal, as in a shell. */
static int64_t exit_of (const char *text)
{
    const char *colon = strchr (text, ':');
    int64_t signal = colon ? count_of (colon + 1) : DN_UNSET;
    struct dn_span code = {text, strcspn (text, ":")};
    int64_t status;

    if (signal > 0 && signal < 128)
        return 128 + signal;
    return dn_int_read (code, "code", 0, 255, &status, NULL) == 0 ? status : DN_UNSET;
}

bool dn_tres_next (struct dn_span *rest, struct dn_span *name, int64_t *count)
{
    struct dn_span piece;

    while ((piece = dn_span_cut (rest, ",")).text) {
        *name = dn_span_cut (&piece, "=");
        if (piece.text
            && dn_int_read (piece, "count", 0, INT64_C (1) << 60, count, NULL) == 0)
            return true;
    }
    return false;
}

int64_t dn_tres_count (const char *text, const char *wanted)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span name;
    int64_t count;

    while (dn_tres_next (&rest, &name, &count))
        if (dn_span_is (name, wanted))
            return count;
    return DN_UNSET;
}

/* Memory of "mem=20000M" or, in bytes, "mem=134008832"; NaN unknown. */
static double gb_of (const char *text)
{
    static const char units[] = "KMGT";
    struct dn_span rest = dn_span_of (text);
    struct dn_span piece;
    double gb;

    while ((piece = dn_span_cut (&rest, ",")).text) {
        struct dn_span name = dn_span_cut (&piece, "=");
        const char *unit;

        if (!piece.text || piece.len == 0 || !dn_span_is (name, "mem"))
            continue;
        unit = strchr (units, piece.text[piece.len - 1]);
        piece.len -= unit ? 1 : 0;
        return dn_real_read (piece, "mem", 0, 1e18, &gb, NULL) == 0
                   ? ldexp (gb / DN_GIB, unit ? 10 * (int) (unit - units + 1) : 0)
                   : NAN;
    }
    return NAN;
}

/* --- a job ------------------------------------------------------------------------ */

static void take_gpus (struct dn_accounting *a, const char *text)
{
    static const char prefix[] = "gres/gpu:";
    const size_t len = sizeof (prefix) - 1;
    struct dn_finished *job = &a->job.job;
    struct dn_span rest = dn_span_of (text);
    struct dn_span name;
    int64_t typed = 0;
    int64_t count;

    a->gpu[0] = '\0';
    job->gpu = a->gpu;
    job->gpus = dn_tres_count (text, "gres/gpu");
    while (dn_tres_next (&rest, &name, &count)) {
        /* Of a job with several types, that of which it has most. */
        if (name.len <= len || memcmp (name.text, prefix, len) != 0 || count <= typed)
            continue;
        typed = count;
        dn_span_copy ((struct dn_span){name.text + len, name.len - len},
                      a->gpu,
                      sizeof (a->gpu),
                      "type",
                      NULL);
    }
    if (job->gpus < typed)
        job->gpus = typed > 0 || text[0] != '\0' ? typed : DN_UNSET;
}

/* "CANCELLED by 1000" is CANCELLED. */
static void take_state (struct dn_accounting *a, const char *text)
{
    snprintf (a->state, sizeof (a->state), "%.*s", (int) strcspn (text, " "), text);
    a->job.job.state = a->state;
}

static void take_times (struct dn_finished *job, char *const at[])
{
    job->submit_s = count_of (at[AT_SUBMIT]);
    job->eligible_s = count_of (at[AT_ELIGIBLE]);
    job->start_s = count_of (at[AT_START]);
    job->end_s = count_of (at[AT_END]);
    if (job->end_s != DN_UNSET)
        dn_finished_settle_times (job);
    job->suspended_s = seconds_of (at[AT_SUSPENDED]);
    job->limit_s = limit_of (at[AT_LIMIT]);
}

/* Cut what is longer than any name. */
static const char *name_at (char *text)
{
    if (strnlen (text, TEXT_MAX) == TEXT_MAX)
        text[TEXT_MAX] = '\0';
    return text;
}

static void begin_job (struct dn_accounting *a, char *const at[])
{
    struct dn_finished *job = &a->job.job;
    struct dn_buf host = dn_buf_on (a->host, sizeof (a->host));

    dn_finished_clear (job);
    job->raw_id = count_of (at[AT_RAW_ID]);
    job->job = name_at (at[AT_JOB]);
    job->cluster = name_at (at[AT_CLUSTER]);
    job->user_name = name_at (at[AT_USER]);
    job->user = count_of (at[AT_UID]);
    job->account = name_at (at[AT_ACCOUNT]);
    job->partition = name_at (at[AT_PARTITION]);
    job->qos = name_at (at[AT_QOS]);
    job->name = name_at (at[AT_NAME]);
    job->source = "sacct";
    take_times (job, at);
    take_state (a, at[AT_STATE]);
    job->exit_code = exit_of (at[AT_EXIT]);
    job->nodes = at[AT_TRES][0] != '\0' ? count_of (at[AT_NODES]) : 0;
    job->cpus = at[AT_TRES][0] != '\0' ? dn_tres_count (at[AT_TRES], "cpu") : 0;
    dn_first_host (at[AT_HOSTS], &host);
    job->host = a->host;
    take_gpus (a, at[AT_TRES]);
    job->cpu_s = cpu_time_of (at[AT_CPU_TIME]);
    job->mem_gb = gb_of (at[AT_TRES]);
    a->job.admin_comment = at[AT_COMMENT];
    a->has_job = true;
}

/* The largest memory of a step: of all its processes, by its nodes. */
static void take_step (struct dn_accounting *a, char *const at[])
{
    int64_t nodes = count_of (at[AT_NODES]);
    double gb = gb_of (at[AT_USED]) / (double) (nodes > 0 ? nodes : 1);

    if (a->has_job && gb > 0 && !(a->job.job.host_mem_gb >= gb))
        a->job.job.host_mem_gb = gb;
}

int64_t dn_accounting_refused (const struct dn_accounting *accounting)
{
    return accounting->refused;
}

int dn_accounting_end (struct dn_accounting *a)
{
    bool has_job = a->has_job;

    a->has_job = false;
    return has_job && a->job.job.raw_id > 0 ? a->take (a->to, &a->job) : 0;
}

/* --- records ---------------------------------------------------------------------- */

/* Count the separators up to the end of the text. */
static void count (const struct dn_accounting *a, struct record *record)
{
    size_t len = strlen (a->delimiter);
    char *found;

    while ((found = strstr (record->text + record->seen, a->delimiter))) {
        record->n++;
        record->seen = (size_t) (found - record->text) + len;
    }
    if (record->len > record->seen + len)
        record->seen = record->len - len;
}

static void cut (const struct dn_accounting *a, struct record *record)
{
    size_t len = strlen (a->delimiter);
    char *at = record->text;

    for (int i = 0; i < N_COLUMNS; i++) {
        bool asked = is_asked (a->what, i);
        char *end = asked ? strstr (at, a->delimiter) : NULL;

        record->at[i] = asked ? at : record->none;
        if (!end)
            continue;
        *end = '\0';
        at = end + len;
    }
}

/* At the end of a line: take the record if it has all its columns. */
static int end_line (struct dn_accounting *a)
{
    struct record *record = &a->records[!a->last];
    int rc = 0;

    count (a, record);
    if (record->n < a->n_columns - 1) {
        record->text[record->len++] = '?';
        record->text[record->len] = '\0';
        return 0;
    }
    cut (a, record);
    if (record->n == a->n_columns - 1 && strchr (record->at[AT_RAW_ID], '.')) {
        take_step (a, record->at);
    } else if (record->n == a->n_columns - 1) {
        rc = dn_accounting_end (a);
        begin_job (a, record->at);
        a->last = !a->last;
        record = &a->records[!a->last];
    } else {
        a->refused++;
    }
    record->len = record->seen = 0;
    record->n = 0;
    return rc;
}

int dn_accounting_feed (struct dn_accounting *a,
                        struct dn_span piece,
                        struct dn_err *err)
{
    for (size_t i = 0; i < piece.len; i++) {
        struct record *record = &a->records[!a->last];
        char c = piece.text[i];

        if (record->len + 2 >= sizeof (record->text))
            return dn_refuse (err, accounting_long);
        if (c == '\n') {
            int rc = end_line (a);

            if (rc != 0)
                return rc;
            continue;
        }
        record->text[record->len++] = (unsigned char) c < ' ' || c == 0x7f ? '?' : c;
        record->text[record->len] = '\0';
    }
    return 0;
}
