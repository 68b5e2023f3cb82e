/* capture_file.c - what a job has measured and described of itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/capture_file.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/messages.h"
#include "graph/sidecar.h"
#include "host/files.h"

/* A sidecar is nested eight deep, and a newer writer may have more. */
#define DEPTH_MAX 12

/* A description of 1024 operators has some 10000 values. */
#define VALUES_MAX 65536

/* Bytes of the description as it comes; to make it compact takes 0.1 s at most. */
#define SIDECAR_MAX (DN_CAPTURE_BYTES_MAX / 2)

#define TIME_MAX  INT64_C (99999999999) /* seconds; the year 5138 */
#define COUNT_MAX DN_PROGRESS_COUNT_MAX
#define GPUS_MAX  65535
#define BYTES_MAX 1e15
#define SPAN_MAX  1e9 /* s, ms */

/* Architectures that are looked at, and the longest name of one. */
#define ARCH_NAMES_MAX 64
#define ARCH_NAME_MAX  24

/* --- the members ------------------------------------------------------------------ */

enum kind {
    COUNT,
    REAL,
    GIB, /* a real, in bytes in the file */
    TEXT
};

/* The members of the objects of the file; "" is the file itself. */
static const struct member {
    const char *in;
    const char *key;
    enum kind kind;
    size_t offset;
    double max; /* of a text its size */
} members[] = {
#define MEMBER(in, key, kind, name, max)                                               \
    {                                                                                  \
        in, key, kind, offsetof (struct dn_capture, name), (double) (max)              \
    }
    MEMBER ("", "time", COUNT, time_s, TIME_MAX),
    MEMBER ("", "started", COUNT, started_s, TIME_MAX),
    MEMBER ("software", "framework", TEXT, framework, DN_NAME_MAX),
    MEMBER ("software", "version", TEXT, version, DN_NAME_MAX),
    MEMBER ("software", "cuda", TEXT, cuda, DN_NAME_MAX),
    MEMBER ("software", "python", TEXT, python, DN_NAME_MAX),
    MEMBER ("devices", "seen", COUNT, gpus_seen, GPUS_MAX),
    MEMBER ("devices", "used", COUNT, gpus_used, GPUS_MAX),
    MEMBER ("devices", "name", TEXT, device, DN_NAME_MAX),
    MEMBER ("run", "world", COUNT, world, 1e6),
    MEMBER ("run", "parallel", TEXT, parallel, DN_NAME_MAX),
    MEMBER ("run", "trainings", COUNT, trainings, 1e9),
    MEMBER ("run", "step", COUNT, step, COUNT_MAX),
    MEMBER ("run", "steps", COUNT, steps, COUNT_MAX),
    MEMBER ("run", "steps_per_epoch", COUNT, steps_per_epoch, COUNT_MAX),
    MEMBER ("run", "epochs", COUNT, epochs, 1e6),
    MEMBER ("run", "workers", COUNT, workers, 4096),
    MEMBER ("run", "loader_share", REAL, loader_share, 1),
    MEMBER ("measured", "start_s", REAL, start_up_s, SPAN_MAX),
    MEMBER ("measured", "step_ms", REAL, step_ms, SPAN_MAX),
    MEMBER ("measured", "step_p95_ms", REAL, step_p95_ms, SPAN_MAX),
    MEMBER ("measured", "steps", COUNT, steps_measured, COUNT_MAX),
    MEMBER ("measured", "gpu_allocated", GIB, gpu_allocated_gb, BYTES_MAX),
    MEMBER ("measured", "gpu_reserved", GIB, gpu_reserved_gb, BYTES_MAX),
    MEMBER ("measured", "gpu_device", GIB, gpu_device_gb, BYTES_MAX),
#undef MEMBER
};

#define N_MEMBERS DN_N_ELEMENTS (members)

static void *at_of (struct dn_capture *capture, const struct member *member)
{
    return (char *) capture + member->offset;
}

static void clear (struct dn_capture *capture)
{
    memset (capture, 0, sizeof (*capture));
    for (size_t i = 0; i < N_MEMBERS; i++)
        if (members[i].kind == COUNT)
            *(int64_t *) at_of (capture, &members[i]) = DN_UNSET;
        else if (members[i].kind != TEXT)
            *(double *) at_of (capture, &members[i]) = NAN;
}

/* A member that cannot be used stays unknown. */
static void read_member (const struct json_object *in,
                         const struct member *member,
                         void *at)
{
    int64_t count = DN_UNSET;
    double real = NAN;

    switch (member->kind) {
    case COUNT:
        dn_json_read_int (in, member->key, 0, (int64_t) member->max, &count, NULL);
        *(int64_t *) at = count;
        break;
    case TEXT:
        dn_json_read_text (in, member->key, at, (size_t) member->max, NULL);
        break;
    default:
        dn_json_read_real (in, member->key, 0, member->max, &real, NULL);
        *(double *) at = member->kind == GIB ? real / DN_GIB : real;
        break;
    }
}

