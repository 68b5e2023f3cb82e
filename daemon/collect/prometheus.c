/* prometheus.c - what Prometheus measured of the GPUs of finished jobs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/prometheus.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef DN_FETCH
#include <curl/curl.h>
#endif

#include "base/json_read.h"
#include "base/keyline.h"
#include "base/messages.h"
#include "host/view_files.h"
#include "site.h"

/* An answer has a number for each measure, each with its labels. */
#define ANSWER_MAX (256 << 10)
#define VALUES_MAX 5000
#define DEPTH      10
#define SERIES_MAX 100

/* Of a question, and of all in a pass: the guard waits meanwhile. */
#define MAX_TIME_S 6
#define PASS_S     6

#define PATH_LEN 16000

/* A shorter run may not have computed yet when its GPUs were looked at. */
#define IDLE_RUN_S 600

/* Up to where jobs were asked for, and how late a sample may arrive. */
#define MARK   "prometheus"
#define LATE_S 30

static const char *const keys[] = {"Utilisation", "Memory", "Power", "Energy", "Idle"};
_Static_assert(DN_N_ELEMENTS (keys) == DN_N_MEASURED, "a key for each measure");

/* DCGM_FI_DEV_FB_USED is in MiB, nvidia_gpu_power_usage_milliwatts as it says. The
 * second one of each is the query of jobstats.
 */
#define OF_DCGM(how, name) how "_over_time(" name "{hpc_job=\"%j\"}[%ss])"
#define OF_JOBSTATS(how, name)                                                         \
    how "_over_time((" name " and nvidia_gpu_jobId == %j)[%ss:])"

#define DCGM_BUSY       OF_DCGM ("avg", "DCGM_FI_DEV_GPU_UTIL")
#define DCGM_MEMORY     OF_DCGM ("max", "DCGM_FI_DEV_FB_USED")
#define DCGM_POWER      OF_DCGM ("avg", "DCGM_FI_DEV_POWER_USAGE")
#define DCGM_PEAK       OF_DCGM ("max", "DCGM_FI_DEV_GPU_UTIL")
#define JOBSTATS_BUSY   OF_JOBSTATS ("avg", "nvidia_gpu_duty_cycle")
#define JOBSTATS_PEAK   OF_JOBSTATS ("max", "nvidia_gpu_duty_cycle")
#define JOBSTATS_MEMORY OF_JOBSTATS ("max", "nvidia_gpu_memory_used_bytes")
#define JOBSTATS_POWER  OF_JOBSTATS ("avg", "nvidia_gpu_power_usage_milliwatts")

void dn_expressions_default (struct dn_expressions *expressions)
{
    static const char *const texts[] = {
        "avg(" DCGM_BUSY ")/100 or avg(" JOBSTATS_BUSY ")/100",
        "max(" DCGM_MEMORY ")*1048576 or max(" JOBSTATS_MEMORY ")",
        "avg(" DCGM_POWER ") or avg(" JOBSTATS_POWER ")/1000",
        "sum(" DCGM_POWER ")*%s or sum(" JOBSTATS_POWER ")*%s/1000",
        "count(" DCGM_PEAK "==0 and " DCGM_MEMORY "<1024) or "
        "count(" JOBSTATS_PEAK "==0 and " JOBSTATS_MEMORY "<1073741824) or "
        "0*count(" DCGM_PEAK ") or 0*count(" JOBSTATS_PEAK ")",
    };

    for (int i = 0; i < DN_N_MEASURED; i++)
        snprintf (expressions->text[i], sizeof (expressions->text[i]), "%s", texts[i]);
}

/* --- the file of expressions ------------------------------------------------------ */

static int find_measure (struct dn_span key)
{
    for (int i = 0; i < DN_N_MEASURED; i++)
        if (dn_span_is (key, keys[i]))
            return i;
    return -1;
}

/* A line has a single '=' of its own: expressions have others. */
static int take_line (struct dn_span line,
                      struct dn_expressions *expressions,
                      struct dn_err *err)
{
    struct dn_span key = dn_span_cut (&line, "=");
    int i = find_measure (dn_span_trim (key));

