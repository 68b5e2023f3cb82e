/* groups.c - sums of jobs by a name, and idle GPUs by application, in bounded memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/messages.h"
#include "base/text.h"
#include "predict/learned.h"

/* A power of two, more than twice the groups. */
#define SLOTS 65536

_Static_assert(SLOTS > 2 * DN_SUMS_GROUPS_MAX, "a search ends at an empty slot");

/* The first group is that of the others. */
static int begin (struct dn_groups *groups, struct dn_err *err)
{
    groups->slots = calloc (SLOTS, sizeof (*groups->slots));
    groups->groups = calloc (DN_SUMS_GROUPS_MAX + 1, sizeof (*groups->groups));
    if (!groups->slots || !groups->groups)
        return dn_refuse (err, no_memory);
    snprintf (groups->groups[0].name, DN_NAME_MAX, "%s", DN_SUMS_OTHERS);
    groups->n = 1;
    return 0;
}

struct dn_sums_part *dn_groups_get (struct dn_groups *groups,
                                    const char *name,
                                    struct dn_err *err)
{
    char text[DN_NAME_MAX];
    uint64_t at;

    if (!groups->groups && begin (groups, err) < 0)
        return NULL;
    snprintf (text, sizeof (text), "%s", name[0] != '\0' ? name : "(none)");
    for (at = dn_hash_text (DN_HASH_SEED, text) % SLOTS; groups->slots[at] != 0;
         at = (at + 1) % SLOTS)
        if (strcmp (groups->groups[groups->slots[at]].name, text) == 0)
            return &groups->groups[groups->slots[at]].part;
    if (groups->n > DN_SUMS_GROUPS_MAX)
        return &groups->groups[0].part;
    groups->slots[at] = (int32_t) groups->n;
    groups->groups[groups->n].number = groups->n;
    memcpy (groups->groups[groups->n].name, text, sizeof (text));
    return &groups->groups[groups->n++].part;
}

double dn_sums_part_gpu_hours (const struct dn_sums_part *part, int which)
{
    (void) which;
    /* Jobs without GPUs come after all others, by their hours. */
    return part->amounts[DN_MEASURE_GPU_HOURS].requested
           + 1e-9 * part->amounts[DN_MEASURE_HOURS].requested;
}

double dn_sums_part_wasted (const struct dn_sums_part *part, int which)
{
    return part->wasted[which];
}

struct order {
    dn_sums_part_size_f size;
    int which;
};

static int compare (const void *a, const void *b, void *to)
{
    const struct order *order = to;
    const struct dn_sums_group *x = a;
    const struct dn_sums_group *y = b;
    double x_size = order->size (&x->part, order->which);
    double y_size = order->size (&y->part, order->which);

    if (x_size != y_size)
        return x_size > y_size ? -1 : 1;
    return strcmp (x->name, y->name);
}

/* The hash table is void after it, so that no job may be added. */
void dn_groups_sort (struct dn_groups *groups, dn_sums_part_size_f size, int which)
{
    struct order order = {size, which};

    if (groups->n > 1)
        qsort_r (groups->groups + 1,
                 (size_t) groups->n - 1,
                 sizeof (*groups->groups),
                 compare,
                 &order);
}

/* --- applications that leave GPUs idle -------------------------------------------- */

/* A power of two, more than twice the applications. */
#define IDLE_SLOTS 32768

_Static_assert(IDLE_SLOTS > 2 * DN_IDLE_APPS_MAX, "a search ends at an empty slot");

static int begin_idle (struct dn_idle *idle, struct dn_err *err)
{
    idle->slots = calloc (IDLE_SLOTS, sizeof (*idle->slots));
    idle->apps = calloc (DN_IDLE_APPS_MAX, sizeof (*idle->apps));
    return idle->slots && idle->apps ? 0 : dn_refuse (err, no_memory);
}

/* The application, or the place where it would be: 'slot' is 0. */
static struct dn_idle_app *find (const struct dn_idle *idle,
                                 dn_app_key key,
                                 int32_t **slot)
{
    uint64_t at = key % IDLE_SLOTS;

    for (; idle->slots[at] != 0; at = (at + 1) % IDLE_SLOTS)
        if (idle->apps[idle->slots[at] - 1].key == key)
            break;
    *slot = &idle->slots[at];
    return **slot ? &idle->apps[**slot - 1] : NULL;
}

int dn_idle_add (struct dn_idle *idle,
                 const struct dn_finished *job,
                 struct dn_err *err)
{
    dn_app_key key = dn_app_key_of_user (job->user, job->app);
    struct dn_idle_app *app;
    int32_t *slot;

    if (job->app[0] == '\0' || job->gpus <= 0 || job->gpus_used < 0)
        return 0;
    if (!idle->apps && begin_idle (idle, err) < 0)
        return -1;
    app = find (idle, key, &slot);
    if (job->gpus_used >= job->gpus) { /* what it left idle before is past */
        if (app)
            app->runs = 0;
        return 0;
    }
    if (!app && idle->n == DN_IDLE_APPS_MAX)
        return 0;
    if (!app) {
        *slot = (int32_t) ++idle->n;
        app = &idle->apps[idle->n - 1];
        *app = (struct dn_idle_app){.key = key};
        snprintf (app->user, DN_NAME_MAX, "%s", job->user_name);
        snprintf (app->app, DN_NAME_MAX, "%s", job->app);
    }
    if (app->runs++ == 0)
        app->gpu_hours = 0;
    app->gpu_hours +=
        (double) (job->gpus - job->gpus_used) * dn_finished_ran_s (job) / 3600;
    app->gpus = job->gpus;
    app->used = job->gpus_used;
    snprintf (app->job, DN_NAME_MAX, "%s", job->job);
    return 0;
}

static int by_hours (const void *a, const void *b)
{
    const struct dn_idle_app *x = a;
    const struct dn_idle_app *y = b;
    bool x_counts = x->runs >= DN_LEARNED_RUNS_MIN;

    if (x_counts != (y->runs >= DN_LEARNED_RUNS_MIN))
        return x_counts ? -1 : 1;
    if (x->gpu_hours != y->gpu_hours)
        return x->gpu_hours > y->gpu_hours ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

int64_t dn_idle_end (struct dn_idle *idle)
{
    int64_t n = 0;

    if (idle->n > 0)
        qsort (idle->apps, (size_t) idle->n, sizeof (*idle->apps), by_hours);
    while (n < idle->n && idle->apps[n].runs >= DN_LEARNED_RUNS_MIN)
        n++;
    return n;
}

void dn_idle_free (struct dn_idle *idle)
{
    free (idle->slots);
    free (idle->apps);
}