/* The object of that name, "" the file itself; NULL: there is none. */
static struct json_object *part_of (struct json_object *json, const char *name)
{
    struct json_object *part = name[0] == '\0' ? json : dn_json_member (json, name);

    return json_object_is_type (part, json_type_object) ? part : NULL;
}

/* Letters, digits and "_": "gfx90a:xnack-" is gfx90a. */
static size_t name_length (const char *name)
{
    size_t len = 0;

    while ((name[len] >= 'a' && name[len] <= 'z')
           || (name[len] >= 'A' && name[len] <= 'Z')
           || (name[len] >= '0' && name[len] <= '9') || name[len] == '_')
        len++;
    return len;
}

/* The names of an array, joined by commas, as far as they fit. */
static void read_arch (const struct json_object *software, char arch[DN_ARCH_MAX])
{
    struct json_object *names = dn_json_member (software, "arch");
    struct dn_buf buf = dn_buf_on (arch, DN_ARCH_MAX);
    size_t n = json_object_is_type (names, json_type_array)
                   ? json_object_array_length (names)
                   : 0;

    for (size_t i = 0; i < n && i < ARCH_NAMES_MAX; i++) {
        struct json_object *item = json_object_array_get_idx (names, i);
        const char *name = json_object_is_type (item, json_type_string)
                               ? json_object_get_string (item)
                               : "";
        size_t len = name_length (name);

        if (len == 0 || len > ARCH_NAME_MAX || buf.len + len + 2 > buf.size)
            continue;
        if (buf.len > 0)
            dn_buf_text (&buf, ",");
        dn_buf_put (&buf, name, len);
    }
}

/* --- how far it is ---------------------------------------------------------------- */

/* Steps of the present training; DN_UNSET where they are not known. */
static int64_t total_of (const struct dn_capture *capture)
{
    if (capture->steps > 0)
        return capture->steps;
    if (capture->epochs > 0 && capture->steps_per_epoch > 0
        && capture->steps_per_epoch <= COUNT_MAX / capture->epochs)
        return capture->epochs * capture->steps_per_epoch;
    return DN_UNSET;
}

bool dn_capture_progress (const struct dn_capture *capture,
                          struct dn_progress *progress)
{
    struct dn_progress_report last = {capture->time_s, capture->step, 0};
    struct dn_progress_report first = last;

    memset (progress, 0, sizeof (*progress));
    last.total = first.total = total_of (capture);
    if (last.total <= 0 || capture->trainings > 1 || capture->step < 0
        || capture->step > last.total)
        return false;
    if (capture->started_s <= 0 || !(capture->start_up_s >= 0)
        || capture->steps_measured <= 0 || capture->steps_measured > capture->step)
        return false;
    first.time_s = capture->started_s + (int64_t) capture->start_up_s;
    first.done -= capture->steps_measured;
    if (first.time_s > last.time_s)
        return false;
    dn_progress_add (progress, &first);
    dn_progress_add (progress, &last);
    return true;
}

/* --- the file --------------------------------------------------------------------- */

/* The description, as it is or made compact; it is dropped where that fails. */
static void read_sidecar (struct json_object *json,
                          enum dn_capture_sidecar how,
                          struct dn_capture *capture)
{
    struct json_object *sidecar = part_of (json, "sidecar");
    const char *text =
        sidecar ? json_object_to_json_string_ext (
            sidecar, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                : NULL;
    size_t len = text ? strlen (text) : 0;

    if (how == DN_SIDECAR_AS_KEPT && len > 0 && len <= DN_CAPTURE_SIDECAR_MAX)
        capture->sidecar = strdup (text);
    if (how == DN_SIDECAR_COMPACT && len > 0 && len <= SIDECAR_MAX)
        dn_sidecar_compact ((struct dn_span){text, len},
                            DN_CAPTURE_SIDECAR_MAX,
                            &capture->sidecar,
                            NULL);
}

static int read_head (const struct json_object *json, struct dn_err *err)
{
    int64_t version;

    if (dn_json_need_int (json, "dnnest_capture", 0, INT32_MAX, &version, err) < 0)
        return -1;
    return version == DN_CAPTURE_VERSION
               ? 0
               : dn_refuse (err, version, (int) version, DN_CAPTURE_VERSION);
}

static int read_capture (struct dn_span text,
                         enum dn_capture_sidecar how,
                         struct dn_capture *capture,
                         struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *json = NULL;

    if (text.len > DN_CAPTURE_BYTES_MAX)
        return dn_refuse (err, progress_size, text.len, DN_CAPTURE_BYTES_MAX);
    json = dn_json_read (text, DEPTH_MAX, VALUES_MAX, err);
    if (!json || read_head (json, err) < 0)
        return -1;
    for (size_t i = 0; i < N_MEMBERS; i++)
        read_member (
            part_of (json, members[i].in), &members[i], at_of (capture, &members[i]));
    if (capture->time_s <= 0)
        return dn_refuse (err, progress_missing, "time");
    read_arch (part_of (json, "software"), capture->arch);
    if (how != DN_SIDECAR_LEFT_OUT)
        read_sidecar (json, how, capture);
    return 0;
}

int dn_capture_read (struct dn_span text,
                     const char *file,
                     enum dn_capture_sidecar how,
                     struct dn_capture *capture,
                     struct dn_err *err)
{
    clear (capture);
    if (read_capture (text, how, capture, err) == 0)
        return 0;
    dn_capture_free (capture);
    return dn_err_wrap (err, "%s", DN_QUOTED (file));
}

void dn_capture_free (struct dn_capture *capture)
{
    free (capture->sidecar);
    clear (capture);
}

/* --- how far a job is --------------------------------------------------------------
 */

static int read_reported (const char *dir,
                          int64_t id,
                          uid_t owner,
                          struct dn_progress *progress,
                          struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    char name[DN_NAME_MAX];

    snprintf (name, sizeof (name), "%" PRId64, id);
    if (dn_file_read_below (dir, name, owner, DN_PROGRESS_BYTES_MAX, &text, err) < 0)
        return -1;
    return dn_progress_read (dn_span_of (text), name, progress, err);
}

/* False: it has no capture that says it. */
static bool read_captured (const char *dir,
                           int64_t id,
                           uid_t owner,
                           struct dn_progress *progress)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_capture capture;
    char name[DN_NAME_MAX];

