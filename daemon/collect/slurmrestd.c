/* slurmrestd.c - the jobs that have ended, from slurmrestd
 *
 * There are no pages: a question has a period, and one whose answer is too large is
 * halved. Finished states together with both times select the jobs that ended in the
 * period; with one of these missing slurmdbd gives those that overlap it, or none. An
 * answer is read job by job, so that json-c has one job at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/slurmrestd.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "base/json_read.h"
#include "base/messages.h"
#include "collect/http.h"

/* Of an answer, and of one job of it with its steps. */
#define ANSWER_MAX (48 << 20)
#define VALUES_MAX 400000
#define DEPTH      24

#define OPENAPI_MAX (32 << 20)
#define MAX_TIME_S  20
#define TRIES       3

/* From this version on several states are several keys. */
#define STATES_APART 40

#define TEXT_MAX 1024

struct restd {
    struct dn_http http;
    int version; /* 0: not asked yet */
    char *url;
    char token_file[DN_NAME_MAX * 8];
    char token[DN_HTTP_TOKEN_MAX];
};

static const char *const states[] = {"COMPLETED",
                                     "CANCELLED",
                                     "FAILED",
                                     "TIMEOUT",
                                     "NODE_FAIL",
                                     "PREEMPTED",
                                     "BOOT_FAIL",
                                     "DEADLINE",
                                     "OUT_OF_MEMORY",
                                     "REQUEUED"};

/* A job with its texts. */
struct made {
    struct dn_finished job;
    char id[160];
    char host[DN_NAME_MAX * 4];
    char gpu[DN_NAME_MAX];
    const char *comment;
};

/* --- values of JSON ----------------------------------------------------------------
 */

static struct json_object *member (struct json_object *json, const char *key)
{
    return json ? dn_json_member (json, key) : NULL;
}

static const char *text_at (struct json_object *json, const char *key)
{
    struct json_object *value = member (json, key);

    return value && json_object_is_type (value, json_type_string)
               ? json_object_get_string (value)
               : "";
}

/* A number, or {"set": true, "infinite": false, "number": 60}; later versions have the
 * second form.
 */
static int64_t count_of (struct json_object *value)
{
    double number;

    if (json_object_is_type (value, json_type_object)) {
        struct json_object *set = member (value, "set");
        struct json_object *infinite = member (value, "infinite");

        if (infinite && json_object_get_boolean (infinite))
            return DN_UNLIMITED;
        if (set && !json_object_get_boolean (set))
            return DN_UNSET;
        value = member (value, "number");
    }
    if (!value || !dn_json_number (value, &number) || number < 0 || number > 9e15)
        return DN_UNSET;
    return (int64_t) number;
}

static int64_t count_at (struct json_object *json, const char *key)
{
    struct json_object *value = member (json, key);

    return value ? count_of (value) : DN_UNSET;
}

static int64_t finite_at (struct json_object *json, const char *key)
{
    int64_t count = count_at (json, key);

    return count >= 0 ? count : DN_UNSET;
}

/* --- a job -------------------------------------------------------------------------
 */

/* NO_VAL and INFINITE, where a version passes them on. */
#define NO_VALUE 4294967294LL
#define ENDLESS  4294967295LL

static void take_times (struct json_object *json, struct dn_finished *job)
{
    struct json_object *times = member (json, "time");
    int64_t minutes = count_at (times, "limit");

    job->submit_s = finite_at (times, "submission");
    job->eligible_s = finite_at (times, "eligible");
    job->end_s = finite_at (times, "end");
    job->start_s = finite_at (times, "start");
    job->suspended_s = finite_at (times, "suspended");
    dn_finished_settle_times (job);
    if (minutes == DN_UNLIMITED || minutes == ENDLESS)
        job->limit_s = DN_UNLIMITED;
    else
        job->limit_s = minutes < 0 || minutes == NO_VALUE || minutes > INT32_MAX
                           ? DN_UNSET
                           : 60 * minutes;
}

/* "COMPLETED", or ["COMPLETED"], or with flags behind it: a base state counts, but
 * REQUEUED is what slurmdbd has of a run that was requeued.
 */
static const char *state_in (struct json_object *json)
{
    struct json_object *state = member (member (json, "state"), "current");

    if (state && json_object_is_type (state, json_type_array))
        state = json_object_array_length (state) > 0
                    ? json_object_array_get_idx (state, 0)
                    : NULL;
    if (!state || !json_object_is_type (state, json_type_string))
        return "";
    for (size_t i = 0; i < DN_N_ELEMENTS (states); i++)
        if (strcmp (json_object_get_string (state), states[i]) == 0)
            return states[i];
    return "";
}

/* The exit status, or 128 and the signal. That of Slurm 22.05 is 0 for every job: of
 * one that failed it is unknown.
 */
