/* past.c - what was known of past runs at any time of a replay
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "past.h"
#include "base/fields.h"
#include "base/messages.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Runs of an application on one GPU type with one number of GPUs. */
struct shape {
    int32_t type;
    int64_t gpus;
    struct dn_fit_runs seen; /* by their ends */
    struct dn_app_row row;
    bool fitted;
};

struct app {
    dn_app_key key;       /* 0: a free place of the table */
    struct shape *shapes; /* owned */
    int n_shapes;
};

/* A job that has not ended yet; its type is an index. */
struct pending {
    struct dn_past_job job;
    int32_t type;
};

struct dn_past {
    struct app *table; /* open addressing, n_table places, a power of two; owned */
    size_t n_table;
    size_t n_apps;
    struct pending *heap; /* the first to end on top; owned */
    int64_t n_heap;
    char (*types)[DN_NAME_MAX]; /* of GPUs; owned */
    int32_t n_types;
    struct dn_guarded guarded;
    struct dn_apps history;  /* that was asked for last */
    struct dn_app_row *rows; /* of it; owned */
    int rows_room;
};

struct dn_past *dn_past_new (void)
{
    struct dn_past *past = calloc (1, sizeof (*past));

    if (!past)
        return NULL;
    past->n_table = 1024;
    past->table = calloc (past->n_table, sizeof (*past->table));
    past->types = calloc (DN_APP_TYPES_MAX, sizeof (*past->types));
    if (!past->table || !past->types) {
        dn_past_free (past);
        return NULL;
    }
    return past;
}

void dn_past_free (struct dn_past *past)
{
    if (!past)
        return;
    for (size_t i = 0; past->table && i < past->n_table; i++)
        free (past->table[i].shapes);
    free (past->table);
    free (past->heap);
    free (past->types);
    free (past->rows);
    free (past->guarded.tallies);
    free (past);
}

static int no_memory (struct dn_err *err)
{
    return dn_refuse (err, no_memory);
}

/* --- applications ----------------------------------------------------------------- */

/* The place of the application, or the free one for it. */
static struct app *place_of (struct app *table, size_t n_table, dn_app_key key)
{
    size_t i = (size_t) (key * 0x9e3779b97f4a7c15u >> 20) & (n_table - 1);

    while (table[i].key != 0 && table[i].key != key)
        i = (i + 1) & (n_table - 1);
    return &table[i];
}

static int grow_table (struct dn_past *past, struct dn_err *err)
{
    size_t n_table = 2 * past->n_table;
    struct app *table;

    if (2 * past->n_apps < past->n_table)
        return 0;
    table = calloc (n_table, sizeof (*table));
    if (!table)
        return no_memory (err);
    for (size_t i = 0; i < past->n_table; i++)
        if (past->table[i].key != 0)
            *place_of (table, n_table, past->table[i].key) = past->table[i];
    free (past->table);
    past->table = table;
    past->n_table = n_table;
    return 0;
}

/* The index of a type; -1 if there are too many. */
static int32_t type_of (struct dn_past *past, const char *type)
{
    int32_t i = 0;

    while (i < past->n_types && strcasecmp (past->types[i], type) != 0)
        i++;
    if (i == DN_APP_TYPES_MAX || strlen (type) >= DN_NAME_MAX)
        return -1;
    if (i == past->n_types)
        memcpy (past->types[past->n_types++], type, strlen (type) + 1);
    return i;
}

/* The shape of an application, in the order of types and numbers of GPUs; a new one if
 * there is none. NULL without memory.
 */
static struct shape *shape_of (struct app *app, int32_t type, int64_t gpus)
{
    struct shape *shapes;
    int at = 0;

    while (at < app->n_shapes
           && (app->shapes[at].type < type
               || (app->shapes[at].type == type && app->shapes[at].gpus < gpus)))
        at++;
    if (at < app->n_shapes && app->shapes[at].type == type
        && app->shapes[at].gpus == gpus)
        return &app->shapes[at];
    shapes = realloc (app->shapes, (size_t) (app->n_shapes + 1) * sizeof (*shapes));
    if (!shapes)
        return NULL;
    app->shapes = shapes;
    memmove (
        &shapes[at + 1], &shapes[at], (size_t) (app->n_shapes - at) * sizeof (*shapes));
    shapes[at] = (struct shape){.type = type, .gpus = gpus};
    app->n_shapes++;
    return &shapes[at];
}

