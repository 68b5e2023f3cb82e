/* harm.c - jobs that ended worse than their request would have let them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/harm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/hash.h"
#include "base/text.h"
#include "policy/policy.h"
#include "predict/apps.h"

/* A power of two, more than twice the applications. */
#define SLOTS 524288

_Static_assert(SLOTS > 2 * DN_HARM_APPS_MAX, "a search ends at an empty slot");

#define BIT(kind) (1U << (kind))

const struct dn_names dn_harm_names = DN_NAMES_OF (HARMS);

/* What is known of the runs of an application, or of those on a type. */
struct dn_harm_app {
    uint64_t key;         /* 0: none */
    int32_t completed[2]; /* not changed, changed */
    int32_t failed[2];
    double longest_s; /* for a unit of work, of those that completed */
};

struct dn_harm *dn_harm_new (void)
{
    struct dn_harm *harm = calloc (1, sizeof (*harm));

    if (harm)
        harm->apps = calloc (SLOTS, sizeof (*harm->apps));
    if (harm && !harm->apps) {
        free (harm);
        return NULL;
    }
    return harm;
}

void dn_harm_free (struct dn_harm *harm)
{
    if (!harm)
        return;
    free (harm->jobs);
    free (harm->apps);
    free (harm);
}

/* --- keys ------------------------------------------------------------------------- */

/* With its end, so that two texts are not one. */
static uint64_t mix (uint64_t hash, const char *text)
{
    return dn_hash_bytes (hash, text, strlen (text) + 1);
}

/* 0: it has no application. */
static uint64_t app_key (const struct dn_finished *job)
{
    return job->app[0] == '\0' ? 0
                               : dn_app_key_of_user (job->user, job->app)
                                     ^ mix (DN_HASH_SEED, job->user_name);
}

static uint64_t type_key (const struct dn_finished *job, const char *gpu, int64_t gpus)
{
    uint64_t key = app_key (job);
    uint64_t width = (uint64_t) gpus * UINT64_C (0x9E3779B97F4A7C15);

    return key && gpu[0] != '\0' ? mix (mix (key ^ width, gpu), job->work_unit) : 0;
}

static uint64_t queue_of (const struct dn_finished *job, const char *gpu)
{
    return mix (mix (mix (DN_HASH_SEED, job->cluster), job->qos), gpu);
}

/* --- applications ----------------------------------------------------------------- */

/* The entry, or an empty one; NULL: there are too many, or none is meant. */
static struct dn_harm_app *find (const struct dn_harm *harm, uint64_t key)
{
    uint64_t at = key % SLOTS;

    if (key == 0)
        return NULL;
    while (harm->apps[at].key != 0 && harm->apps[at].key != key)
        at = (at + 1) % SLOTS;
    return harm->apps[at].key == 0 && harm->n_apps >= DN_HARM_APPS_MAX
               ? NULL
               : &harm->apps[at];
}

static bool is_failure (enum dn_outcome outcome)
{
    return outcome == DN_OUTCOME_FAILED || outcome == DN_OUTCOME_FAILED_EARLY;
}

static double work_of (const struct dn_finished *job)
{
    return job->work > 0 ? job->work : 1;
}

static void note (struct dn_harm *harm,
                  uint64_t key,
                  const struct dn_finished *job,
                  enum dn_outcome outcome)
{
    struct dn_harm_app *app = find (harm, key);
    bool changed = dn_finished_changed (job) && job->rescued != 1;
    double ran_s = dn_finished_ran_s (job);

    if (!app)
        return;
    harm->n_apps += app->key == 0;
    app->key = key;
    if (is_failure (outcome))
        app->failed[changed]++;
    if (outcome != DN_OUTCOME_COMPLETED || !(ran_s > 0))
        return;
    app->completed[changed]++;
    app->longest_s = fmax (app->longest_s, ran_s / work_of (job));
}

/* --- one job ---------------------------------------------------------------------- */

/* A start as requested is not moved. */
static bool is_moved (const struct dn_finished *job)
{
    return dn_finished_changed (job) && job->rescued != 1 && job->gpu[0] != '\0'
           && job->asked_gpu[0] != '\0' && strcmp (job->gpu, job->asked_gpu) != 0;
}