static int64_t exit_in (struct json_object *json, const char *state)
{
    struct json_object *code = member (json, "exit_code");
    struct json_object *signal = member (code, "signal");
    int64_t number = finite_at (signal, "signal_id");

    if (number < 0)
        number = finite_at (signal, "id");
    if (number > 0 && number < 128)
        return 128 + number;
    number = finite_at (code, "return_code");
    return number == 0 && strcmp (state, "FAILED") == 0 ? DN_UNSET : number;
}

/* "12", "12_3", "12_[3-5]", "12+1" */
static void write_id (struct json_object *json, struct made *made)
{
    struct dn_buf buf = dn_buf_on (made->id, sizeof (made->id));
    struct json_object *array = member (json, "array");
    struct json_object *het = member (json, "het");
    int64_t array_id = finite_at (array, "job_id");
    int64_t task = finite_at (array, "task_id");
    int64_t het_id = finite_at (het, "job_id");
    int64_t offset = finite_at (het, "job_offset");

    if (array_id > 0 && text_at (array, "task")[0] != '\0')
        dn_buf_add (&buf, "%" PRId64 "_[%.40s]", array_id, text_at (array, "task"));
    else if (array_id > 0 && task >= 0 && task != NO_VALUE)
        dn_buf_add (&buf, "%" PRId64 "_%" PRId64, array_id, task);
    else if (het_id > 0 && offset >= 0 && offset != NO_VALUE)
        dn_buf_add (&buf, "%" PRId64 "+%" PRId64, het_id, offset);
    else
        dn_buf_add (&buf, "%" PRId64, made->job.raw_id);
    made->job.job = made->id;
}

static void take_tres (struct json_object *tres, struct made *made, int64_t *typed)
{
    const char *type = text_at (tres, "type");
    const char *name = text_at (tres, "name");
    int64_t count = finite_at (tres, "count");

    if (count < 0)
        return;
    if (strcmp (type, "cpu") == 0)
        made->job.cpus = count;
    if (strcmp (type, "mem") == 0)
        made->job.mem_gb = (double) count / 1024;
    if (strcmp (type, "gres") != 0 || strncmp (name, "gpu", 3) != 0
        || (name[3] != '\0' && name[3] != ':'))
        return;
    if (name[3] == '\0') {
        made->job.gpus = count;
        return;
    }
    /* Of a job with several types, that of which it has most. */
    if (count > *typed) {
        *typed = count;
        snprintf (made->gpu, sizeof (made->gpu), "%s", name + 4);
    }
}

static void take_allocated (struct json_object *json, struct made *made)
{
    struct json_object *list = member (member (json, "tres"), "allocated");
    size_t n = list && json_object_is_type (list, json_type_array)
                   ? json_object_array_length (list)
                   : 0;
    int64_t typed = 0;

    for (size_t i = 0; i < n; i++)
        take_tres (json_object_array_get_idx (list, i), made, &typed);
    if (made->job.gpus < typed)
        made->job.gpus = typed;
    if (made->job.gpus == DN_UNSET && n > 0)
        made->job.gpus = 0;
    made->job.gpu = made->gpu;
}

/* Memory of all processes of a step [GiB]; NaN: unknown. */
static double step_gb (struct json_object *step)
{
    struct json_object *list =
        member (member (member (step, "tres"), "requested"), "total");
    size_t n = list && json_object_is_type (list, json_type_array)
                   ? json_object_array_length (list)
                   : 0;

    for (size_t i = 0; i < n; i++) {
        struct json_object *tres = json_object_array_get_idx (list, i);
        int64_t count = finite_at (tres, "count");

        if (count >= 0 && strcmp (text_at (tres, "type"), "mem") == 0)
            return (double) count / DN_GIB;
    }
    return NAN;
}

static void take_steps (struct json_object *json, struct dn_finished *job)
{
    struct json_object *list = member (json, "steps");
    size_t n = list && json_object_is_type (list, json_type_array)
                   ? json_object_array_length (list)
                   : 0;
    double cpu_s = 0;
    double mem_gb = 0;

    for (size_t i = 0; i < n; i++) {
        struct json_object *step = json_object_array_get_idx (list, i);
        struct json_object *total = member (member (step, "time"), "total");
        int64_t nodes = finite_at (member (step, "nodes"), "count");
        int64_t seconds = finite_at (total, "seconds");
        int64_t micro = finite_at (total, "microseconds");
        double gb = step_gb (step) / (double) (nodes > 0 ? nodes : 1);

        cpu_s += (double) (seconds > 0 ? seconds : 0);
        cpu_s += 1e-6 * (double) (micro > 0 ? micro : 0);
        mem_gb = gb > mem_gb ? gb : mem_gb;
    }
    job->cpu_s = cpu_s > 0 ? cpu_s : NAN;
    job->host_mem_gb = mem_gb > 0 ? mem_gb : NAN;
}

