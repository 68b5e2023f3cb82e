/* install.c - learns the history, and installs it if the gate lets it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/history/install.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/messages.h"
#include "host/files.h"
#include "host/put_file.h"
#include "host/stopwatch.h"
#include "host/view_files.h"
#include "learn/run_spec.h"

#define BEFORE DN_APPS_FILE ".1"

/* --- the log ---------------------------------------------------------------------- */

static void add_judged (struct json_object *line,
                        const char *key,
                        const struct dn_judged *judged)
{
    struct json_object *to;

    if (judged->runs == 0 || !(to = dn_json_put_object (line, key)))
        return;
    dn_json_put_number (to, "runs", judged->runs);
    dn_json_put_number (to, "error_ppm", (int64_t) (judged->error * 1e6));
    dn_json_put_number (to, "coverage_ppm", (int64_t) (judged->coverage * 1e6));
}

/* Append a line; nothing is installed whose line cannot be written. */
static int write_line (const char *state_dir,
                       struct json_object *line,
                       struct dn_err *err)
{
    struct dn_view_path path = dn_view_path (state_dir, DN_LEARN_LOG);
    dn_cleanup (dn_put_text_free) struct dn_put_text whole = {.len = 0};
    const char *text = dn_json_line (line);

    if (!text || dn_put_text_add (&whole, text, strlen (text)) < 0
        || dn_put_text_add (&whole, "\n", 1) < 0)
        return dn_refuse (err, no_memory_for, path.text);
    return dn_put_append (
        path.text, state_dir, (struct dn_span){whole.text, whole.len}, err);
}

static int log_event (const struct dn_site *site,
                      int64_t now_s,
                      const char *event,
                      const struct dn_learned *learned,
                      struct dn_err *err)
{
    dn_cleanup (dn_json_free) struct json_object *line = json_object_new_object ();

    if (!line || dn_json_put_number (line, "time", now_s) < 0
        || dn_json_put_text (line, "event", event) < 0)
        return dn_refuse (err, no_memory);
    if (learned) {
        dn_json_put_number (line, "rows", learned->n_rows);
        dn_json_put_number (line, "apps", learned->n_apps);
        dn_json_put_number (line, "worse", learned->gate.n_worse);
        dn_json_put_number (line, "took_ms", learned->took_ms);
        add_judged (line, "before", &learned->gate.before);
        add_judged (line, "after", &learned->gate.after);
        add_judged (line, "alone", &learned->gate.alone);
        dn_json_put_text (line, "why", learned->gate.why);
    }
    return write_line (site->state_dir, line, err);
}

/* --- files ------------------------------------------------------------------------ */

/* Copy the history in force. A link to a file of another user is forbidden, and root
 * may have written it.
 */
static int keep_old (const char *state_dir, struct dn_err *err)
{
    struct dn_view_path now = dn_view_path (state_dir, DN_APPS_FILE);
    struct dn_view_path old = dn_view_path (state_dir, BEFORE);
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (dn_view_text (now.text, DN_VIEW_THEIRS, DN_APPS_FILE_MAX, &text, &len, err) < 0)
        return -1;
    return text ? dn_put_file (old.text, (struct dn_span){text, len}, err) : 0;
}

static int write_pieces (const void *apps, dn_put_f put, void *to)
{
    return dn_apps_write (apps, put, to);
}

static int write_apps (const struct dn_learning *learning,
                       const struct dn_apps *apps,
                       struct dn_err *err)
{
    struct dn_view_path path = dn_view_path (learning->site->state_dir, DN_APPS_FILE);

    if (!learning->out && keep_old (learning->site->state_dir, err) < 0)
        return -1;
    return dn_put_pieces (
        learning->out ? learning->out : path.text, write_pieces, apps, err);
}

static bool is_held (const struct dn_site *site)
{
    struct dn_view_path path = dn_view_path (site->state_dir, DN_LEARN_HOLD);

    return access (path.text, F_OK) == 0;
}

/* --- the base --------------------------------------------------------------------- */

/* CPUs per GPU that the job had. */
static double cpus_per_gpu (const struct dn_finished *job)
{
    return job->cpus > 0 && job->gpus > 0 ? (double) job->cpus / (double) job->gpus : 0;
}

static double predict (const struct dn_site *site,
                       const struct dn_finished *job,
                       const struct dn_device *device,
                       const struct dn_spec *spec,
                       const struct dn_graph *graph)
{
    struct dn_predictor predictor = dn_site_predictor (site);
    const struct dn_case c = {
        .spec = spec, .graph = graph, .cpus_per_gpu = cpus_per_gpu (job)};
    struct dn_estimate estimate;

    predictor.user = job->user;
    if (dn_predict (&predictor, &c, &device, 1, &estimate, NULL) < 0
        || !(estimate.train_s.p50 > 0))
        return NAN;
    return estimate.train_s.p50;
}

/* What a past job would be predicted to take today, without history: the median of its
 * run time by its metadata, device and CPUs [s], or NaN. One whose network was
 * described in a sidecar is not known: accounting does not keep it. A dn_build_base_f.
 */