    if (i < 0)
        return dn_err_set (
            err, DN_E_RANGE, dn_say_err_measure, dn_quote (key.text, key.len).text);
    if (!line.text || dn_span_trim (line).len == 0)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_expression, keys[i]);
    return dn_name_copy (
        dn_span_trim (line), expressions->text[i], DN_EXPRESSION_MAX, keys[i], err);
}

int dn_expressions_read (struct dn_span text,
                         const char *file,
                         struct dn_expressions *expressions,
                         struct dn_err *err)
{
    struct dn_span line;

    memset (expressions, 0, sizeof (*expressions));
    for (int n = 1; (line = dn_span_cut (&text, "\n")).text; n++) {
        line = dn_span_trim (line);
        if (line.len == 0 || line.text[0] == '#')
            continue;
        if (take_line (line, expressions, err) < 0)
            return dn_err_wrap (err, dn_say_at_file_line, file, n);
    }
    return 0;
}

/* --- an answer of a web server ---------------------------------------------------- */

/* The server may be hostile, slow or broken. So an answer has a maximum size and a
 * deadline, and a redirect is an error. Certificates are always verified. There is one
 * try: the caller comes again at the next collection.
 */
#ifdef DN_FETCH

#define CONNECT_S  3L
#define URL_MAX    16384
#define SHOWN_MAX  100
#define REASON_MAX 90

struct answer {
    char *text;
    size_t len;
    size_t max;
    bool too_large;
};

/* The server and the path without its query. */
struct shown {
    char text[SHOWN_MAX + 4];
};

static struct shown show (const char *url, const char *path)
{
    struct shown shown = {""};
    struct dn_buf buf = dn_buf_on (shown.text, sizeof (shown.text));