/* slurmdbd keeps the name; the number is that of this host. */
static int64_t uid_of (const char *name)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char space[8192];

    if (name[0] == '\0' || getpwnam_r (name, &entry, space, sizeof (space), &found) != 0
        || !found)
        return DN_UNSET;
    return (int64_t) found->pw_uid;
}

static void make_job (struct json_object *json, struct made *made)
{
    struct dn_finished *job = &made->job;
    struct dn_buf host = dn_buf_on (made->host, sizeof (made->host));

    dn_finished_clear (job);
    made->gpu[0] = '\0';
    job->cluster = text_at (json, "cluster");
    job->raw_id = finite_at (json, "job_id");
    write_id (json, made);
    job->user_name = text_at (json, "user");
    job->user = uid_of (job->user_name);
    job->account = text_at (json, "account");
    job->partition = text_at (json, "partition");
    job->qos = text_at (json, "qos");
    job->name = text_at (json, "name");
    take_times (json, job);
    job->state = state_in (json);
    job->exit_code = exit_in (json, job->state);
    job->restarts = finite_at (json, "restart_cnt");
    job->nodes = finite_at (json, "allocation_nodes");
    dn_first_host (text_at (json, "nodes"), &host);
    job->host = made->host;
    take_allocated (json, made);
    take_steps (json, job);
    made->comment = text_at (member (json, "comment"), "administrator");
    if (made->comment[0] == '\0')
        made->comment = NULL;
}

/* --- an answer ---------------------------------------------------------------------
 */

/* The end of the value that begins at 'at' with a brace or bracket; 0: it has none. */
static size_t skip_value (struct dn_span text, size_t at)
{
    bool quoted = false;
    int depth = 0;

    for (; at < text.len; at++) {
        char c = text.text[at];

        if (quoted && c == '\\')
            at++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            depth++;
        else if (!quoted && (c == '}' || c == ']') && --depth == 0)
            return at + 1;
    }
    return 0;
}

static size_t skip_blanks (struct dn_span text, size_t at)
{
    while (at < text.len && strchr (" \t\r\n", text.text[at]))
        at++;
    return at;
}

/* Where the array "jobs" of the outermost object begins; 0: there is none. */
static size_t find_jobs (struct dn_span text)
{
    size_t at = skip_blanks (text, 0);

    if (at >= text.len || text.text[at] != '{')
        return 0;
    at = skip_blanks (text, at + 1);
    while (at < text.len && text.text[at] == '"') {
        size_t key = ++at;
        bool jobs;

        while (at < text.len && text.text[at] != '"')
            at += text.text[at] == '\\' ? 2 : 1;
        jobs =
            at < text.len && at - key == 4 && memcmp (text.text + key, "jobs", 4) == 0;
        at = skip_blanks (text, at + 1);
        if (at >= text.len || text.text[at] != ':')
            return 0;
        at = skip_blanks (text, at + 1);
        if (at >= text.len || (text.text[at] != '[' && text.text[at] != '{'))
            return 0;
        if (jobs)
            return text.text[at] == '[' ? at + 1 : 0;
        at = skip_value (text, at);
        if (at == 0)
            return 0;
        at = skip_blanks (text, at);
        if (at < text.len && text.text[at] == ',')
            at = skip_blanks (text, at + 1);
    }
    return 0;
}

static bool is_wanted (const struct dn_finished *job,
                       const char *cluster,
                       struct dn_period period)
{
    return job->raw_id > 0 && job->end_s >= period.since_s
           && job->end_s < period.until_s
           && (cluster[0] == '\0' || strcmp (job->cluster, cluster) == 0);
}

static int hand_on (struct dn_span text,
                    const char *cluster,
                    struct dn_period period,
                    dn_ended_f take,
                    void *to,
                    struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *json =
        dn_json_read (text, DEPTH, VALUES_MAX, err);
    struct made made;

    if (!json)
        return dn_err_wrap (err, dn_say_restd_job);
    make_job (json, &made);
    if (!is_wanted (&made.job, cluster, period) || made.job.submit_s < 0)
        return 0;
    return take (to, &made.job, made.comment);
}

int dn_slurmrestd_read (struct dn_span text,
                        const char *cluster,
                        struct dn_period period,
                        dn_ended_f take,
                        void *to,
                        struct dn_err *err)
{
    size_t at = find_jobs (text);
    size_t end = skip_value (text, skip_blanks (text, 0));

