/* recorded.c - the decision record, read back from an admin comment and continued
 *
 * Only root and SlurmUser can write an admin comment, but other plugins may have copied
 * a user's text into it: a comment with two records is not believed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rewrite/recorded.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/messages.h"
#include "base/reason.h"

#define BEGINNING "{\"dnnest\":"

/* Nesting, and numbers and texts, of a record: it has some 40. */
#define DEPTH_MAX  4
#define VALUES_MAX 256

/* Numbers in a record: seconds of 2^32 minutes are the largest. */
#define NUMBER_MAX INT64_C (300000000000)

/* Percent; of a type that takes a thousand times as long. */
#define OPEN_SLOW_MAX 100000

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

/* A byte of a record. sacct -P separates columns by '|' and does not escape it; of what
 * is not printable ASCII, other programs make what they like.
 */
static bool is_plain (char c)
{
    return c >= ' ' && c <= '~' && c != '|';
}

/* Keys have no escapes: a record with another byte could not be written again. */
static bool is_all_plain (struct dn_span text)
{
    size_t n = 0;

    while (n < text.len && is_plain (text.text[n]))
        n++;
    return n == text.len;
}

static struct json_object *parse_record (struct dn_span text, struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *record =
        dn_json_read (text, DEPTH_MAX, VALUES_MAX, err);
    struct json_object *done = record;
    int64_t version = 0;

    if (!record || dn_json_need_int (record, "dnnest", 0, INT32_MAX, &version, err) < 0)
        return DN_NULL (dn_err_wrap (err, "record"));
    if (version != 1)
        return DN_NULL (dn_refuse (err, record_version, (int) version));
    record = NULL;
    return done;
}

/* The record in an admin comment, and where it is. Return 1, 0 if there is none, or -1
 * with 'err'.
 */
static int open_record (const char *comment,
                        struct dn_span *found,
                        struct json_object **record,
                        struct dn_err *err)
{
    const char *start = comment ? strstr (comment, BEGINNING) : NULL;

    *record = NULL;
    if (!start)
        return 0;
    if (strstr (start + 1, BEGINNING))
        return dn_refuse (err, record_twice);
    *found = (struct dn_span){start, object_length (start)};
    if (found->len == 0)
        return dn_refuse (err, record_endless, DN_RECORD_MAX);
    if (!is_all_plain (*found))
        return dn_refuse (err, record_bytes);
    *record = parse_record (*found, err);
    return *record ? 1 : -1;
}

/* --- members ---------------------------------------------------------------------- */

enum part {
    PART_TOP,
    PART_REQ,
    PART_SET,
    PART_PRED,
    PART_STEER,
    N_PARTS
};

static const char *const part_names[N_PARTS] = {
    [PART_REQ] = "req",
    [PART_SET] = "set",
    [PART_PRED] = "pred",
    [PART_STEER] = "steer",
};

enum type {
    TYPE_TEXT,
    TYPE_COUNT,
    TYPE_FLAG,
    TYPE_REAL
};

struct member {
    enum part part;
    const char *key;
    enum type type;
    size_t offset; /* in struct dn_recorded */
    size_t size;
    bool acted_on; /* jobs are changed by it: a value that is not valid is an error */
};

#define AT(name)                                                                       \
    offsetof (struct dn_recorded, name), sizeof (((struct dn_recorded *) NULL)->name)

