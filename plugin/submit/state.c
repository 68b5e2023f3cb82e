/* state.c - the site as the plugin sees it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/load.h"
#include "submit/host.h"
#include "submit/shared.h"
#include "trace/trace.h"

#define SAME_CHANGE_S 5

struct dn_snapshot {
    struct dn_shared shared; /* first */
    struct dn_site *site;
    struct dn_shared_cache *cache; /* of estimates; NULL: no memory for it */
    time_t since;
    struct dn_snapshot
        *bundle_owner; /* owns the bundle of the site; NULL: the site does */
};

static struct dn_holder present;

static void free_snapshot (struct dn_shared *shared)
{
    struct dn_snapshot *snapshot = (struct dn_snapshot *) (void *) shared;

    if (snapshot->bundle_owner && snapshot->site)
        snapshot->site->bundle = NULL;
    dn_shared_cache_free (snapshot->cache);
    dn_load_free (snapshot->site);
    dn_state_give (snapshot->bundle_owner);
    free (snapshot);
}

void dn_state_give (struct dn_snapshot *snapshot)
{
    dn_shared_give (snapshot ? &snapshot->shared : NULL);
}

struct dn_snapshot *dn_state_take (void)
{
    return (struct dn_snapshot *) (void *) dn_holder_take (&present);
}

const struct dn_site *dn_state_site (const struct dn_snapshot *snapshot)
{
    return snapshot->site;
}

struct dn_cache_access *dn_state_cache (struct dn_snapshot *snapshot)
{
    return dn_shared_cache_access (snapshot->cache);
}

int64_t dn_state_since (const struct dn_snapshot *snapshot)
{
    return snapshot->since;
}

/* NULL: none. The old one is freed when no thread uses it. */
static void install (struct dn_snapshot *snapshot)
{
    dn_holder_put (&present, snapshot ? &snapshot->shared : NULL);
}

/* The last line logged about a load. Only the thread that loads uses it. */
static struct {
    char text[DN_ERR_TEXT_MAX + DN_SITE_PATH_MAX];
    int64_t at;
} said;

/* Monotonic: if the real-time clock were set back, repeated lines would be suppressed
 * until it reached the old time again.
 */
static int64_t now_s (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec;
}

/* Write to the log, but not the same line twice for one change. slurmctld changes its
 * configuration several times within its first seconds, and a file that was touched and
 * is still broken needs no second line.
 */
static void say (bool error, bool again, const char *text)
{
    int64_t now = now_s ();

    if (strcmp (said.text, text) == 0 && (again || now - said.at < SAME_CHANGE_S))
        return;
    snprintf (said.text, sizeof (said.text), "%s", text);
    said.at = now;
    if (error)
        slurm_error (dn_say_log_line, text);
    else
        slurm_info (dn_say_log_line, text);
}

/* If the new bundle cannot be read, keep the bundle in use, so that predictions do not
 * get worse. All other parts of the site are new.
 */
static void borrow_bundle (struct dn_snapshot *snapshot)
{
    struct dn_site *site = snapshot->site;
    struct dn_snapshot *old;

    if (site->bundle || site->bundle_err.code == DN_E_NONE)
        return;
    old = dn_state_take ();
    if (!old || !old->site->bundle) {
        dn_state_give (old);
        return;
    }
    site->bundle = old->site->bundle;
    site->constants = old->site->constants;
    dn_site_set_loaders (site);
    snapshot->bundle_owner = old->bundle_owner ? old->bundle_owner : old;
    dn_shared_take (&snapshot->bundle_owner->shared);
    dn_state_give (old);
}

static struct dn_snapshot *load_snapshot (const char *conf,
                                          const struct dn_load_context *context,
                                          struct dn_err *err)
{
    struct dn_load_paths paths = dn_load_default_paths ();
    struct dn_snapshot *snapshot = calloc (1, sizeof (*snapshot));

    if (!snapshot) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, conf);
        return NULL;
    }
    paths.conf = conf;
    snapshot->shared = (struct dn_shared){free_snapshot, 1};
    snapshot->since = time (NULL);
    snapshot->site = dn_load_site (&paths, context, err);
    if (!snapshot->site) {
        dn_state_give (snapshot);
        return NULL;
    }
    borrow_bundle (snapshot);
    snapshot->cache = dn_shared_cache_new ();
    return snapshot;
}