    snprintf (name, sizeof (name), "%" PRId64 DN_CAPTURE_SUFFIX, id);
    return dn_file_read_below (dir, name, owner, DN_CAPTURE_BYTES_MAX, &text, NULL) == 0
           && dn_capture_read (
                  dn_span_of (text), name, DN_SIDECAR_LEFT_OUT, &capture, NULL)
                  == 0
           && dn_capture_progress (&capture, progress);
}

int dn_job_progress (const char *dir,
                     int64_t id,
                     uid_t owner,
                     struct dn_progress *progress,
                     struct dn_err *err)
{
    struct dn_progress captured;
    int rc;

    memset (progress, 0, sizeof (*progress));
    rc = read_reported (dir, id, owner, progress, err);
    if (progress->n_reports > 0 || !read_captured (dir, id, owner, &captured))
        return rc;
    captured.out_of_memory_s = progress->out_of_memory_s;
    *progress = captured;
    return 0;
}

/* --- what is kept ----------------------------------------------------------------- */

static struct json_object *put_part (struct json_object *json, const char *name)
{
    struct json_object *part = part_of (json, name);

    return part ? part : dn_json_put_object (json, name);
}

static int put_member (struct json_object *in,
                       const struct member *member,
                       const void *at)
{
    double real;

    switch (member->kind) {
    case COUNT:
        return dn_json_put_number (in, member->key, *(const int64_t *) at);
    case TEXT:
        return dn_json_put_text (in, member->key, at);
    default:
        real = *(const double *) at;
        return isnan (real)
                   ? 0
                   : dn_json_put (in, member->key, json_object_new_double (real));
    }
}

static int put_arch (struct json_object *json, const char *arch)
{
    struct json_object *names = json_object_new_array ();
    struct dn_span rest = dn_span_of (arch);
    struct dn_span name;

    if (dn_json_put (put_part (json, "software"), "arch", names) < 0)
        return -1;
    while ((name = dn_span_cut (&rest, ",")).text)
        if (json_object_array_add (
                names, json_object_new_string_len (name.text, (int) name.len))
            < 0)
            return -1;
    return 0;
}

static int put_all (struct json_object *json, const struct dn_capture *capture)
{
    if (!json || dn_json_put_number (json, "dnnest_capture", DN_CAPTURE_VERSION) < 0)
        return -1;
    for (size_t i = 0; i < N_MEMBERS; i++) {
        struct json_object *part;

        if (strcmp (members[i].in, "measured") == 0)
            continue;
        part = put_part (json, members[i].in);
        if (!part
            || put_member (
                   part, &members[i], (const char *) capture + members[i].offset)
                   < 0)
            return -1;
    }
    return capture->arch[0] == '\0' ? 0 : put_arch (json, capture->arch);
}

char *dn_capture_write (const struct dn_capture *capture)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    const char *line;

    if (put_all (json, capture) < 0)
        return NULL;
    if (capture->sidecar)
        dn_json_put (json, "sidecar", json_tokener_parse (capture->sidecar));
    line = dn_json_line (json);
    if (line && strlen (line) > DN_CAPTURE_KEPT_MAX) {
        json_object_object_del (json, "sidecar");
        line = dn_json_line (json);
    }
    return line ? strdup (line) : NULL;
}