static const struct member members[] = {
    {PART_TOP, "mode", TYPE_TEXT, AT (mode), true},
    {PART_TOP, "verdict", TYPE_TEXT, AT (verdict), true},
    {PART_TOP, "warn", TYPE_TEXT, AT (warn), false},
    {PART_TOP, "spec", TYPE_TEXT, AT (spec), false},
    {PART_TOP, "app", TYPE_TEXT, AT (app), false},
    {PART_TOP, "kin", TYPE_TEXT, AT (kin), false},
    {PART_TOP, "by", TYPE_TEXT, AT (by_run), false},
    {PART_TOP, "unit", TYPE_TEXT, AT (work_unit), false},
    {PART_TOP, "work", TYPE_REAL, AT (work), false},
    {PART_TOP, "rescued", TYPE_FLAG, AT (rescued), true},
    {PART_TOP, "either", TYPE_FLAG, AT (either), true},
    {PART_STEER, "gpu", TYPE_TEXT, AT (steer_gpu), true},
    {PART_STEER, "time_s", TYPE_COUNT, AT (steer_s), true},
    {PART_STEER, "cap_s", TYPE_COUNT, AT (cap_s), true},
    {PART_STEER, "at_s", TYPE_COUNT, AT (steered_at_s), true},
    {PART_REQ, "time_s", TYPE_COUNT, AT (asked_s), true},
    {PART_REQ, "signal_s", TYPE_COUNT, AT (signal_s), true},
    {PART_REQ, "gpu", TYPE_TEXT, AT (asked_gpu), true},
    {PART_REQ, "partition", TYPE_TEXT, AT (asked_partition), true},
    {PART_REQ, "features", TYPE_TEXT, AT (asked_features), true},
    {PART_REQ, "by_gres", TYPE_FLAG, AT (by_gres), true},
    {PART_REQ, "gpus", TYPE_COUNT, AT (gpus), false},
    {PART_REQ, "tasks", TYPE_COUNT, AT (tasks), false},
    {PART_REQ, "cpus_each_gpu", TYPE_COUNT, AT (asked_cpus_each_gpu), false},
    {PART_REQ, "cpus_per_task", TYPE_COUNT, AT (asked_cpus_per_task), false},
    {PART_REQ, "mem_mb", TYPE_COUNT, AT (asked_mem_mb), false},
    {PART_SET, "time_s", TYPE_COUNT, AT (set_s), true},
    {PART_SET, "time_min_s", TYPE_COUNT, AT (soft_s), true},
    {PART_SET, "cap_s", TYPE_COUNT, AT (set_cap_s), true},
    {PART_SET, "gpu", TYPE_TEXT, AT (set_gpu), true},
    {PART_SET, "features", TYPE_TEXT, AT (set_features), true},
    {PART_SET, "cpus_each_gpu", TYPE_COUNT, AT (set_cpus_each_gpu), false},
    {PART_SET, "cpus_per_task", TYPE_COUNT, AT (set_cpus_per_task), false},
    {PART_SET, "mem_mb", TYPE_COUNT, AT (set_mem_mb), true},
    {PART_SET, "gpus", TYPE_COUNT, AT (set_gpus), false},
    {PART_PRED, "train_s", TYPE_COUNT, AT (likely_s), true},
    {PART_PRED, "p95_s", TYPE_COUNT, AT (p95_s), true},
    {PART_PRED, "p99_s", TYPE_COUNT, AT (p99_s), true},
    {PART_PRED, "base_s", TYPE_REAL, AT (base_s), false},
    {PART_PRED, "bound_s", TYPE_REAL, AT (bound_s), false},
    {PART_PRED, "bound_bp", TYPE_REAL, AT (bound_bp), false},
    {PART_PRED, "gpu", TYPE_TEXT, AT (pred_gpu), false},
    {PART_PRED, "mem_mb", TYPE_REAL, AT (pred_mem_mb), false},
    {PART_PRED, "cpus_per_gpu", TYPE_REAL, AT (pred_cpus), false},
    {PART_PRED, "conf", TYPE_REAL, AT (confidence), false},
    {PART_PRED, "bundle", TYPE_TEXT, AT (bundle), false},
    {PART_PRED, "hist", TYPE_COUNT, AT (history_runs), false},
    {PART_PRED, "wait_s", TYPE_COUNT, AT (wait_s), false},
};

static void clear (struct dn_recorded *recorded)
{
    *recorded = (struct dn_recorded){.n_later = 0};
    for (size_t i = 0; i < DN_N_ELEMENTS (members); i++) {
        void *to = (char *) recorded + members[i].offset;

        if (members[i].type == TYPE_COUNT)
            *(int64_t *) to = DN_UNSET;
        else if (members[i].type == TYPE_REAL)
            *(double *) to = NAN;
    }
}

/* A value that is not valid leaves the member as it was. */
static int read_member (const struct json_object *part,
                        const struct member *member,
                        void *to,
                        struct dn_err *err)
{
    char text[DN_RECORD_MAX + 1] = "";

    switch (member->type) {
    case TYPE_COUNT:
        return dn_json_read_int (part, member->key, 0, NUMBER_MAX, to, err);
    case TYPE_FLAG:
        return dn_json_read_int (part, member->key, 0, 1, to, err);
    case TYPE_REAL:
        return dn_json_read_real (part, member->key, 0, (double) NUMBER_MAX, to, err);
    case TYPE_TEXT:
        break;
    }
    if (dn_json_read_text (part, member->key, text, member->size, err) < 0)
        return -1;
    memcpy (to, text, strlen (text) + 1);
    return 0;
}