    dn_buf_add (&buf,
                "%.60s%.*s",
                url,
                (int) (strcspn (path, "?") < 40 ? strcspn (path, "?") : 40),
                path);
    for (char *c = shown.text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return shown;
}

static size_t take_body (char *data, size_t size, size_t n, void *to)
{
    struct answer *answer = to;
    size_t len = size * n;

    answer->too_large = len > answer->max - answer->len;
    if (answer->too_large)
        return 0;
    memcpy (answer->text + answer->len, data, len);
    answer->len += len;
    answer->text[answer->len] = '\0';
    return len;
}

/* No option fails but for lack of memory, which curl_easy_perform () finds, too. */
static void set_options (CURL *curl, int limit_s, struct answer *answer, char *reason)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt (curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt (curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
    curl_easy_setopt (curl, CURLOPT_TIMEOUT, (long) limit_s);
    curl_easy_setopt (curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt (curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt (curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt (curl, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt (curl, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt (curl, CURLOPT_USERAGENT, "dnnest/" PACKAGE_VERSION);
    curl_easy_setopt (curl, CURLOPT_PROXY, ""); /* not one of the environment */
    curl_easy_setopt (curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt (curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt (curl, CURLOPT_WRITEDATA, answer);
}

static int set_url (CURL *curl, const char *url, const char *path, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *whole = malloc (URL_MAX);
    size_t len = strlen (url);
    struct dn_buf buf;

    while (len > 0 && url[len - 1] == '/')
        len--;
    if (whole) {
        buf = dn_buf_on (whole, URL_MAX);
        dn_buf_add (&buf, "%.*s%s", (int) len, url, path);
        if (buf.cut)
            return dn_err_set (
                err, DN_E_RANGE, dn_say_err_url_long, show (url, path).text);
        if (curl_easy_setopt (curl, CURLOPT_URL, whole) == CURLE_OK)
            return 0;
    }
    return dn_refuse (err, no_memory_for, "libcurl");
}

/* Did the server send all that it wanted to? */
static int perform (CURL *curl,
                    const struct answer *answer,
                    const char *reason,
                    struct shown shown,
                    struct dn_err *err)
{
    CURLcode result = curl_easy_perform (curl);
    long status = 0;

    curl_easy_getinfo (curl, CURLINFO_RESPONSE_CODE, &status);
    if (answer->too_large)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_answer_large, shown.text, answer->max);
    if (result != CURLE_OK)
        return dn_err_set (err,
                           DN_E_IO,
                           "%s: %.*s",
                           shown.text,
                           REASON_MAX,
                           reason[0] ? reason : curl_easy_strerror (result));
    if (status != 200)
        return dn_err_set (err,
                           DN_E_IO,
                           dn_say_err_http_status,
                           shown.text,
                           status,
                           status >= 300 && status < 400 ? dn_say_http_redirect : "");
    return 0;
}

int dn_http_get (const char *url,
                 const char *path,
                 size_t max,
                 int limit_s,
                 char **text,
                 size_t *len,
                 struct dn_err *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    struct answer answer = {.max = max};
    CURL *curl;
    int rc = -1;

    *text = NULL;
    *len = 0;
    if (curl_global_init (CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return dn_err_set (err, DN_E_BUG, dn_say_err_libcurl);
    curl = curl_easy_init ();
    answer.text = calloc (1, max + 1);
    if (!curl || !answer.text) {
        dn_refuse (err, no_memory_for, "libcurl");
    } else {
        set_options (curl, limit_s, &answer, reason);
        if (set_url (curl, url, path, err) == 0)
            rc = perform (curl, &answer, reason, show (url, path), err);
    }
    curl_easy_cleanup (curl);
    if (rc < 0) {
        free (answer.text);
        return -1;
    }
    *text = answer.text;
    *len = answer.len;
    return 0;
}

#else

int dn_http_get (const char *url,
                 const char *path,
                 size_t max,
                 int limit_s,
                 char **text,
                 size_t *len,
                 struct dn_err *err)
{
    (void) path;
    (void) max;
    (void) limit_s;
    *text = NULL;
    *len = 0;
    return dn_err_set (err, DN_E_IO, dn_say_err_no_libcurl, url);
}

#endif

/* Append 'text' with everything but letters, digits and "-._~" as %XX. */
static void http_encode (struct dn_buf *buf, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
            || strchr ("-._~", c))
            dn_buf_add (buf, "%c", c);
        else
            dn_buf_add (buf, "%%%02X", c);
    }
}

/* --- a question ------------------------------------------------------------------- */

/* Texts of users come into a string of PromQL: without what would end it. */
static void add_plain (struct dn_buf *buf, const char *text)
{
    for (; *text; text++)
        if (*text >= ' ' && *text <= '~' && !strchr ("\"'`\\{}", *text))
            dn_buf_add (buf, "%c", *text);
}

static void add_expression (struct dn_buf *buf,
                            const char *text,
                            const struct dn_finished *job)
{
    for (; *text; text++) {
        if (*text != '%' || text[1] == '\0') {
            dn_buf_add (buf, "%c", *text);
            continue;
        }
        switch (*++text) {
        case 'j':
            dn_buf_add (buf, "%" PRId64, job->raw_id);
            break;
        case 'J':
            add_plain (buf, job->job);
            break;
        case 's':
            dn_buf_add (buf, "%" PRId64, job->end_s - job->start_s);
            break;
        case 'h':
            add_plain (buf, job->host);
            break;
        case 'c':
            add_plain (buf, job->cluster);
            break;
        case '%':
            dn_buf_add (buf, "%%");
            break;
        default:
            dn_buf_add (buf, "%%%c", *text);
        }
    }
}

bool dn_prometheus_query (const struct dn_expressions *expressions,
                          const struct dn_finished *job,
                          struct dn_buf *buf)
{
    char space[DN_N_MEASURED * (DN_EXPRESSION_MAX + 256)];
    struct dn_buf query = dn_buf_on (space, sizeof (space));

    if (job->start_s <= 0 || job->end_s <= job->start_s)
        return false;
    for (int i = 0; i < DN_N_MEASURED; i++) {
        if (expressions->text[i][0] == '\0')
            continue;
        dn_buf_add (&query, "%slabel_replace((", query.len > 0 ? " or " : "");
        add_expression (&query, expressions->text[i], job);
        dn_buf_add (&query, "),\"dnnest\",\"%s\",\"\",\"\")", keys[i]);
    }
    dn_buf_add (buf, "/api/v1/query?time=%" PRId64 "&query=", job->end_s);
    http_encode (buf, space);
    return query.len > 0 && !query.cut && !buf->cut;
}

/* --- an answer -------------------------------------------------------------------- */

static const struct {
    size_t offset;
    double scale;
    double max; /* of the member; more is no measurement */
} members[] = {
    [DN_MEASURED_UTILISATION] = {offsetof (struct dn_finished, gpu_utilisation), 1, 1},
    [DN_MEASURED_MEMORY] = {offsetof (struct dn_finished, gpu_mem_gb),
                            1 / DN_GIB,
                            4096},
    [DN_MEASURED_POWER] = {offsetof (struct dn_finished, power_w), 1, 20000},
    [DN_MEASURED_ENERGY] = {offsetof (struct dn_finished, energy_j), 1, 1e14},
    [DN_MEASURED_IDLE] = {0, 1, UINT16_MAX}, /* see take_idle () */
};

/* A GPU that is not watched counts as used, and what the run itself has said stays. */
static void take_idle (struct dn_finished *job, double idle)
{
    int64_t used = job->gpus - (int64_t) idle;

    if (job->gpus > 0 && used >= 0 && used > job->gpus_used
        && dn_finished_ran_s (job) >= IDLE_RUN_S)
        job->gpus_used = used;
}

/* {"metric": {"dnnest": "Power"}, "value": [1790000000, "300.5"]} */
static int take_series (struct json_object *series, struct dn_finished *job)
{
    char name[DN_NAME_MAX] = "";
    struct json_object *pair = dn_json_member (series, "value");
    struct json_object *text;
    double value;
    int i;

    if (dn_json_read_text (
            dn_json_member (series, "metric"), "dnnest", name, sizeof (name), NULL)
            < 0
        || (i = find_measure (dn_span_of (name))) < 0)
        return 0;
    text = json_object_is_type (pair, json_type_array)
                   && json_object_array_length (pair) == 2
               ? json_object_array_get_idx (pair, 1)
               : NULL;
    if (!json_object_is_type (text, json_type_string)
        || dn_real_read (dn_span_of (json_object_get_string (text)),
                         keys[i],
                         0,
                         members[i].max / members[i].scale,
                         &value,
                         NULL)
               < 0)
        return 0;
    if (i == DN_MEASURED_IDLE) {
        take_idle (job, value);
        return 1;
    }
    value *= members[i].scale;
    memcpy ((char *) job + members[i].offset, &value, sizeof (value));
    return 1;
}

int dn_prometheus_read (struct dn_span text,
                        struct dn_finished *job,
                        struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *json =
        dn_json_read (text, DEPTH, VALUES_MAX, err);
    char status[DN_NAME_MAX] = "";
    struct json_object *data;
    struct json_object *result;
    int n = 0;

    if (!json || dn_json_need_text (json, "status", status, sizeof (status), err) < 0
        || !(data = dn_json_need_object (json, "data", err))
        || !(result = dn_json_need_array (data, "result", 0, SERIES_MAX, err)))
        return dn_err_wrap (err, "Prometheus");
    if (strcmp (status, "success") != 0)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_prometheus_status, status);
    for (size_t i = 0; i < json_object_array_length (result); i++)
        n += take_series (json_object_array_get_idx (result, i), job);
    return n > 0;
}

/* --- a pass ----------------------------------------------------------------------- */

/* A job that outlives the reading of the store. */
struct kept {
    struct dn_finished job;
    char *texts; /* owned */
};

struct list {
    struct kept kept[DN_PROMETHEUS_JOBS];
    int n;
};

static const char **text_in (struct dn_finished *job, int column)
{
    return (const char **) ((char *) job + dn_finished_columns[column].offset);
}

/* 1 when the list is full, -1 without memory. */
static int keep (void *to, const struct dn_finished *job)
{
    struct list *list = to;
    struct kept *kept = &list->kept[list->n];
    size_t len = 1;
    char *at;

    kept->job = *job;
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        if (dn_finished_columns[i].type == DN_FINISHED_TEXT)
            len += strlen (*text_in (&kept->job, i)) + 1;
    at = kept->texts = malloc (len);
    if (!at)
        return -1;
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        const char **text = text_in (&kept->job, i);

        if (dn_finished_columns[i].type != DN_FINISHED_TEXT)
            continue;
        len = strlen (*text) + 1;
        memcpy (at, *text, len);
        *text = at;
        at += len;
    }
    return ++list->n == DN_PROMETHEUS_JOBS;
}

static void free_list (struct list **list)
{
    for (int i = 0; *list && i < (*list)->n; i++)
        free ((*list)->kept[i].texts);
    free (*list);
}

static int load_expressions (const char *file,
                             struct dn_expressions *expressions,
                             struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (file[0] == '\0') {
        dn_expressions_default (expressions);
        return 0;
    }
    if (dn_view_text (file, DN_VIEW_OURS, DN_FILE_MAX, &text, &len, err) < 0)
        return -1;
    if (!text)
        return dn_err_set (err, DN_E_IO, dn_say_err_no_file, file);
    return dn_expressions_read ((struct dn_span){text, len}, file, expressions, err);
}

static int ask (const char *url,
                const struct dn_expressions *expressions,
                struct dn_finished *job,
                struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    dn_cleanup (dn_free_ptr) char *path = malloc (PATH_LEN);
    struct dn_buf buf;
    size_t len;

    if (!path)
        return dn_refuse (err, no_memory_for, "Prometheus");
    buf = dn_buf_on (path, PATH_LEN);
    if (!dn_prometheus_query (expressions, job, &buf))
        return 0;
    if (dn_http_get (url, path, ANSWER_MAX, MAX_TIME_S, &text, &len, err) < 0)
        return -1;
    return dn_prometheus_read ((struct dn_span){text, len}, job, err);
}

/* Ask for the jobs of the list; *reached_s is the end of the last one asked for. */
static int ask_all (struct dn_measuring *measuring,
                    struct list *list,
                    const struct dn_expressions *expressions,
                    struct dn_store *store,
                    int64_t *reached_s,
                    struct dn_err *err)
{
    struct timespec begun;
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < list->n; i++) {
        struct dn_finished *job = &list->kept[i].job;
        int rc = ask (measuring->url, expressions, job, err);

        if (rc < 0)
            return dn_err_wrap (err, dn_say_of_job, job->job);
        if (rc > 0 && dn_store_add (store, job, err) < 0)
            return -1;
        measuring->n += rc;
        *reached_s = job->end_s + 1;
        clock_gettime (CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begun.tv_sec > PASS_S && i + 1 < list->n)
            return 1;
    }
    return 0;
}

/* From where to ask on: where the last pass ended, or the collector began. */
static int64_t begin_at (const struct dn_measuring *measuring, int64_t mark_s)
{
    int64_t first_s = measuring->now_s - DN_PROMETHEUS_AGE_S;
    int64_t from_s = measuring->since_s;

    if (mark_s > 0 && mark_s < from_s)
        from_s = mark_s;
    return from_s > first_s ? from_s : first_s;
}

int dn_prometheus_measure (struct dn_measuring *measuring,
                           struct dn_store *store,
                           struct dn_err *err)
{
    dn_cleanup (free_list) struct list *list = calloc (1, sizeof (*list));
    struct dn_store_filter filter = dn_store_all ();
    struct dn_expressions expressions;
    int64_t reached_s;
    int64_t mark_s;
    int asked;
    int rc;

    measuring->n = 0;
    if (!list)
        return dn_refuse (err, no_memory_for, "Prometheus");
    if (load_expressions (measuring->queries, &expressions, err) < 0
        || dn_store_until (store, MARK, &mark_s, err) < 0)
        return -1;
    filter.unmeasured = true;
    filter.since_s = reached_s = begin_at (measuring, mark_s);
    filter.until_s = measuring->now_s - LATE_S;
    if (filter.since_s >= filter.until_s)
        return 0;
    rc = dn_store_read (store, &filter, keep, list, err);
    if (rc < 0)
        return -1;
    asked = ask_all (measuring, list, &expressions, store, &reached_s, err);
    if (asked == 0 && rc == 0)
        reached_s = filter.until_s;
    /* What was measured before an error is kept. */
    if (dn_store_set_until (store, MARK, reached_s, asked < 0 ? NULL : err) < 0
        || dn_store_commit (store, asked < 0 ? NULL : err) < 0)
        return -1;
    return asked < 0 ? -1 : 0;
}