/* Log one line: what was loaded, or, as an error, what is missing. */
static void say_loaded (const char *conf, const struct dn_site *site, bool again)
{
    char text[sizeof (said.text)];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    bool broken = site->bundle_err.code != DN_E_NONE;
    char unknown[DN_ERR_TEXT_MAX];

    if (broken)
        dn_buf_add (&buf,
                    site->bundle ? dn_say_log_bundle_kept : dn_say_log_no_model,
                    site->bundle_err.text);
    else
        dn_buf_add (&buf,
                    dn_say_log_loaded,
                    conf,
                    dn_names_get (&dn_mode_names, (int) site->rules.mode),
                    site->gpu_types.n_types,
                    site->catalogue.n_devices,
                    site->datasets.n_rows,
                    site->bundle ? site->bundle->name : "none");
    if (site->time_min_refused)
        dn_buf_add (&buf, dn_say_log_remark, dn_say_time_min_refused);
    if (site->policies.n_unknown > 0)
        dn_buf_add (&buf,
                    dn_say_log_remark,
                    dn_unknown_write (&site->policies.unknown[0], unknown));
    if (site->policies.n_unknown > 1)
        dn_buf_add (&buf, dn_say_log_more, site->policies.n_unknown - 1);
    if (site->n_networks_err > 0)
        dn_buf_add (&buf, dn_say_log_remark, site->networks_err.text);
    if (site->n_networks_err > 1)
        dn_buf_add (&buf, dn_say_log_more, site->n_networks_err - 1);
    dn_count (&dn_counters.loads[broken ? DN_RESULT_FAILURE : DN_RESULT_SUCCESS]);
    say (broken || site->time_min_refused || site->policies.n_unknown > 0
             || site->n_networks_err > 0,
         again,
         text);
}

/* An admin switches dnnest off by removing dnnest.conf. */
static bool is_switched_off (const char *conf, bool again)
{
    char text[sizeof (said.text)];

    if (access (conf, F_OK) == 0 || errno != ENOENT)
        return false;
    snprintf (text, sizeof (text), dn_say_log_no_conf, conf);
    say (false, again, text);
    install (NULL);
    return true;
}

static void say_broken (const struct dn_err *err, bool again)
{
    struct dn_snapshot *old = dn_state_take ();
    char text[sizeof (said.text)];

    snprintf (text,
              sizeof (text),
              old ? dn_say_log_conf_kept : dn_say_log_conf_broken,
              err->text);
    dn_state_give (old);
    dn_count (&dn_counters.loads[DN_RESULT_FAILURE]);
    say (true, again, text);
}

/* Are the same names unknown? Where there are more than are listed, that is open. */
static bool has_same_unknown (const struct dn_policies *a, const struct dn_policies *b)
{
    if (a->n_unknown != b->n_unknown || a->n_unknown > DN_POLICY_UNKNOWN_MAX)
        return false;
    for (int i = 0; i < a->n_unknown; i++)
        if (a->unknown[i].line != b->unknown[i].line
            || a->unknown[i].scope != b->unknown[i].scope
            || strcmp (a->unknown[i].name, b->unknown[i].name) != 0)
            return false;
    return true;
}

/* Does the name service know the same names as it did before? */
static bool is_same_state (const struct dn_snapshot *snapshot)
{
    struct dn_snapshot *old = dn_state_take ();
    bool same =
        old && has_same_unknown (&old->site->policies, &snapshot->site->policies);

    dn_state_give (old);
    return same;
}

bool dn_state_load (const char *conf,
                    const struct dn_load_context *context,
                    enum dn_load_cause cause)
{
    struct dn_err err = {.code = DN_E_NONE};
    struct dn_snapshot *snapshot;
    bool again = cause != DN_LOAD_ORDERED;
    bool doubtful;

    if (is_switched_off (conf, again))
        return false;
    snapshot = load_snapshot (conf, context, &err);
    if (!snapshot) {
        say_broken (&err, again);
        return err.code == DN_E_IO;
    }
    doubtful = snapshot->site->policies.n_unknown > 0;
    if (cause == DN_LOAD_RETRIED && doubtful && is_same_state (snapshot)) {
        dn_state_give (snapshot);
        return true;
    }
    say_loaded (conf, snapshot->site, again);
    install (snapshot);
    return doubtful;
}

void dn_state_forget (void)
{
    install (NULL);
    said.text[0] = '\0';
}
