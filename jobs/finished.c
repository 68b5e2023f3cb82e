/* finished.c - a finished job: its columns, its end, its row of a table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/finished.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "rewrite/recorded.h"

/* The largest numbers that a cell may have. */
#define REAL_MAX  1e15
#define COUNT_MAX (INT64_C (1) << 53)

const struct dn_finished_column dn_finished_columns[DN_N_FINISHED_COLUMNS] = {
#define DN_FINISHED_COLUMN(name, type, help)                                           \
    {#name, DN_FINISHED_##type, offsetof (struct dn_finished, name), help},
#include "jobs/finished_columns.inc"
#undef DN_FINISHED_COLUMN
};

static void *member_of (struct dn_finished *job,
                        const struct dn_finished_column *column)
{
    return (char *) job + column->offset;
}

void dn_finished_clear (struct dn_finished *job)
{
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        void *member = member_of (job, &dn_finished_columns[i]);

        switch (dn_finished_columns[i].type) {
        case DN_FINISHED_COUNT:
            *(int64_t *) member = DN_UNSET;
            break;
        case DN_FINISHED_REAL:
            *(double *) member = NAN;
            break;
        default:
            *(const char **) member = "";
            break;
        }
    }
}

#define DAY_S 86400

void dn_finished_settle_times (struct dn_finished *job)
{
    if (job->start_s <= 0 || job->start_s > job->end_s)
        job->start_s = job->end_s;
    if (job->eligible_s <= 0 || job->eligible_s >= job->end_s + DAY_S)
        job->eligible_s = DN_UNSET;
}

double dn_finished_ran_s (const struct dn_finished *job)
{
    int64_t suspended_s = job->suspended_s > 0 ? job->suspended_s : 0;

    if (job->start_s <= 0 || job->end_s - job->start_s <= suspended_s)
        return 0;
    return (double) (job->end_s - job->start_s - suspended_s);
}

int64_t dn_finished_waits_from (const struct dn_finished *job)
{
    return job->eligible_s > 0 ? job->eligible_s : job->submit_s;
}

void dn_first_host (const char *nodes, struct dn_buf *host)
{
    if (strcmp (nodes, "None assigned") == 0)
        return;
    while (*nodes != '\0' && *nodes != ',') {
        size_t len = strcspn (nodes, "[,");

        dn_buf_put (host, nodes, len < 128 ? len : 128);
        nodes += len;
        if (*nodes != '[')
            return;
        dn_buf_put (host, nodes + 1, strspn (nodes + 1, "0123456789"));
        nodes += strcspn (nodes, "]");
        nodes += *nodes == ']';
    }
}

bool dn_finished_changed (const struct dn_finished *job)
{
    return strcmp (job->mode, "enforce") == 0 && strcmp (job->verdict, "change") == 0;
}

/* A job that was started again for GPU memory had been moved to another type. */
bool dn_finished_memory_killed (const struct dn_finished *job)
{
    return dn_finished_changed (job) && job->set_mem_gb > 0
           && (strcmp (job->outcome, "out_of_memory") == 0
               || (job->rescued == 1 && job->set_gpu[0] == '\0'));
}

/* --- outcomes -------------------------------------------------------------------- */

/* A job that fails within this time has not begun its work: an error of its start. */
#define EARLY_S 300

const struct dn_names dn_outcome_names = DN_NAMES_OF (OUTCOMES);

/* What Slurm's states say alone. */
static const struct {
    const char *state;
    enum dn_outcome outcome;
} states[] = {
    {"COMPLETED", DN_OUTCOME_COMPLETED},
    {"FAILED", DN_OUTCOME_FAILED},
    {"OUT_OF_MEMORY", DN_OUTCOME_OUT_OF_MEMORY},
    {"TIMEOUT", DN_OUTCOME_LIMIT_USER},
    {"DEADLINE", DN_OUTCOME_DEADLINE},
    {"PREEMPTED", DN_OUTCOME_PREEMPTED},
    {"REQUEUED", DN_OUTCOME_REQUEUED},
    {"NODE_FAIL", DN_OUTCOME_NODE_FAILURE},
    {"BOOT_FAIL", DN_OUTCOME_NODE_FAILURE},
    {"CANCELLED", DN_OUTCOME_CANCELLED},
};