static struct dn_harm_job made_of (const struct dn_harm *harm,
                                   const struct dn_finished *job)
{
    int64_t gpus = job->asked_gpus >= 0 ? job->asked_gpus : job->gpus;
    struct dn_harm_job made = {
        .id = mix (DN_HASH_SEED, job->cluster) ^ (uint64_t) job->raw_id,
        .end_s = job->end_s,
        .eligible_s = dn_finished_waits_from (job),
        .start_s = job->start_s,
        .limit_s = job->limit_s,
        .asked_limit_s = job->asked_limit_s,
        .gpus = gpus,
        .cpus = job->asked_cpus >= 0 ? job->asked_cpus : job->cpus,
        .nodes = job->nodes,
        .mem_gb = job->set_mem_gb,
        .rescued = job->rescued == 1,
        .logged =
            harm->cluster
            && (harm->cluster[0] == '\0' || strcmp (harm->cluster, job->cluster) == 0),
        .ran_s = dn_finished_ran_s (job),
        .work = work_of (job),
        .said_slow = job->said_slow,
        .allowed_s = NAN,
        .queue = queue_of (job, job->asked_gpu),
        .app_key = app_key (job),
        .type_key = type_key (job, job->asked_gpu, gpus),
    };

    snprintf (made.job, DN_NAME_MAX, "%s", job->job);
    snprintf (made.user, DN_NAME_MAX, "%s", job->user_name);
    snprintf (made.app, DN_NAME_MAX, "%s", job->app);
    snprintf (made.asked_gpu, DN_NAME_MAX, "%s", job->asked_gpu);
    snprintf (made.gpu, DN_NAME_MAX, "%s", job->gpu);
    return made;
}

/* Was something of the job changed that its memory depends on? */
static bool memory_depends (const struct dn_finished *job)
{
    return job->set_mem_gb > 0 || is_moved (job) || job->rescued == 1
           || (job->asked_gpus > 0 && job->gpus > 0 && job->gpus < job->asked_gpus)
           || job->mem_gb < job->asked_mem_gb;
}

/* Count what is known at once; return the kinds that the job suffered. */
static unsigned judge_now (struct dn_harm *harm,
                           const struct dn_finished *job,
                           enum dn_outcome outcome)
{
    struct dn_harm_sum *limit = &harm->of[DN_HARM_LIMIT];
    struct dn_harm_sum *memory = &harm->of[DN_HARM_MEMORY];
    unsigned harmed = 0;

    if (outcome == DN_OUTCOME_UNKNOWN) {
        limit->unknown++;
        memory->unknown += memory_depends (job);
        return 0;
    }
    limit->looked++;
    if (outcome == DN_OUTCOME_LIMIT_OURS)
        harmed |= BIT (DN_HARM_LIMIT);
    if (!memory_depends (job))
        return harmed;
    memory->looked++;
    if (outcome == DN_OUTCOME_OUT_OF_MEMORY || job->rescued == 1)
        harmed |= BIT (DN_HARM_MEMORY);
    return harmed;
}

/* The kinds that can only be judged by other jobs. */
static unsigned judge_later (struct dn_harm *harm,
                             const struct dn_finished *job,
                             enum dn_outcome outcome)
{
    enum dn_evidence evidence = dn_outcome_evidence (outcome);
    unsigned later = 0;

    if (job->rescued == 1)
        return 0;
    if (is_failure (outcome))
        later |= BIT (DN_HARM_FAILED);
    else
        harm->of[DN_HARM_FAILED].looked++;
    if (!is_moved (job))
        return later;
    harm->moved++;
    if (evidence != DN_EVIDENCE_NOTHING && dn_finished_ran_s (job) > 0)
        later |= BIT (DN_HARM_SLOWER);
    if (job->start_s > 0 && dn_finished_waits_from (job) > 0
        && job->start_s - dn_finished_waits_from (job) <= DN_HARM_WAIT_S)
        harm->of[DN_HARM_WAITED].looked++;
    else
        later |= BIT (DN_HARM_WAITED);
    return later;
}

static int keep (struct dn_harm *harm,
                 const struct dn_harm_job *made,
                 struct dn_err *err)
{
    for (int kind = 0; harm->n_jobs == DN_HARM_JOBS_MAX && kind < DN_N_HARMS; kind++)
        harm->of[kind].unknown += (made->waiting & BIT (kind)) != 0;
    if (harm->n_jobs == DN_HARM_JOBS_MAX)
        return 0;
    return dn_rows_add (harm->jobs, harm->n_jobs, *made, err);
}

int dn_harm_add (struct dn_harm *harm,
                 const struct dn_finished *job,
                 struct dn_err *err)
{
    enum dn_outcome outcome = dn_finished_outcome (job);
    struct dn_harm_job made;

