/* job_end.c - when a running job is expected to end, by what it reports of itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/job_end.h"

#include <stdio.h>
#include <string.h>

#include "host/capture_file.h"
#include "report/when.h"

/* The value of a field of the line, up to a blank; its text is NULL if there is none.
 */
static struct dn_span field_of (const char *text, const char *key)
{
    size_t len = strlen (key);

    for (const char *at = text; (at = strstr (at, key)); at += len)
        if ((at == text || at[-1] == ' ') && at[len] == '=')
            return (struct dn_span){at + len + 1, strcspn (at + len + 1, " ")};
    return (struct dn_span){NULL, 0};
}

/* The number of a field, of "UserId=name(1000)" that in parentheses; DN_UNSET: none. */
static int64_t number_of (const char *text, const char *key)
{
    struct dn_span value = field_of (text, key);
    const char *open = value.text ? memchr (value.text, '(', value.len) : NULL;
    int64_t number = DN_UNSET;

    if (open) {
        value.len -= (size_t) (open + 1 - value.text);
        value.text = open + 1;
        value.len -= value.len > 0;
    }
    if (!value.text || dn_int_read (value, key, 0, UINT32_MAX, &number, NULL) < 0)
        return DN_UNSET;
    return number;
}

/* At the mean pace between the first report and the last; DN_UNSET: not known. */
static int64_t end_of (const struct dn_progress *progress)
{
    const struct dn_progress_report *first = progress->reports;
    const struct dn_progress_report *last = &first[progress->n_reports - 1];
    double pace_s;

    if (progress->n_reports < 2 || last->done <= first->done
        || last->time_s <= first->time_s)
        return DN_UNSET;
    pace_s =
        (double) (last->time_s - first->time_s) / (double) (last->done - first->done);
    pace_s *= (double) (last->total - last->done);
    return pace_s < 1e9 ? last->time_s + (int64_t) pace_s : DN_UNSET;
}

bool dn_job_end_tell (const char *text,
                      const char *progress_dir,
                      struct json_object *json)
{
    int64_t id = number_of (text, "JobId");
    int64_t user = number_of (text, "UserId");
    int64_t limit_s = number_of (text, "EndTime");
    struct dn_progress progress;
    int64_t end_s;

    if (progress_dir[0] == '\0' || id < 0 || user < 0
        || !dn_span_is (field_of (text, "JobState"), "RUNNING")
        || dn_job_progress (progress_dir, id, (uid_t) user, &progress, NULL) < 0)
        return false;
    end_s = end_of (&progress);
    if (end_s == DN_UNSET)
        return false;
    dn_json_add_count (json, "expected_end_s", end_s);
    if (limit_s != DN_UNSET) {
        dn_json_add_count (json, "limit_end_s", limit_s);
        dn_json_add_bool (json, "beyond_limit", end_s > limit_s);
    }
    return true;
}

void dn_job_end_print (struct json_object *json)
{
    struct json_object *end = json_object_object_get (json, "expected_end_s");
    struct json_object *limit = json_object_object_get (json, "limit_end_s");
    bool beyond =
        json_object_get_boolean (json_object_object_get (json, "beyond_limit"));

    if (!end)
        return;
    printf ("  expected end %s", dn_when_minute (json_object_get_int64 (end)).text);
    if (limit)
        printf (", %s that of its limit, %s",
                beyond ? "AFTER" : "before",
                dn_when_minute (json_object_get_int64 (limit)).text);
    printf ("\n");
}