/* Was the limit at the end below the user's own, because dnnest had changed it? */
static bool limit_is_ours (const struct dn_finished *job)
{
    if (!dn_finished_changed (job) || job->set_limit_s == DN_UNSET)
        return false;
    if (job->asked_limit_s == DN_UNSET) /* the user had stated none */
        return job->limit_s == job->set_limit_s;
    return job->limit_s != DN_UNLIMITED
           && (job->asked_limit_s == DN_UNLIMITED || job->limit_s < job->asked_limit_s);
}

enum dn_outcome dn_outcome_of (const struct dn_finished *job)
{
    enum dn_outcome outcome = DN_OUTCOME_UNKNOWN;

    for (size_t i = 0; i < DN_N_ELEMENTS (states); i++)
        if (strcmp (job->state, states[i].state) == 0)
            outcome = states[i].outcome;
    if (outcome == DN_OUTCOME_FAILED && dn_finished_ran_s (job) < EARLY_S)
        return DN_OUTCOME_FAILED_EARLY;
    if (outcome == DN_OUTCOME_LIMIT_USER && limit_is_ours (job))
        return DN_OUTCOME_LIMIT_OURS;
    return outcome;
}

enum dn_outcome dn_finished_outcome (const struct dn_finished *job)
{
    int named = dn_names_find (&dn_outcome_names, job->outcome, strlen (job->outcome));

    return named > 0 ? (enum dn_outcome) named : dn_outcome_of (job);
}

enum dn_evidence dn_outcome_evidence (enum dn_outcome outcome)
{
    switch (outcome) {
    case DN_OUTCOME_COMPLETED:
        return DN_EVIDENCE_EXACT;
    case DN_OUTCOME_LIMIT_OURS:
    case DN_OUTCOME_LIMIT_USER:
    case DN_OUTCOME_DEADLINE:
    case DN_OUTCOME_PREEMPTED:
    case DN_OUTCOME_CANCELLED:
        return DN_EVIDENCE_AT_LEAST;
    default:
        return DN_EVIDENCE_NOTHING;
    }
}

/* --- the record ------------------------------------------------------------------- */

/* CPUs in all, of what a part of the record says per GPU or per task. */
static int64_t cpus_of (const struct dn_recorded *r,
                        int64_t gpus,
                        int64_t each_gpu,
                        int64_t per_task)
{
    if (each_gpu > 0 && each_gpu <= DN_COUNT_MAX && gpus > 0
        && gpus <= DN_COUNT_MAX / 8)
        return each_gpu * gpus;
    if (per_task > 0 && per_task <= DN_COUNT_MAX && r->tasks <= DN_COUNT_MAX / 8)
        return per_task * (r->tasks > 0 ? r->tasks : 1);
    return DN_UNSET;
}

/* GPUs that the job has by its record. */
static int64_t gpus_of (const struct dn_recorded *r)
{
    return r->changed && r->set_gpus != DN_UNSET ? r->set_gpus : r->gpus;
}

static double real_of (int64_t count)
{
    return count == DN_UNSET ? NAN : (double) count;
}

/* The time on the type that an open job got, by that on the requested one. */
static double slow_of (const struct dn_finished *job, const struct dn_recorded *r)
{
    int at = dn_open_find (r, job->gpu[0] != '\0' ? job->gpu : dn_recorded_gpu (r));

    return at > 0 ? (double) r->open[at].slow / (double) r->open[0].slow : NAN;
}