static int read_later (const struct json_object *record,
                       struct dn_recorded *recorded,
                       struct dn_err *err)
{
    double seconds[DN_EXTENSIONS_MAX];
    int n = 0;

    if (dn_json_read_reals (
            record, "later", 60, NUMBER_MAX, 1, DN_EXTENSIONS_MAX, seconds, &n, err)
        < 0)
        return -1;
    for (int i = 0; i < n; i++)
        recorded->later_s[i] = (int64_t) seconds[i];
    recorded->n_later = n;
    return 0;
}

static int read_open (const struct json_object *record,
                      struct dn_recorded *recorded,
                      struct dn_err *err)
{
    struct json_object *list = NULL;
    int n;

    if (dn_json_read_array (record, "open", DN_OPEN_MAX, &list, err) < 0)
        return -1;
    n = list ? (int) json_object_array_length (list) : 0;
    for (int i = 0; i < n; i++) {
        struct json_object *from = json_object_array_get_idx (list, (size_t) i);
        struct dn_open_type *to = &recorded->open[i];

        if (dn_json_need_text (from, "gpu", to->gpu, sizeof (to->gpu), err) < 0
            || dn_json_need_int (from, "slow", 1, OPEN_SLOW_MAX, &to->slow, err) < 0
            || dn_json_read_text (
                   from, "features", to->features, sizeof (to->features), err)
                   < 0
            || dn_json_read_text (
                   from, "partition", to->partition, sizeof (to->partition), err)
                   < 0)
            return dn_err_wrap (err, "open");
    }
    recorded->n_open = n;
    return 0;
}

/* A value of a reason; texts are borrowed from the record. */
static struct dn_arg arg_of (struct json_object *value)
{
    if (json_object_is_type (value, json_type_int))
        return dn_arg_count (json_object_get_int64 (value));
    return dn_arg_text (json_object_get_string (value));
}

/* The code of a name; NONE if this version does not know it. */
static enum dn_reason_code find_reason (struct dn_span name)
{
    for (int i = 1; i < DN_N_REASONS; i++) {
        const char *known = dn_reason_name ((enum dn_reason_code) i);

        if (strlen (known) == name.len && memcmp (known, name.text, name.len) == 0)
            return (enum dn_reason_code) i;
    }
    return DN_REASON_NONE;
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
    reason.code = find_reason (code.text ? code : in);
    if (code.text)
        reason.in = find_reason (in);
    for (size_t i = 0; i < DN_ARGS_MAX && i + 1 < json_object_array_length (why); i++)
        reason.args[i] = arg_of (json_object_array_get_idx (why, i + 1));
    if (reason.code != DN_REASON_NONE)
        dn_reason_add (buf, &reason);
    else
        dn_buf_text (buf, json_object_get_string (first));
}

/* Records of the versions before 0.3 have the sentence, later ones a code and its
 * values.
 */
static void read_why (const struct json_object *record, char text[DN_REASON_MAX])
{
    struct json_object *why = dn_json_member (record, "why");
    struct dn_buf buf = dn_buf_on (text, DN_REASON_MAX);

    if (json_object_is_type (why, json_type_array))
        write_reason (why, &buf);
    else if (json_object_is_type (why, json_type_string))
        dn_json_read_text (record, "why", text, DN_REASON_MAX, NULL);
}

/* Read all members that are valid. -1 with 'err', which names the first that is acted
 * on and is not.
 */
static int read_members (struct json_object *record,
                         struct dn_recorded *recorded,
                         struct dn_err *err)
{
    struct json_object *parts[N_PARTS] = {[PART_TOP] = record};
    int64_t unlimited = 0;
    int rc = 0;

    recorded->found = true;
    for (int i = PART_REQ; i < N_PARTS; i++)
        if (dn_json_read_object (record, part_names[i], &parts[i], rc ? NULL : err) < 0)
            rc = -1;
    for (size_t i = 0; i < DN_N_ELEMENTS (members); i++) {
        const struct member *member = &members[i];
        struct dn_err *told = member->acted_on && rc == 0 ? err : NULL;
        void *to = (char *) recorded + member->offset;

        if (read_member (parts[member->part], member, to, told) < 0 && member->acted_on)
            rc = -1;
    }
    if (dn_json_read_int (
            parts[PART_REQ], "unlimited", 0, 1, &unlimited, rc ? NULL : err)
        < 0)
        rc = -1;
    if (unlimited)
        recorded->asked_s = DN_UNLIMITED;
    if (read_later (record, recorded, rc ? NULL : err) < 0)
        rc = -1;
    if (read_open (record, recorded, rc ? NULL : err) < 0)
        rc = -1;
    read_why (record, recorded->why);
    recorded->changed = strcmp (recorded->mode, "enforce") == 0
                        && strcmp (recorded->verdict, "change") == 0;
    return rc < 0 ? dn_err_wrap (err, "record") : 0;
}

