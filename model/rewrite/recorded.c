/* recorded.c - the decision record, read back from an admin comment and continued
 *
 * Only root and SlurmUser can write an admin comment, but other plugins may have copied
 * a user's text into it: a comment with two records is not believed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rewrite/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/messages.h"

#define BEGINNING "{\"dnnest\":"

/* Nesting, and numbers and texts, of a record: it has some 40. */
#define DEPTH_MAX  4
#define VALUES_MAX 256

/* Seconds in a record: Slurm's limits are below 2^32 minutes. */
#define SECONDS_MAX INT64_C (300000000000)

/* The length of the JSON object at the beginning of 'text'; 0: it does not end. */
static size_t object_length (const char *text)
{
    int depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < DN_RECORD_MAX && text[i] != '\0'; i++) {
        if (quoted && text[i] == '\\' && text[i + 1] != '\0')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && text[i] == '{')
            depth++;
        else if (!quoted && text[i] == '}' && --depth == 0)
            return i + 1;
    }
    return 0;
}

/* The JSON in an admin comment. Return 1, 0 if there is none, or -1 with 'err'. */
static int find_record (const char *comment, struct dn_span *found, struct dn_err *err)
{
    const char *start = comment ? strstr (comment, BEGINNING) : NULL;

    if (!start)
        return 0;
    if (strstr (start + 1, BEGINNING))
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_record_twice);
    *found = (struct dn_span){start, object_length (start)};
    if (found->len == 0)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_record_endless, DN_RECORD_MAX);
    return 1;
}

static struct json_object *parse_record (struct dn_span text, struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *record =
        dn_json_read (text, DEPTH_MAX, VALUES_MAX, err);
    struct json_object *done = record;
    int64_t version = 0;

    if (!record
        || dn_json_need_int (record, "dnnest", 0, INT32_MAX, &version, err) < 0) {
        dn_err_wrap (err, "record");
        return NULL;
    }
    if (version != 1) {
        dn_err_set (err, DN_E_VERSION, dn_say_err_record_version, (int) version);
        return NULL;
    }
    record = NULL;
    return done;
}

static int read_seconds (const struct json_object *part,
                         const char *key,
                         int64_t *out,
                         struct dn_err *err)
{
    return dn_json_read_int (part, key, 0, SECONDS_MAX, out, err);
}

static int read_request (const struct json_object *req,
                         struct dn_recorded *recorded,
                         struct dn_err *err)
{
    int64_t unlimited = 0;

    if (read_seconds (req, "time_s", &recorded->asked_s, err) < 0
        || dn_json_read_int (req, "unlimited", 0, 1, &unlimited, err) < 0
        || read_seconds (req, "signal_s", &recorded->signal_s, err) < 0)
        return -1;
    if (unlimited)
        recorded->asked_s = DN_UNLIMITED;
    if (dn_json_read_int (req, "by_gres", 0, 1, &recorded->by_gres, err) < 0
        || dn_json_read_text (req,
                              "partition",
                              recorded->asked_partition,
                              sizeof (recorded->asked_partition),
                              err)
               < 0
        || dn_json_read_text (req,
                              "features",
                              recorded->asked_features,
                              sizeof (recorded->asked_features),
                              err)
               < 0)
        return -1;
    return dn_json_read_text (
        req, "gpu", recorded->asked_gpu, sizeof (recorded->asked_gpu), err);
}

static int read_later (const struct json_object *record,
                       struct dn_recorded *recorded,
                       struct dn_err *err)
{
    double seconds[DN_EXTENSIONS_MAX];
    int n = 0;

    if (dn_json_read_reals (
            record, "later", 60, 3e11, 1, DN_EXTENSIONS_MAX, seconds, &n, err)
        < 0)
        return -1;
    for (int i = 0; i < n; i++)
        recorded->later_s[i] = (int64_t) seconds[i];
    recorded->n_later = n;
    return 0;
}

static int read_members (const struct json_object *record,
                         struct dn_recorded *recorded,
                         struct dn_err *err)
{
    struct json_object *req = NULL;
    struct json_object *set = NULL;
    struct json_object *pred = NULL;
    char mode[DN_NAME_MAX] = "";
    char verdict[DN_NAME_MAX] = "";