    harm->described += job->verdict[0] != '\0';
    note (harm, app_key (job), job, outcome);
    note (harm, type_key (job, job->gpu, job->gpus), job, outcome);
    if (!dn_finished_changed (job))
        return 0;
    harm->changed++;
    made = made_of (harm, job);
    made.exact = dn_outcome_evidence (outcome) == DN_EVIDENCE_EXACT;
    made.harm = judge_now (harm, job, outcome);
    made.waiting = judge_later (harm, job, outcome);
    return made.harm || made.waiting ? keep (harm, &made, err) : 0;
}

/* --- who was served before -------------------------------------------------------- */

static int by_queue (const void *a, const void *b)
{
    const struct dn_harm_job *x = a;
    const struct dn_harm_job *y = b;
    bool x_waits = (x->waiting & BIT (DN_HARM_WAITED)) != 0;

    if (x_waits != ((y->waiting & BIT (DN_HARM_WAITED)) != 0))
        return x_waits ? -1 : 1;
    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

bool dn_harm_again (struct dn_harm *harm)
{
    int64_t n = 0;

    if (harm->n_jobs == 0)
        return false;
    qsort (harm->jobs, (size_t) harm->n_jobs, sizeof (*harm->jobs), by_queue);
    for (; n < harm->n_jobs && harm->jobs[n].waiting & BIT (DN_HARM_WAITED); n++)
        if (harm->jobs[n].start_s - harm->jobs[n].eligible_s > harm->most_wait_s)
            harm->most_wait_s = harm->jobs[n].start_s - harm->jobs[n].eligible_s;
    harm->n_waiting = n;
    return n > 0;
}

/* The first of those of the queue that started after 'start_s'. */
static int64_t first_after (const struct dn_harm *harm, uint64_t queue, int64_t start_s)
{
    int64_t low = 0;
    int64_t high = harm->n_waiting;

    while (low < high) {
        int64_t at = low + (high - low) / 2;
        const struct dn_harm_job *job = &harm->jobs[at];

        if (job->queue < queue || (job->queue == queue && job->start_s <= start_s))
            low = at + 1;
        else
            high = at;
    }
    return low;
}

/* Would the waiting job have fitted where the other one started? */
static bool had_room (const struct dn_harm_job *waits, const struct dn_finished *job)
{
    return job->gpus >= waits->gpus && job->nodes >= waits->nodes
           && (job->cpus < 0 || job->cpus >= waits->cpus);
}

static bool as_long (const struct dn_harm_job *waits, const struct dn_finished *job)
{
    if (waits->asked_limit_s == DN_UNLIMITED || job->limit_s == DN_UNLIMITED)
        return job->limit_s == DN_UNLIMITED;
    return job->limit_s >= waits->asked_limit_s;
}

void dn_harm_show (struct dn_harm *harm, const struct dn_finished *job)
{
    uint64_t queue = queue_of (job, job->gpu);

    if (job->gpus <= 0 || job->start_s <= 0 || job->gpu[0] == '\0'
        || dn_finished_ran_s (job) <= 0)
        return;
    for (int64_t i = first_after (harm, queue, job->start_s); i < harm->n_waiting;
         i++) {
        struct dn_harm_job *waits = &harm->jobs[i];
        int64_t late_s = waits->start_s - job->start_s;

        if (waits->queue != queue || late_s > harm->most_wait_s)
            return;
        if (waits->eligible_s > job->start_s || !had_room (waits, job))
            continue;
        waits->served = true;
        if (waits->eligible_s < dn_finished_waits_from (job) && as_long (waits, job)
            && late_s > DN_HARM_WAIT_S)
            waits->late_s = fmax (waits->late_s, (double) late_s);
    }
}

/* --- the end ---------------------------------------------------------------------- */

static void settle (struct dn_harm *harm,
                    struct dn_harm_job *job,
                    enum dn_harm_kind kind,
                    bool known,
                    bool harmed)
{
    if (!(job->waiting & BIT (kind)))
        return;
    if (known)
        harm->of[kind].looked++;
    else
        harm->of[kind].unknown++;
    if (known && harmed)
        job->harm |= BIT (kind);
}

static void settle_slower (struct dn_harm *harm, struct dn_harm_job *job)
{
    const struct dn_harm_app *runs = find (harm, job->type_key);
    double n = runs ? runs->completed[0] + runs->completed[1] : 0;
    bool known = runs && n >= DN_HARM_RUNS && job->said_slow > 0;
    double margin = 1 / (n + 1) > DN_HARM_CHANCE ? DN_OPEN_MARGIN : 1;

    if (known)
        job->allowed_s = runs->longest_s * job->work * job->said_slow * margin;
    settle (harm,
            job,
            DN_HARM_SLOWER,
            known && (job->exact || job->ran_s > job->allowed_s),
            job->ran_s > job->allowed_s);
}

/* By those who were served, else by the log of idle GPUs. */
static void settle_waited (struct dn_harm *harm, struct dn_harm_job *job)
{
    int64_t since_s = -1;

    if ((job->waiting & BIT (DN_HARM_WAITED)) && !(job->late_s > 0) && job->logged)
        since_s = dn_room_since (harm->room,
                                 job->asked_gpu,
                                 job->gpus,
                                 job->nodes,
                                 job->eligible_s,
                                 job->start_s - DN_HARM_WAIT_S);
    if (since_s > 0) {
        job->idle = true;
        job->late_s = (double) (job->start_s - since_s);
    }
    settle (harm,
            job,
            DN_HARM_WAITED,
            job->served || job->late_s > 0 || since_s == 0,
            job->late_s > 0);
}

/* The probability that all failures are by chance among the runs that were changed. */
static double chance_of (const struct dn_harm_app *runs)
{
    double changed = runs->completed[1] + runs->failed[1];
    double all = changed + runs->completed[0];
    double chance = 1;

    for (int i = 0; i < runs->failed[1] && chance > DN_HARM_CHANCE; i++)
        chance *= (changed - i) / (all - i);
    return chance;
}

static void settle_failed (struct dn_harm *harm, struct dn_harm_job *job)
{
    const struct dn_harm_app *runs = find (harm, job->app_key);
    bool only;
    bool harmed;

    if (!runs) {
        settle (harm, job, DN_HARM_FAILED, false, false);
        return;
    }
    job->others = runs->completed[0];
    only = job->others >= DN_HARM_RUNS && runs->failed[0] == 0;
    harmed = only && chance_of (runs) <= DN_HARM_CHANCE;
    job->perhaps = only && !harmed && (job->waiting & BIT (DN_HARM_FAILED));
    settle (harm,
            job,
            DN_HARM_FAILED,
            harmed || (!only && job->others + runs->failed[0] >= DN_HARM_RUNS),
            harmed);
}

/* --- the list --------------------------------------------------------------------- */

static int by_id (const void *a, const void *b)
{
    const struct dn_harm_job *x = a;
    const struct dn_harm_job *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->end_s > y->end_s) - (x->end_s < y->end_s);
}