int dn_record_read (const char *admin_comment,
                    struct dn_recorded *recorded,
                    struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *record = NULL;
    struct dn_span text;
    int found = open_record (admin_comment, &text, &record, err);

    clear (recorded);
    if (found <= 0)
        return found;
    return read_members (record, recorded, err) < 0 ? -1 : 1;
}

const char *dn_recorded_gpu (const struct dn_recorded *recorded)
{
    if (recorded->n_open > 0 && (recorded->either || recorded->steer_gpu[0] != '\0'))
        return recorded->steer_gpu;
    return recorded->changed && recorded->set_gpu[0] != '\0' ? recorded->set_gpu
                                                             : recorded->asked_gpu;
}

/* --- open jobs -------------------------------------------------------------------- */

/* The requested type has the limit itself. */
static double factor_of (const struct dn_recorded *recorded, int entry)
{
    return entry == 0 ? 1 : dn_open_factor ((double) recorded->open[entry].slow / 100);
}

int dn_open_find (const struct dn_recorded *recorded, const char *gpu)
{
    for (int i = 0; i < recorded->n_open; i++)
        if (strcmp (recorded->open[i].gpu, gpu) == 0)
            return i;
    return -1;
}

int dn_open_home (const struct dn_recorded *recorded)
{
    int slowest = 0;

    if (recorded->n_open == 0)
        return -1;
    if (!recorded->either)
        return recorded->set_gpu[0] != '\0' ? dn_open_find (recorded, recorded->set_gpu)
                                            : 0;
    for (int i = 1; i < recorded->n_open; i++)
        if (recorded->open[i].slow > recorded->open[slowest].slow)
            slowest = i;
    return slowest;
}

bool dn_open_is_place (const struct dn_open_type *type,
                       const char *features,
                       const char *partition)
{
    const char *own = type->features[0] != '\0' ? type->features : type->partition;
    const char *text = type->features[0] != '\0' ? features : partition;

    return strcmp (text ? text : "", own) == 0;
}

int dn_open_now (const struct dn_recorded *recorded)
{
    return recorded->steer_gpu[0] != '\0' ? dn_open_find (recorded, recorded->steer_gpu)
                                          : dn_open_home (recorded);
}

/* The limit of an earlier type was rounded up: in minutes, the one that it was made of
 * is the whole part of the quotient, because factors are 1 or more.
 */
int64_t dn_open_limit (const struct dn_recorded *recorded,
                       int64_t limit_s,
                       int from,
                       int to)
{
    double minutes;

    if (limit_s < 0 || from < 0 || to < 0)
        return limit_s;
    minutes = ceil ((double) limit_s / 60);
    if (from != 0)
        minutes = floor (minutes / factor_of (recorded, from) + 1e-6);
    minutes = ceil (minutes * factor_of (recorded, to) - 1e-6);
    return 60 * (int64_t) dn_max (minutes, 1);
}

int64_t dn_recorded_cap (const struct dn_recorded *recorded)
{
    if (recorded->steer_gpu[0] != '\0' && recorded->cap_s > 0)
        return recorded->cap_s;
    if (recorded->changed && recorded->steer_gpu[0] == '\0' && recorded->set_cap_s > 0)
        return recorded->set_cap_s;
    return recorded->asked_s;
}

int64_t dn_recorded_set (const struct dn_recorded *recorded)
{
    return recorded->steer_gpu[0] != '\0' ? recorded->steer_s : recorded->set_s;
}

int64_t dn_recorded_written (const struct dn_recorded *recorded)
{
    int64_t last = dn_recorded_set (recorded);

    if (!recorded->changed || last <= 0)
        last = recorded->asked_s;
    else if (recorded->n_later > 0)
        last = recorded->later_s[recorded->n_later - 1];
    return last > 0 ? (last + 59) / 60 * 60 : last;
}