static double rebase (void *to, const struct dn_finished *job)
{
    const struct dn_site *site = *(const struct dn_site *const *) to;
    const struct dn_run_tables tables = {
        &site->catalogue, &site->datasets, &site->networks};
    struct dn_run run;
    const struct dn_device *device;
    struct dn_spec spec;
    struct dn_graph graph;
    double base_s;

    dn_run_clear (&run);
    run.spec = job->spec;
    run.gpu = job->pred_gpu;
    device = dn_run_device (&run, &site->catalogue, NULL);
    if (job->spec[0] == '\0' || !device
        || dn_run_spec (&run, &tables, &spec, &graph, NULL) < 0)
        return NAN;
    base_s = predict (site, job, device, &spec, &graph);
    dn_graph_free (&graph);
    return base_s;
}

/* --- learning --------------------------------------------------------------------- */

static void free_apps (struct dn_apps **apps)
{
    dn_apps_free (*apps);
}

static int64_t count_apps (const struct dn_apps *apps)
{
    int64_t n = 0;

    for (int64_t i = 0; i < apps->n_rows; i++)
        n += i == 0 || apps->rows[i].key != apps->rows[i - 1].key;
    return n;
}

/* Install what was learned, or say in the log why not. */
static int finish (const struct dn_learning *learning,
                   const struct dn_apps *apps,
                   struct dn_learned *learned,
                   struct dn_err *err)
{
    const struct dn_site *site = learning->site;
    struct dn_view_path hold = dn_view_path (site->state_dir, DN_LEARN_HOLD);

    if (!learned->gate.passed) {
        learned->result = DN_LEARNED_REFUSED;
        return learning->dry_run
                   ? 0
                   : log_event (site, learning->now_s, "refused", learned, err);
    }
    learned->result = DN_LEARNED_JUDGED;
    if (learning->dry_run)
        return 0;
    if (learning->out)
        return write_apps (learning, apps, err);
    learned->result = DN_LEARNED_INSTALLED;
    if (log_event (site, learning->now_s, "installed", learned, err) < 0
        || write_apps (learning, apps, err) < 0)
        return -1;
    if (learning->asked)
        unlink (hold.text);
    return 0;
}

/* The rows of the history in force. NULL: there is none that can be read. */
static struct dn_apps *read_old (const char *state_dir)
{
    struct dn_view_path now = dn_view_path (state_dir, DN_APPS_FILE);
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_apps *apps;
    size_t len;

    if (dn_view_text (now.text, DN_VIEW_THEIRS, DN_APPS_FILE_MAX, &text, &len, NULL) < 0
        || !text)
        return NULL;
    apps = dn_apps_read ((struct dn_span){text, len}, now.text, NULL);
    if (apps)
        dn_apps_forget_known (apps);
    return apps;
}

struct dn_apps *dn_history_of (const struct dn_site *site,
                               struct dn_store *store,
                               const struct dn_apps *in_force,
                               int64_t now_s,
                               struct dn_gate *gate,
                               struct dn_err *err)
{
    const struct dn_build build = {.now_s = now_s,
                                   .by_account =
                                       site->rules.history_share == DN_SHARE_ACCOUNT,
                                   .bundle = site->bundle ? site->bundle->name : "",
                                   .base = rebase,
                                   .base_to = &site,
                                   .in_force = in_force};
    struct dn_apps *apps = dn_build_apps (store, &build, gate, err);

    if (apps)
        memcpy (apps->cluster, site->cluster, sizeof (apps->cluster));
    return apps;
}

int dn_history_learn (const struct dn_learning *learning,
                      struct dn_learned *learned,
                      struct dn_err *err)
{
    const struct dn_site *site = learning->site;
    struct dn_view_path db = dn_view_path (site->state_dir, DN_STORE_FILE);
    int64_t from_ms = dn_monotonic_ms ();
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
    dn_cleanup (free_apps) struct dn_apps *apps = NULL;
    dn_cleanup (free_apps) struct dn_apps *old = read_old (site->state_dir);

    *learned = (struct dn_learned){.result = DN_LEARNED_HELD};
    if (!learning->asked && is_held (site))
        return 0;
    store = dn_store_open (learning->db ? learning->db : db.text, false, err);
    apps = store
               ? dn_history_of (site, store, old, learning->now_s, &learned->gate, err)
               : NULL;
    if (!apps)
        return -1;
    free_apps (&old);
    old = NULL;
    learned->n_rows = apps->n_rows;
    learned->n_apps = count_apps (apps);
    learned->took_ms = dn_monotonic_ms () - from_ms;
    return finish (learning, apps, learned, err);
}

int dn_history_rollback (const struct dn_site *site, int64_t now_s, struct dn_err *err)
{
    struct dn_view_path now = dn_view_path (site->state_dir, DN_APPS_FILE);
    struct dn_view_path old = dn_view_path (site->state_dir, BEFORE);
    struct dn_view_path hold = dn_view_path (site->state_dir, DN_LEARN_HOLD);

    if (access (old.text, R_OK) < 0)
        return dn_err_set (
            err, DN_E_IO, "%s: %s", old.text, dn_errno_text (errno).text);
    if (dn_put_file (hold.text, dn_span_of (""), err) < 0
        || log_event (site, now_s, dn_say_gate_rolled_back, NULL, err) < 0)
        return -1;
    if (rename (old.text, now.text) < 0)
        return dn_err_set (
            err, DN_E_IO, "%s: %s", old.text, dn_errno_text (errno).text);
    return 0;
}