/* Harmed, perhaps, not. */
static int rank (const struct dn_harm_job *job)
{
    return job->harm ? 0 : job->perhaps ? 1 : 2;
}

static int by_rank (const void *a, const void *b)
{
    const struct dn_harm_job *x = a;
    const struct dn_harm_job *y = b;

    if (rank (x) != rank (y))
        return rank (x) - rank (y);
    if (x->end_s != y->end_s)
        return x->end_s < y->end_s ? -1 : 1;
    return strcmp (x->job, y->job);
}

/* The starts of a job are one that was harmed. */
static void join (struct dn_harm *harm)
{
    int64_t n = 0;

    if (harm->n_jobs > 0)
        qsort (harm->jobs, (size_t) harm->n_jobs, sizeof (*harm->jobs), by_id);
    for (int64_t i = 0; i < harm->n_jobs; i++) {
        if (n > 0 && harm->jobs[n - 1].id == harm->jobs[i].id) {
            harm->jobs[i].harm |= harm->jobs[n - 1].harm;
            harm->jobs[i].perhaps |= harm->jobs[n - 1].perhaps;
            n--;
        }
        harm->jobs[n++] = harm->jobs[i];
    }
    harm->n_jobs = n;
    if (n > 0)
        qsort (harm->jobs, (size_t) n, sizeof (*harm->jobs), by_rank);
    for (int64_t i = 0; i < n; i++) {
        harm->n_harmed += rank (&harm->jobs[i]) == 0;
        harm->n_perhaps += rank (&harm->jobs[i]) == 1;
        for (int kind = 0; kind < DN_N_HARMS; kind++)
            harm->of[kind].harmed += (harm->jobs[i].harm & BIT (kind)) != 0;
    }
}

void dn_harm_end (struct dn_harm *harm)
{
    for (int64_t i = 0; i < harm->n_jobs; i++) {
        struct dn_harm_job *job = &harm->jobs[i];

        settle_slower (harm, job);
        settle_waited (harm, job);
        settle_failed (harm, job);
    }
    join (harm);
}