/* The prediction is for the type that was set; where Slurm chooses, for the requested
 * one.
 */
double dn_recorded_there (const struct dn_recorded *recorded, double seconds)
{
    int now = dn_open_now (recorded);
    int home = recorded->either ? 0 : dn_open_home (recorded);

    if (now < 0 || home < 0 || recorded->steer_gpu[0] == '\0')
        return seconds;
    return seconds * (double) recorded->open[now].slow
           / (double) recorded->open[home].slow;
}

/* --- changes ---------------------------------------------------------------------- */

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

/* What json-c writes, as dn_record_write () does: such bytes occur only in strings.
 * False if the text becomes too long.
 */
static bool write_plain (const char *json, char text[DN_RECORD_MAX + 1])
{
    struct dn_buf buf = dn_buf_on (text, DN_RECORD_MAX + 1);

    while (*json != '\0' && !buf.cut) {
        size_t n = 0;

        while (is_plain (json[n]))
            n++;
        dn_buf_put (&buf, json, n);
        json += n;
        if (*json != '\0')
            dn_buf_add (&buf, "%s", *json++ == '|' ? "\\u007c" : "?");
    }
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
            return dn_refuse (err, record_memory);
        if (write_plain (json, text))
            return 0;
        if (i < DN_N_ELEMENTS (optional))
            json_object_object_del (record, optional[i]);
    }
    text[0] = '\0';
    return dn_refuse (err, record_long, DN_RECORD_MAX);
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
        dn_refuse (err, record_memory);
    return text;
}

/* The part of that name, which is added if it is absent. */
static struct json_object *part_of (struct json_object *record, const char *key)
{
    struct json_object *part = dn_json_member (record, key);

    return part ? part : dn_json_put_object (record, key);
}

/* The record of a comment that is to be changed: it must be valid. NULL with 'err'. */
static struct json_object *record_to_change (const char *comment,
                                             struct dn_span *text,
                                             struct dn_recorded *recorded,
                                             struct dn_err *err)
{
    struct json_object *record;

    clear (recorded);
    if (open_record (comment, text, &record, err) == 0)
        dn_refuse (err, record_none);
    if (record && read_members (record, recorded, err) < 0)
        dn_json_free (&record);
    return record;
}

char *dn_record_revise (const char *admin_comment,
                        const struct dn_revision *revision,
                        struct dn_err *err)
{
    struct dn_span old;
    struct dn_recorded recorded;
    dn_cleanup (dn_json_free) struct json_object *record =
        record_to_change (admin_comment, &old, &recorded, err);
    struct json_object *set;
    struct json_object *pred;

    if (!record)
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
        || dn_json_put_number (pred, "hist", revision->runs) < 0)
        return DN_NULL (dn_refuse (err, record_memory));
    return write_back (admin_comment, old, record, err);
}

char *dn_record_note (const char *admin_comment, int64_t limit_s, struct dn_err *err)
{
    struct dn_span old;
    struct dn_recorded recorded;
    dn_cleanup (dn_json_free) struct json_object *record =
        record_to_change (admin_comment, &old, &recorded, err);

    if (!record)
        return NULL;
    if ((limit_s == DN_UNSET ? dn_json_put_number (record, "rescued", 1)
                             : add_later (record, &recorded, limit_s))
        < 0)
        return DN_NULL (dn_refuse (err, record_memory));
    return write_back (admin_comment, old, record, err);
}

char *dn_record_steer (const char *admin_comment,
                       const struct dn_steering *steering,
                       struct dn_err *err)
{
    struct dn_span old;
    struct dn_recorded recorded;
    dn_cleanup (dn_json_free) struct json_object *record =
        record_to_change (admin_comment, &old, &recorded, err);
    struct json_object *part;

    if (!record)
        return NULL;
    json_object_object_del (record, "later");
    json_object_object_del (record, "steer");
    part = steering ? dn_json_put_object (record, "steer") : NULL;
    if (steering
        && (!part || dn_json_put_text (part, "gpu", steering->gpu) < 0
            || dn_json_put_number (part, "time_s", steering->limit_s) < 0
            || (steering->cap_s > 0
                && dn_json_put_number (part, "cap_s", steering->cap_s) < 0)
            || dn_json_put_number (part, "at_s", steering->at_s) < 0))
        return DN_NULL (dn_refuse (err, record_memory));
    return write_back (admin_comment, old, record, err);
}
