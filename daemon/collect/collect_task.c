/* collect_task.c - the task that keeps the jobs that have finished
 *
 * In the loop a pass ends after a while, so that the tasks beside it are not kept
 * waiting while the jobs of a year are read for the first time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/messages.h"
#include "collect/collecting.h"
#include "collect/sources.h"
#include "host/stopwatch.h"
#include "slurm/ended.h"

/* How long a pass in the loop lasts, and how often old jobs are deleted. */
#define PASS_MS       1500
#define PRUNE_EVERY_S 3600

#define DAY_S 86400.0

struct collect {
    int64_t pruned_s; /* when, seconds since 1970 */
};

/* What a pass shows while it runs. */
struct pass {
    const struct dn_daemon *d;
    int64_t begun_ms;
    bool terminal;
};

/* "2026-11-23T10:00", local time. */
struct moment {
    char text[32];
};

static struct moment moment_of (int64_t time_s)
{
    struct moment moment = {""};
    time_t at = (time_t) time_s;
    struct tm local;

    if (localtime_r (&at, &local))
        strftime (moment.text, sizeof (moment.text), "%Y-%m-%dT%H:%M", &local);
    return moment;
}

static void show_progress (const struct dn_collecting *c, double share)
{
    char text[128];

    snprintf (text,
              sizeof (text),
              dn_say_collect_progress,
              c->n_jobs,
              moment_of (c->reached_s).text,
              100 * share);
    fprintf (stderr, "\r%s\033[K", text);
}

static int after_period (void *to, const struct dn_collecting *c)
{
    const struct pass *pass = to;
    double whole = (double) (c->now_s - c->begun_s);

    if (pass->terminal && whole > 0)
        show_progress (c, (double) (c->reached_s - c->begun_s) / whole);
    return !pass->d->once && dn_monotonic_ms () - pass->begun_ms > PASS_MS;
}

/* Errors of slurmdbd are not those of slurmctld, for which the loop would wait. */
static int not_slurmctld (const struct dn_daemon *d, struct dn_err *err)
{
    if (!d->once && err->code == DN_E_TIME)
        err->code = DN_E_IO;
    return dn_err_wrap (err, "collect");
}

static struct dn_store *open_store (const struct dn_daemon *d, struct dn_err *err)
{
    char path[DN_SITE_PATH_MAX + DN_NAME_MAX];

    snprintf (path, sizeof (path), "%s/%s", d->site->state_dir, DN_STORE_FILE);
    return dn_store_open (d->store ? d->store : path, true, err);
}

static void print_json (const struct dn_collecting *c)
{
    printf ("{\"source\": \"%s\", \"cluster\": \"%s\", \"jobs\": %" PRId64
            ", \"records\": %" PRId64 ", \"since_s\": %" PRId64
            ", \"until_s\": %" PRId64 "}\n",
            c->source->name,
            c->cluster,
            c->n_jobs,
            c->n_records,
            c->begun_s,
            c->reached_s);
}

static void tell (const struct dn_daemon *d, const struct dn_collecting *c)
{
    if (d->json)
        print_json (c);
    else
        dn_log (d->once ? DN_LOG_INFO : DN_LOG_DEBUG,
                dn_say_collect_done,
                c->n_jobs,
                moment_of (c->begun_s).text,
                moment_of (c->reached_s).text,
                c->n_records,
                d->dry_run ? dn_say_collect_dry : "");
}

static int prune (struct collect *collect,
                  const struct dn_daemon *d,
                  struct dn_store *store,
                  struct dn_err *err)
{
    if (d->now_s - collect->pruned_s < PRUNE_EVERY_S)
        return 0;
    if (dn_store_prune (
            store, d->now_s - (int64_t) (d->site->keep_jobs_days * DAY_S), err)
        < 0)
        return -1;
    collect->pruned_s = d->now_s;
    return 0;
}

/* Collect from an open source. */
static int pass_over (struct collect *collect,
                      struct dn_daemon *d,
                      const struct dn_source *source,
                      struct dn_err *err)
{
    struct pass pass = {
        .d = d, .begun_ms = dn_monotonic_ms (), .terminal = d->once && isatty (2)};
    dn_cleanup (dn_store_cleanup) struct dn_store *store =
        d->dry_run ? NULL : open_store (d, err);
    int64_t first_s = d->now_s - (int64_t) (d->site->keep_jobs_days * DAY_S);
    struct dn_collecting c = {.source = source,
                              .store = store,
                              .cluster = dn_link_cluster_name (),
                              .now_s = d->now_s,
                              .since_s = d->since_s,
                              .first_s = first_s > 0 ? first_s : 0,
                              .after = after_period,
                              .to = &pass};
    int rc;

    if (!store && !d->dry_run)
        return -1;
    rc = dn_collect (&c, err);
    if (pass.terminal)
        fprintf (stderr, "\r\033[K");
    if (rc < 0)
        return -1;
    tell (d, &c);
    if (rc > 0 || !store)
        return rc;
    if (dn_sources_measure (d->site, store, c.begun_s, err) < 0)
        return -1;
    return d->store ? 0 : prune (collect, d, store, err);
}

/* Has the cluster no accounting, so that there is nothing to collect? In the loop that
 * is no error; a command says so.
 */
static bool has_no_accounting (const struct dn_daemon *d)
{
    struct dn_link_conf conf;

    return !d->once && strcmp (d->site->accounting, DN_SITE_SLURMDBD) == 0
           && dn_link_conf (d->link, &conf, NULL) == 0 && !conf.accounts;
}

static int run_collect (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    dn_cleanup (dn_source_close) struct dn_source source = {.name = NULL};
    int rc;

    if (has_no_accounting (d))
        return 0;
    rc = dn_source_open (d->site, &source, err);
    if (rc == 0 && d->once)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_accounting_off);
    if (rc > 0)
        rc = pass_over (memory, d, &source, err);
    return rc < 0 ? not_slurmctld (d, err) : rc;
}

const struct dn_task dn_task_collect = {
    .name = "collect",
    .help = "keep the jobs that have finished, to learn from them",
    .interval_offset = offsetof (struct dn_site, collect_interval_s),
    .alone = true,
    .memory = sizeof (struct collect),
    .run = run_collect,
};
