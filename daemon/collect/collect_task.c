/* collect_task.c - the task that keeps the jobs that have finished
 *
 * In the loop it starts 'dnnestd collect --once', which slurmdbd may keep waiting, and
 * which is killed where an answer needs too much memory: the next one continues.
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
#include "errand.h"
#include "collect/collecting.h"
#include "collect/prometheus.h"

/* Of the process that collects for the loop. Bytes are those of its data. */
#define LIMIT_S    600
#define MEMORY_MAX (INT64_C (112) << 20)

#define DAY_S 86400.0

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
    double whole = (double) (c->now_s - c->begun_s);

    if (*(const bool *) to && whole > 0)
        show_progress (c, (double) (c->reached_s - c->begun_s) / whole);
    return 0;
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
        dn_log (DN_LOG_INFO,
                dn_say_collect_done,
                c->n_jobs,
                moment_of (c->begun_s).text,
                moment_of (c->reached_s).text,
                c->n_records,
                d->dry_run ? dn_say_collect_dry : "");
    if (c->n_skipped > 0)
        dn_log (DN_LOG_ERROR, dn_say_collect_skipped, c->n_skipped);
}

/* Ask the site's Prometheus about jobs in the store that are not measured yet. */
static int measure (const struct dn_site *site,
                    struct dn_store *store,
                    int64_t since_s,
                    struct dn_err *err)
{
    char usual[DN_SITE_PATH_MAX + DN_NAME_MAX];
    struct dn_measuring measuring = {.url = site->prometheus,
                                     .queries = site->prometheus_queries,
                                     .now_s = (int64_t) time (NULL),
                                     .since_s = since_s};

    if (strcmp (site->prometheus, DN_SITE_NONE) == 0)
        return 0;
    snprintf (usual, sizeof (usual), "%s/prometheus.queries", site->state_dir);
    if (strcmp (measuring.queries, DN_SITE_NONE) == 0)
        measuring.queries = access (usual, F_OK) == 0 ? usual : "";
    return dn_prometheus_measure (&measuring, store, err);
}

static void close_source (struct dn_source *source)
{
    if (source->close)
        source->close (source->self);
}

/* Collect from an open source. */
static int pass_over (struct dn_daemon *d,
                      const struct dn_source *source,
                      struct dn_err *err)
{
    bool terminal = isatty (2);
    dn_cleanup (dn_store_cleanup) struct dn_store *store =
        d->dry_run ? NULL : open_store (d, err);
    int64_t first_s = d->now_s - (int64_t) (d->site->keep_jobs_days * DAY_S);
    struct dn_collecting c = {.source = source,
                              .store = store,
                              .cluster = dn_link_cluster_name (),
                              .progress_dir = d->site->progress_dir,
                              .now_s = d->now_s,
                              .since_s = d->since_s,
                              .first_s = first_s > 0 ? first_s : 0,
                              .after = after_period,
                              .to = &terminal};
    int rc;

    if (!store && !d->dry_run)
        return -1;
    rc = dn_collect (&c, err);
    if (terminal)
        fprintf (stderr, "\r\033[K");
    if (rc < 0)
        return -1;
    tell (d, &c);
    if (!store)
        return 0;
    if (measure (d->site, store, c.begun_s, err) < 0)
        return -1;
    return d->store ? 0 : dn_store_prune (store, first_s, err);
}

/* Has the cluster no accounting, so that there is nothing to collect? In the loop that
 * is no error; a command says so.
 */
static bool has_no_accounting (const struct dn_daemon *d)
{
    struct dn_link_conf conf;

    if (strcmp (d->site->accounting, DN_SITE_NONE) == 0)
        return true;
    return dn_link_conf (d->link, &conf, NULL) == 0 && !conf.accounts;
}

/* Have it done by another process. */
static int send_for (struct dn_child *child, struct dn_daemon *d, struct dn_err *err)
{
    const char *args[8] = {"/proc/self/exe", "collect", "--once"};
    const struct dn_errand errand = {
        .name = "collect", .args = args, .limit_s = LIMIT_S, .memory_max = MEMORY_MAX};
    int n = 3;

    if (d->dry_run)
        args[n++] = "--dry-run";
    if (d->conf) {
        args[n++] = "--conf";
        args[n++] = d->conf;
    }
    return dn_child_run (child, &errand, err);
}

static int run_collect (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    dn_cleanup (close_source) struct dn_source source = {.name = NULL};
    const char *accounting = d->site->accounting;

    if (!d->once)
        return has_no_accounting (d) ? 0 : send_for (memory, d, err);
    if (strcmp (accounting, DN_SITE_NONE) == 0)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_accounting_off);
    if (strcmp (accounting, DN_SITE_SLURMDBD) != 0)
        return dn_err_set (err, DN_E_RANGE, dn_say_err_accounting_url, accounting);
    if (dn_ended_open (&source, err) < 0 || pass_over (d, &source, err) < 0)
        return dn_err_wrap (err, "collect");
    return 0;
}

const struct dn_task dn_task_collect = {
    .name = "collect",
    .help = "keep the jobs that have finished, to learn from them",
    .interval_offset = offsetof (struct dn_site, collect_interval_s),
    .alone = true,
    .memory = sizeof (struct dn_child),
    .run = run_collect,
    .end = dn_child_end,
};