static void take_decision (struct dn_finished *job, const struct dn_recorded *r)
{
    job->mode = r->mode;
    job->verdict = r->verdict;
    job->why = r->why;
    job->warn = r->warn;
    job->spec = r->spec;
    job->app = r->app;
    job->kin = r->kin;
    job->work_unit = r->work_unit;
    job->work = r->work;
    job->asked_limit_s = dn_recorded_cap (r);
    job->asked_gpu = r->asked_gpu;
    job->asked_gpus = r->gpus;
    job->asked_cpus =
        cpus_of (r, r->gpus, r->asked_cpus_each_gpu, r->asked_cpus_per_task);
    job->asked_mem_gb =
        real_of (r->asked_mem_mb) / 1024 * (double) (job->nodes > 0 ? job->nodes : 1);
    job->set_limit_s = dn_recorded_set (r);
    job->set_gpu = r->steer_gpu[0] != '\0' ? r->steer_gpu : r->set_gpu;
    job->set_cpus =
        cpus_of (r, gpus_of (r), r->set_cpus_each_gpu, r->set_cpus_per_task);
    job->pred_wait_s = r->wait_s;
    job->set_mem_gb = real_of (r->set_mem_mb) / 1024;
    job->said_slow = slow_of (job, r);
    job->extensions = r->n_later;
    job->rescued = r->rescued;
}

static void take_prediction (struct dn_finished *job, const struct dn_recorded *r)
{
    bool moved = dn_recorded_there (r, 1) != 1;

    job->base_s = dn_recorded_there (r, r->base_s);
    job->likely_s = dn_recorded_there (r, real_of (r->likely_s));
    job->bound_s = dn_recorded_there (r, r->bound_s);
    job->bound_bp = r->bound_bp;
    job->p95_s = dn_recorded_there (r, real_of (r->p95_s));
    job->pred_gpu = moved ? "" : r->pred_gpu; /* which has its times for one device */
    job->pred_mem_gb = r->pred_mem_mb / 1024;
    job->pred_cpus = r->pred_cpus;
    job->confidence = r->confidence / 100;
    job->bundle = r->bundle;
    job->history_runs = r->history_runs;
}

/* What accounting does not count: the type that dnnest set, or that was asked for. */
static void complete_gpus (struct dn_finished *job, const struct dn_recorded *recorded)
{
    if (job->gpus == DN_UNSET)
        job->gpus = gpus_of (recorded);
    if (job->gpu[0] == '\0' && job->gpus != 0)
        job->gpu = dn_recorded_gpu (recorded);
}

void dn_finished_from_record (struct dn_finished *job,
                              const char *admin_comment,
                              struct dn_recorded *recorded)
{
    dn_record_read (admin_comment, recorded, NULL);
    if (recorded->found) {
        take_decision (job, recorded);
        take_prediction (job, recorded);
        complete_gpus (job, recorded);
    }
    job->outcome = dn_names_get (&dn_outcome_names, (int) dn_outcome_of (job));
}

/* --- tables ---------------------------------------------------------------------- */

static bool is_limit (const struct dn_finished_column *column)
{
    return column->offset == offsetof (struct dn_finished, limit_s)
           || column->offset == offsetof (struct dn_finished, asked_limit_s)
           || column->offset == offsetof (struct dn_finished, set_limit_s);
}

/* Read a cell that is not empty. */
static int read_cell (const struct dn_finished_column *column,
                      const char *cell,
                      void *member,
                      struct dn_err *err)
{
    static const char unlimited[] = "UNLIMITED";

    switch (column->type) {
    case DN_FINISHED_COUNT:
        if (is_limit (column)
            && dn_word_equal (cell, strlen (cell), unlimited, strlen (unlimited))) {
            *(int64_t *) member = DN_UNLIMITED;
            return 0;
        }
        return dn_int_read (dn_span_of (cell), column->name, 0, COUNT_MAX, member, err);
    case DN_FINISHED_REAL:
        return dn_real_read (dn_span_of (cell), column->name, 0, REAL_MAX, member, err);
    default:
        *(const char **) member = cell;
        return 0;
    }
}

int dn_finished_read (const struct dn_row *row,
                      struct dn_finished *job,
                      struct dn_err *err)
{
    int next = 0;

    dn_finished_clear (job);
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++) {
        const struct dn_finished_column *column = &dn_finished_columns[i];
        const char *cell = dn_row_next (row, column->name, &next);

        if (cell && cell[0] != '\0'
            && read_cell (column, cell, member_of (job, column), err) < 0)
            return -1;
    }
    return 0;
}
