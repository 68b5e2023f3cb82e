/* collecting.c - finished jobs of a source into the store, by periods of their ends
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/collecting.h"

#include <stdio.h>
#include <string.h>

#include "base/messages.h"
#include "rewrite/recorded.h"

/* A period is lengthened or shortened to have about so many jobs, some 6 KB each with
 * their steps in the answer of slurmdbd.
 */
#define JOBS_FEW     500
#define JOBS_MANY    4000
#define PERIOD_MIN_S 60
#define PERIOD_S     3600
#define PERIOD_MAX_S (7 * 86400)

/* Others that add to the store wait for a commit of so many jobs. */
#define COMMIT_JOBS 1000

/* A text of accounting that is longer is cut: a name of a job may be any. */
#define TEXT_MAX 1023

/* A period while it is read. */
struct period {
    struct dn_collecting *c;
    int64_t n;
    struct dn_err *err;
};

/* The marks of a source: its name and cluster. */
struct mark {
    char text[DN_NAME_MAX * 3];
};

static struct mark mark_of (const struct dn_collecting *c, const char *what)
{
    struct mark mark;

    snprintf (
        mark.text, sizeof (mark.text), "%s%s:%.64s", c->source->name, what, c->cluster);
    return mark;
}

/* --- a job ----------------------------------------------------------------------- */

/* Names that users choose, without control characters and cut. */
static const char *printable (const char *text, char out[TEXT_MAX + 1])
{
    size_t len = strnlen (text, TEXT_MAX + 1);
    bool harmless = len <= TEXT_MAX;

    for (size_t i = 0; i < len && harmless; i++)
        harmless = (unsigned char) text[i] >= ' ' && text[i] != 0x7f;
    if (harmless)
        return text;
    len = len > TEXT_MAX ? TEXT_MAX : len;
    while (len > 0 && len == TEXT_MAX && ((unsigned char) text[len] & 0xc0) == 0x80)
        len--; /* a whole character of UTF-8 */
    for (size_t i = 0; i < len; i++)
        out[i] =
            (char) ((unsigned char) text[i] >= ' ' && text[i] != 0x7f ? text[i] : '?');
    out[len] = '\0';
    return out;
}

static int take_job (void *to, const struct dn_finished *from, const char *comment)
{
    struct period *period = to;
    struct dn_collecting *c = period->c;
    struct dn_finished job = *from;
    struct dn_recorded recorded;
    char name[TEXT_MAX + 1];
    char account[TEXT_MAX + 1];
    char partition[TEXT_MAX + 1];

    job.source = c->source->name;
    if (job.cluster[0] == '\0')
        job.cluster = c->cluster;
    job.name = printable (job.name, name);
    job.account = printable (job.account, account);
    job.partition = printable (job.partition, partition);
    dn_finished_from_record (&job, comment, &recorded);
    period->n++;
    c->n_jobs++;
    c->n_records += job.mode[0] != '\0';
    if (!c->store)
        return 0;
    if (dn_store_add (c->store, &job, period->err) < 0)
        return dn_err_wrap (period->err, dn_say_of_job, job.job);
    return period->n % COMMIT_JOBS == 0 ? dn_store_commit (c->store, period->err) : 0;
}

/* --- periods --------------------------------------------------------------------- */

/* Where to begin, and the mark; 0: none yet. */
static int find_begin (struct dn_collecting *c, int64_t *mark_s, struct dn_err *err)
{
    *mark_s = 0;
    c->begun_s = c->since_s != DN_UNSET ? c->since_s : c->first_s;
    if (!c->store)
        return 0;
    if (dn_store_until (c->store, mark_of (c, "").text, mark_s, err) < 0)
        return -1;
    if (c->since_s == DN_UNSET && *mark_s - DN_COLLECT_OVERLAP_S > c->first_s)
        c->begun_s = *mark_s - DN_COLLECT_OVERLAP_S;
    return 0;
}

static int64_t next_length (int64_t length_s, int64_t n)
{
    if (n > JOBS_MANY && length_s > PERIOD_MIN_S)
        return length_s / 2 > PERIOD_MIN_S ? length_s / 2 : PERIOD_MIN_S;
    if (n < JOBS_FEW && length_s < PERIOD_MAX_S)
        return 2 * length_s < PERIOD_MAX_S ? 2 * length_s : PERIOD_MAX_S;
    return length_s;
}

static int read_period (struct dn_collecting *c,
                        struct dn_period period,
                        int64_t *n,
                        struct dn_err *err)
{
    struct period reading = {.c = c, .err = err};
    int rc =
        c->source->read (c->source->self, c->cluster, period, take_job, &reading, err);

    *n = reading.n;
    return rc != 0 ? -1 : 0;
}

/* Read all from 'at_s' to 'end_s' and commit each period with the mark 'name', which
 * never moves over jobs that were not read. 1 where the caller of the pass ends it.
 */
static int read_to (struct dn_collecting *c,
                    const struct mark *name,
                    int64_t mark_s,
                    int64_t *at_s,
                    int64_t end_s,
                    struct dn_err *err)
{
    int64_t length_s = PERIOD_S;

    while (*at_s < end_s) {
        struct dn_period period = {*at_s, *at_s + length_s};
        bool joins = mark_s == 0 || period.since_s <= mark_s;
        int64_t n;

        if (period.until_s > end_s)
            period.until_s = end_s;
        if (read_period (c, period, &n, err) < 0)
            return -1;
        if (c->store && joins && period.until_s > mark_s) {
            mark_s = period.until_s;
            if (dn_store_set_until (c->store, name->text, mark_s, err) < 0)
                return -1;
        }
        if (c->store && dn_store_commit (c->store, err) < 0)
            return -1;
        *at_s = period.until_s;
        length_s = next_length (length_s, n);
        if (c->after && c->after (c->to, c) != 0)
            return 1;
    }
    return 0;
}

/* Read once more what ended a day ago. Where nothing was collected before, the day that
 * was just read is the first.
 */
static int read_again (struct dn_collecting *c, struct dn_err *err)
{
    const struct mark name = mark_of (c, "-again");
    int64_t end_s = c->now_s - DN_COLLECT_AGAIN_S;
    int64_t at_s;

    if (dn_store_until (c->store, name.text, &at_s, err) < 0)
        return -1;
    if (at_s == 0) {
        if (dn_store_set_until (c->store, name.text, end_s, err) < 0)
            return -1;
        return dn_store_commit (c->store, err);
    }
    if (at_s < c->first_s)
        at_s = c->first_s;
    return end_s - at_s < DN_COLLECT_AGAIN_EVERY_S
               ? 0
               : read_to (c, &name, at_s, &at_s, end_s, err);
}

int dn_collect (struct dn_collecting *c, struct dn_err *err)
{
    const struct mark name = mark_of (c, "");
    int64_t mark_s;
    int rc;

    c->n_jobs = c->n_records = 0;
    if (find_begin (c, &mark_s, err) < 0)
        return -1;
    c->reached_s = c->begun_s;
    rc = read_to (c, &name, mark_s, &c->reached_s, c->now_s, err);
    if (rc < 0 || c->reached_s < c->now_s || !c->store || c->since_s != DN_UNSET)
        return rc;
    return read_again (c, err);
}