static int learn (struct dn_past *past,
                  const struct pending *pending,
                  struct dn_err *err)
{
    const struct dn_past_job *job = &pending->job;
    const struct dn_guarded_run run = {.user_id = job->user,
                                       .app = job->app,
                                       .job_id = job->id,
                                       .lowered = job->lowered,
                                       .needed = job->needed,
                                       .gpu_s = job->gpu_s};
    struct shape *shape;
    struct app *app;

    if ((job->needed || job->honest) && dn_guarded_note (&past->guarded, &run, err) < 0)
        return -1;
    if (job->key == 0 || !job->says_time || pending->type < 0)
        return 0;
    if (grow_table (past, err) < 0)
        return -1;
    app = place_of (past->table, past->n_table, job->key);
    if (app->key == 0) {
        if (past->n_apps == DN_APPS_MAX)
            return 0;
        app->key = job->key;
        past->n_apps++;
    }
    shape = shape_of (app, pending->type, job->gpus);
    if (!shape)
        return no_memory (err);
    dn_fit_add (&shape->seen, job->unit, &job->run);
    shape->fitted = false;
    return 0;
}

/* --- what has not ended ----------------------------------------------------------- */

static int64_t end_of (const struct pending *pending)
{
    return pending->job.run.end_s;
}

int dn_past_add (struct dn_past *past,
                 const struct dn_past_job *job,
                 struct dn_err *err)
{
    struct pending pending = {.job = *job, .type = type_of (past, job->type)};
    int64_t i;

    pending.job.type = NULL;
    if (dn_rows_grow (&past->heap, past->n_heap, sizeof (pending), err) < 0)
        return -1;
    i = past->n_heap++;
    while (i > 0 && end_of (&pending) < end_of (&past->heap[(i - 1) / 2])) {
        past->heap[i] = past->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    past->heap[i] = pending;
    return 0;
}

static struct pending pop (struct dn_past *past)
{
    struct pending top = past->heap[0], last = past->heap[--past->n_heap];
    int64_t i = 0;

    while (2 * i + 1 < past->n_heap) {
        int64_t child = 2 * i + 1;

        if (child + 1 < past->n_heap
            && end_of (&past->heap[child + 1]) < end_of (&past->heap[child]))
            child++;
        if (end_of (&past->heap[child]) >= end_of (&last))
            break;
        /* -Wanalyzer-malloc-leak is wrong here: the heap owns the jobs */
        past->heap[i] = past->heap[child];
        i = child;
    }
    if (past->n_heap > 0)
        /* -Wanalyzer-malloc-leak is wrong here, too */
        past->heap[i] = last;
    return top;
}

int dn_past_until (struct dn_past *past, int64_t now_s, struct dn_err *err)
{
    while (past->n_heap > 0 && end_of (&past->heap[0]) <= now_s) {
        struct pending pending = pop (past);

        if (learn (past, &pending, err) < 0)
            return -1;
    }
    return 0;
}

/* --- what is known ---------------------------------------------------------------- */

static bool fit (struct shape *shape, dn_app_key key)
{
    if (!shape->fitted) {
        shape->row = (struct dn_app_row){
            .key = key, .type = shape->type, .gpus = (uint16_t) shape->gpus};
        if (!dn_fit_row (shape->seen.runs,
                         shape->seen.n,
                         shape->seen.unit,
                         &dn_fit_prior_default,
                         &shape->row))
            shape->row.runs = 0;
        shape->fitted = true;
    }
    return shape->row.runs > 0;
}

const struct dn_apps *dn_past_history (struct dn_past *past, dn_app_key key)
{
    struct app *app = place_of (past->table, past->n_table, key);
    struct dn_apps *history = &past->history;

    if (key == 0 || app->key == 0)
        return NULL;
    if (app->n_shapes > past->rows_room) {
        struct dn_app_row *rows =
            realloc (past->rows, (size_t) app->n_shapes * sizeof (*rows));

        if (!rows)
            return NULL;
        past->rows = rows;
        past->rows_room = app->n_shapes;
    }
    *history = (struct dn_apps){
        .types = past->types, .n_types = past->n_types, .rows = past->rows};
    for (int i = 0; i < app->n_shapes; i++)
        if (fit (&app->shapes[i], key))
            past->rows[history->n_rows++] = app->shapes[i].row;
    return history->n_rows > 0 ? history : NULL;
}

struct dn_guarded *dn_past_guarded (struct dn_past *past)
{
    return &past->guarded;
}