    if (dn_json_read_text (record, "mode", mode, sizeof (mode), err) < 0
        || dn_json_read_text (record, "verdict", verdict, sizeof (verdict), err) < 0
        || dn_json_read_object (record, "req", &req, err) < 0
        || dn_json_read_object (record, "set", &set, err) < 0
        || dn_json_read_object (record, "pred", &pred, err) < 0
        || (req && read_request (req, recorded, err) < 0)
        || read_seconds (set, "time_s", &recorded->set_s, err) < 0
        || read_seconds (set, "time_min_s", &recorded->soft_s, err) < 0
        || dn_json_read_text (
               set, "gpu", recorded->set_gpu, sizeof (recorded->set_gpu), err)
               < 0
        || read_seconds (pred, "train_s", &recorded->likely_s, err) < 0
        || read_seconds (pred, "p95_s", &recorded->p95_s, err) < 0
        || read_seconds (pred, "p99_s", &recorded->p99_s, err) < 0
        || read_later (record, recorded, err) < 0
        || dn_json_read_int (record, "rescued", 0, 1, &recorded->rescued, err) < 0)
        return dn_err_wrap (err, "record");
    recorded->changed =
        strcmp (mode, "enforce") == 0 && strcmp (verdict, "change") == 0;
    return 0;
}

int dn_record_read (const char *admin_comment,
                    struct dn_recorded *recorded,
                    struct dn_err *err)
{
    struct dn_span text;
    int found = find_record (admin_comment, &text, err);
    dn_cleanup (dn_json_free) struct json_object *record = NULL;

    *recorded = (struct dn_recorded){.asked_s = DN_UNSET,
                                     .set_s = DN_UNSET,
                                     .soft_s = DN_UNSET,
                                     .signal_s = DN_UNSET,
                                     .likely_s = DN_UNSET,
                                     .p95_s = DN_UNSET,
                                     .p99_s = DN_UNSET};
    if (found <= 0)
        return found;
    record = parse_record (text, err);
    if (!record || read_members (record, recorded, err) < 0)
        return -1;
    return 1;
}

int dn_record_json (const char *admin_comment,
                    struct json_object **record,
                    struct dn_err *err)
{
    struct dn_span text;
    int found = find_record (admin_comment, &text, err);

    *record = found > 0 ? parse_record (text, err) : NULL;
    return found > 0 && !*record ? -1 : found;
}

/* A value of a reason; texts are borrowed from the record. */
static struct dn_arg arg_of (struct json_object *value)
{
    if (json_object_is_type (value, json_type_int))
        return dn_arg_count (json_object_get_int64 (value));
    return dn_arg_text (json_object_get_string (value));
}

/* ["in/code", values...] */
static void write_reason (struct json_object *why, struct dn_buf *buf)
{
    struct json_object *first = json_object_array_get_idx (why, 0);
    struct dn_span code = dn_span_of (first ? json_object_get_string (first) : NULL);
    struct dn_span in = code.text ? dn_span_cut (&code, "/") : code;
    struct dn_reason reason = DN_NO_REASON;

    if (!in.text)
        return;
    reason.code = dn_reason_find (code.text ? code : in);
    if (code.text)
        reason.in = dn_reason_find (in);
    for (size_t i = 0; i < DN_ARGS_MAX && i + 1 < json_object_array_length (why); i++)
        reason.args[i] = arg_of (json_object_array_get_idx (why, i + 1));
    if (reason.code != DN_REASON_NONE)
        dn_reason_add (buf, &reason);
    else
        dn_buf_text (buf, json_object_get_string (first));
}

void dn_record_why (const struct json_object *record, char text[DN_REASON_MAX])
{
    struct json_object *why = dn_json_member (record, "why");
    struct dn_buf buf = dn_buf_on (text, DN_REASON_MAX);

    if (json_object_is_type (why, json_type_array))
        write_reason (why, &buf);
    else if (json_object_is_type (why, json_type_string))
        dn_json_read_text (record, "why", text, DN_REASON_MAX, NULL);
}

/* Replace "later" by its last values and 'limit_s'. */
static int add_later (struct json_object *record,
                      const struct dn_recorded *recorded,
                      int64_t limit_s)
{
    struct json_object *list = json_object_new_array ();
    int skip = recorded->n_later == DN_EXTENSIONS_MAX ? 1 : 0;

    if (!list)
        return -1;
    for (int i = skip; i <= recorded->n_later; i++) {
        struct json_object *value = json_object_new_int64 (
            i < recorded->n_later ? recorded->later_s[i] : limit_s);

        if (!value || json_object_array_add (list, value) < 0) {
            json_object_put (value);
            json_object_put (list);
            return -1;
        }
    }
    return dn_json_put (record, "later", list);
}