    if (at == 0 || end == 0 || skip_blanks (text, end) != text.len)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_restd_jobs);
    for (;;) {
        int rc;

        at = skip_blanks (text, at);
        if (at < text.len && text.text[at] == ']')
            return 0;
        end = at < text.len && text.text[at] == '{' ? skip_value (text, at) : 0;
        if (end == 0)
            return dn_err_set (err, DN_E_SYNTAX, dn_say_err_restd_array);
        rc = hand_on (
            (struct dn_span){text.text + at, end - at}, cluster, period, take, to, err);
        if (rc != 0)
            return rc;
        at = skip_blanks (text, end);
        if (at < text.len && text.text[at] == ',')
            at++;
    }
}

/* --- questions ---------------------------------------------------------------------
 */

int dn_slurmrestd_version (char *openapi)
{
    static const char head[] = "/slurmdb/v0.0.";
    char *to = openapi;
    int best = 0;

    for (const char *from = openapi; *from; from++)
        if (*from != '\\')
            *to++ = *from;
    *to = '\0';
    for (const char *at = openapi; (at = strstr (at, head));) {
        char *end;
        long version;

        at += sizeof (head) - 1;
        version = strtol (at, &end, 10);
        if (version >= DN_RESTD_FIRST && version <= DN_RESTD_LAST && version > best
            && (strncmp (end, "/jobs\"", 6) == 0 || strncmp (end, "/jobs/\"", 7) == 0))
            best = (int) version;
    }
    return best;
}

bool dn_slurmrestd_query (int version, struct dn_period period, struct dn_buf *buf)
{
    dn_buf_add (buf,
                "/slurmdb/v0.0.%d/jobs%s?start_time=uts%" PRId64
                "&end_time=uts%" PRId64,
                version,
                version >= STATES_APART ? "/" : "",
                period.since_s,
                period.until_s - 1);
    for (size_t i = 0; i < DN_N_ELEMENTS (states); i++)
        dn_buf_add (buf,
                    "%s%s",
                    version >= STATES_APART ? "&state="
                    : i == 0                ? "&state="
                                            : "%2C",
                    states[i]);
    return !buf->cut;
}

/* Slurm's daemons may be restarted with another version at any time. */
static int ask_version (struct restd *restd, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_http http = restd->http;
    size_t len;

    http.max = OPENAPI_MAX;
    if (dn_http_get (&http, "/openapi/v3", &text, &len, err) < 0) {
        err->code = err->code == DN_E_LIMIT ? DN_E_RANGE : err->code;
        return -1;
    }
    restd->version = dn_slurmrestd_version (text);
    if (restd->version == 0)
        return dn_err_set (err,
                           DN_E_VERSION,
                           dn_say_err_restd_version,
                           restd->url,
                           DN_RESTD_FIRST,
                           DN_RESTD_LAST);
    return 0;
}

static int read_once (struct restd *restd,
                      const char *cluster,
                      struct dn_period period,
                      dn_ended_f take,
                      void *to,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    char path[TEXT_MAX];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));
    size_t len;

    if (!dn_slurmrestd_query (restd->version, period, &buf))
        return dn_err_set (err, DN_E_BUG, dn_say_err_restd_query);
    if (dn_http_get (&restd->http, path, &text, &len, err) < 0)
        return -1;
    return dn_slurmrestd_read (
        (struct dn_span){text, len}, cluster, period, take, to, err);
}

static int read_period (void *self,
                        const char *cluster,
                        struct dn_period period,
                        dn_ended_f take,
                        void *to,
                        struct dn_err *err)
{
    struct restd *restd = self;
    int rc;

    if (restd->token_file[0] != '\0'
        && dn_http_token (restd->token_file, restd->token, err) < 0)
        return -1;
    if (restd->version == 0 && ask_version (restd, err) < 0)
        return -1;
    rc = read_once (restd, cluster, period, take, to, err);
    if (rc == -1 && err->code != DN_E_LIMIT)
        restd->version = 0;
    return rc;
}

static void close_restd (void *self)
{
    struct restd *restd = self;

    free (restd->url);
    free (restd);
}

int dn_slurmrestd_open (const char *url,
                        const char *token_file,
                        struct dn_source *source,
                        struct dn_err *err)
{
    struct restd *restd = calloc (1, sizeof (*restd));

    if (restd)
        restd->url = strdup (url);
    if (!restd || !restd->url) {
        free (restd);
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "slurmrestd");
    }
    *source = (struct dn_source){
        .name = "slurmrestd", .self = restd, .read = read_period, .close = close_restd};
    restd->http = (struct dn_http){.url = restd->url,
                                   .header = "X-SLURM-USER-TOKEN: ",
                                   .token = restd->token,
                                   .max = ANSWER_MAX,
                                   .max_time_s = MAX_TIME_S,
                                   .tries = TRIES};
    if (dn_span_copy (dn_span_of (token_file),
                      restd->token_file,
                      sizeof (restd->token_file),
                      "token",
                      err)
        == 0)
        return 0;
    close_restd (restd);
    *source = (struct dn_source){.name = NULL};
    return -1;
}