/* The comment with the bytes 'old' replaced by 'line'. */
static char *replace_record (const char *comment, struct dn_span old, const char *line)
{
    size_t before = (size_t) (old.text - comment);
    const char *after = old.text + old.len;
    size_t size = before + strlen (line) + strlen (after) + 1;
    char *text = malloc (size);
    struct dn_buf buf;

    if (!text)
        return NULL;
    memcpy (text, comment, before);
    buf = dn_buf_on (text + before, size - before);
    dn_buf_add (&buf, "%s", line);
    dn_buf_add (&buf, "%s", after);
    return text;
}

/* sacct -P separates columns by '|' and does not escape it. In JSON it occurs only in
 * strings, which can escape it. False if the text becomes too long.
 */
static bool write_without_bars (const char *json, char text[DN_RECORD_MAX + 1])
{
    struct dn_buf buf = dn_buf_on (text, DN_RECORD_MAX + 1);
    const char *bar;

    for (; (bar = strchr (json, '|')) && !buf.cut; json = bar + 1)
        dn_buf_add (&buf, "%.*s\\u007c", (int) (bar - json), json);
    dn_buf_add (&buf, "%s", json);
    return !buf.cut;
}

static int write_line (struct json_object *record,
                       char text[DN_RECORD_MAX + 1],
                       struct dn_err *err)
{
    static const char *const optional[] = {"why", "warn", "spec", "pred"};

    for (size_t i = 0; i <= DN_N_ELEMENTS (optional); i++) {
        const char *json = dn_json_line (record);

        text[0] = '\0';
        if (!json)
            return dn_err_set (err, DN_E_NOMEM, dn_say_err_record_memory);
        if (write_without_bars (json, text))
            return 0;
        if (i < DN_N_ELEMENTS (optional))
            json_object_object_del (record, optional[i]);
    }
    text[0] = '\0';
    return dn_err_set (err, DN_E_BUG, dn_say_err_record_long, DN_RECORD_MAX);
}

/* The comment with its record replaced by this one. NULL with 'err'. */
static char *write_back (const char *comment,
                         struct dn_span old,
                         struct json_object *record,
                         struct dn_err *err)
{
    char line[DN_RECORD_MAX + 1];
    char *text;

    if (write_line (record, line, err) < 0)
        return NULL;
    text = replace_record (comment, old, line);
    if (!text)
        dn_err_set (err, DN_E_NOMEM, dn_say_err_record_memory);
    return text;
}

/* The part of that name, which is added if it is absent. */
static struct json_object *part_of (struct json_object *record, const char *key)
{
    struct json_object *part = dn_json_member (record, key);

    return part ? part : dn_json_put_object (record, key);
}

char *dn_record_revise (const char *admin_comment,
                        const struct dn_revision *revision,
                        struct dn_err *err)
{
    struct dn_span old;
    dn_cleanup (dn_json_free) struct json_object *record = NULL;
    struct json_object *set;
    struct json_object *pred;

    if (find_record (admin_comment, &old, err) <= 0
        || !(record = parse_record (old, err)))
        return NULL;
    json_object_object_del (record, "later");
    json_object_object_del (record, "why");
    set = part_of (record, "set");
    pred = part_of (record, "pred");
    if (!set || !pred || dn_json_put_text (record, "verdict", "change") < 0
        || dn_json_put_number (record, "revised", 1) < 0
        || dn_json_put_number (set, "time_s", revision->limit_s) < 0
        || dn_json_put_number (pred, "train_s", revision->likely_s) < 0
        || dn_json_put_number (pred, "p95_s", revision->p95_s) < 0
        || dn_json_put_number (pred, "p99_s", revision->p99_s) < 0
        || dn_json_put_number (pred, "hist", revision->runs) < 0) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_record_memory);
        return NULL;
    }
    return write_back (admin_comment, old, record, err);
}

char *dn_record_note (const char *admin_comment, int64_t limit_s, struct dn_err *err)
{
    struct dn_span old;
    struct dn_recorded recorded;
    dn_cleanup (dn_json_free) struct json_object *record = NULL;

    if (dn_record_read (admin_comment, &recorded, err) < 0)
        return NULL;
    if (find_record (admin_comment, &old, err) <= 0) {
        dn_err_set (err, DN_E_SYNTAX, dn_say_err_record_none);
        return NULL;
    }
    record = parse_record (old, err);
    if (!record)
        return NULL;
    if ((limit_s == DN_UNSET ? dn_json_put_number (record, "rescued", 1)
                             : add_later (record, &recorded, limit_s))
        < 0) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_record_memory);
        return NULL;
    }
    return write_back (admin_comment, old, record, err);
}
