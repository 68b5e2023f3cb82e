/* state.c - the site as the plugin sees it
 *
 * From Slurm 23.02 on, job_submit () runs in several threads at once. Each takes the
 * present snapshot and gives it back; a snapshot that has been replaced is freed by the
 * last one who gives it back. The mutex is held for a few instructions only, never
 * while files are read.
 *
 * Up to 23.02 slurmctld reads slurm.conf again without loading its plugins again, so a
 * changed slurm_conf.last_update is our signal; from 23.11 it starts a new process, and
 * init () is called anew. The signal counts seconds: what was loaded within the second
 * of the signal is loaded once more after it, lest a second reconfiguration is missed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/state.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conf/load.h"
#include "submit/host.h"

#define SAME_CHANGE_S 5

static char conf_name[] = "dnnest.conf";

struct dn_snapshot {
    struct dn_site *site;
    int n_users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All under the lock. */
static struct dn_snapshot *present;
static time_t loaded_update; /* slurm_conf.last_update of the last attempt */
static bool settled;         /* no other change can carry that time any more */
static bool loading;

static void free_snapshot (struct dn_snapshot *snapshot)
{
    if (!snapshot)
        return;
    dn_load_free (snapshot->site);
    free (snapshot);
}

/* Make 'snapshot' the present one; the old one goes when nobody uses it. */
static void install (struct dn_snapshot *snapshot)
{
    struct dn_snapshot *old;

    pthread_mutex_lock (&lock);
    old = present;
    present = snapshot;
    if (old && old->n_users > 0)
        old = NULL;
    pthread_mutex_unlock (&lock);
    free_snapshot (old);
}

/* The last line about an attempt to load, of the one thread that loads. */
static struct {
    char text[DN_ERR_TEXT_MAX + DN_SITE_PATH_MAX];
    time_t at;
} said;

/* Write to the log, but the same words not twice for one change: slurmctld touches its
 * configuration several times within its first seconds, and see 'settled'.
 */
static void say (bool error, bool again, const char *text)
{
    time_t now = time (NULL);

    if (strcmp (said.text, text) == 0 && (again || now - said.at < SAME_CHANGE_S))
        return;
    snprintf (said.text, sizeof (said.text), "%s", text);
    said.at = now;
    if (error)
        slurm_error (DN_LOG_PREFIX "%s", text);
    else
        slurm_info (DN_LOG_PREFIX "%s", text);
}

/* Names of users and groups are looked up when slurmctld starts. Later a submission is
 * waiting, with slurmctld's locks held: then only those are known that the
 * configuration in use names.
 */
static struct dn_snapshot *load_snapshot (const char *conf,
                                          bool starts,
                                          struct dn_err *err)
{
    const struct dn_people known =
        dn_policies_people (present ? &present->site->policies : NULL);
    const struct dn_load_context context = {
        .slurmctld_parameters = slurm_conf.slurmctld_params,
        .scheduler_parameters = slurm_conf.sched_params,
        .slurm_version =
            (SLURM_VERSION_NUMBER >> 16) * 100 + ((SLURM_VERSION_NUMBER >> 8) & 0xff),
        .people = starts ? NULL : &known,
    };
    struct dn_load_paths paths = dn_load_default_paths ();
    struct dn_snapshot *snapshot = calloc (1, sizeof (*snapshot));

    if (!snapshot) {
        dn_err_set (err, DN_E_NOMEM, "%s: out of memory", conf);
        return NULL;
    }
    paths.conf = conf;
    snapshot->site = dn_load_site (&paths, &context, err);
    if (!snapshot->site) {
        free_snapshot (snapshot);
        return NULL;
    }
    return snapshot;
}

/* One line: what is in force, or, as an error, what of it is missing. */
static void say_loaded (const char *conf, const struct dn_site *site, bool again)
{
    char text[sizeof (said.text)];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    bool broken = site->bundle_err.code != DN_E_NONE;

    if (broken)
        dn_buf_add (&buf, "%s: going on without a model bundle", site->bundle_err.text);
    else
        dn_buf_add (
            &buf,
            "%s: mode %s, %d GPU types, %d devices, %d data sets, model bundle %s",
            conf,
            dn_names_get (&dn_mode_names, (int) site->rules.mode),
            site->gpu_types.n_types,
            site->catalogue.n_devices,
            site->datasets.n_rows,
            site->bundle ? site->bundle->name : "none");
    if (site->time_min_refused)
        dn_buf_add (&buf, "; %s", DN_SITE_TIME_MIN_REFUSED);
    say (broken || site->time_min_refused, again, text);
}

/* No dnnest.conf at all is an admin's way to switch dnnest off; a broken one is not. */
static void load (const char *conf, bool starts, bool again)
{
    char text[sizeof (said.text)];
    struct dn_err err = {.code = DN_E_NONE};
    struct dn_snapshot *snapshot;

    if (access (conf, F_OK) < 0 && errno == ENOENT) {
        snprintf (text, sizeof (text), "%s not found: jobs are left as they are", conf);
        say (false, again, text);
        install (NULL);
        return;
    }
    snapshot = load_snapshot (conf, starts, &err);
    if (!snapshot) {
        snprintf (text,
                  sizeof (text),
                  "%s: %s",
                  err.text,
                  present ? "the configuration in use stays"
                          : "jobs are left as they are");
        say (true, again, text);
        return;
    }
    say_loaded (conf, snapshot->site, again);
    install (snapshot);
}

static void load_beside_slurm_conf (bool starts, bool again)
{
    char *conf = slurm_get_extra_conf_path (conf_name);

    if (conf)
        load (conf, starts, again);
    dn_host_free (&conf);
}

/* May the caller load, and is it 'again' for the same change? slurm_conf is not ours to
 * lock: job_submit () is called with Slurm's own lock on it.
 */
static bool begin_load (bool *again)
{
    bool due;

    pthread_mutex_lock (&lock);
    *again = slurm_conf.last_update == loaded_update;
    due = !loading && (!*again || (!settled && time (NULL) > loaded_update));
    if (due) {
        loading = true;
        loaded_update = slurm_conf.last_update;
        settled = time (NULL) > loaded_update;
    }
    pthread_mutex_unlock (&lock);
    return due;
}

static void end_load (void)
{
    pthread_mutex_lock (&lock);
    loading = false;
    pthread_mutex_unlock (&lock);
}

void dn_state_start (void)
{
    loaded_update = slurm_conf.last_update;
    settled = time (NULL) > loaded_update;
    said.text[0] = '\0';
    load_beside_slurm_conf (true, false);
}

void dn_state_stop (void)
{
    install (NULL);
}

struct dn_snapshot *dn_state_take (void)
{
    struct dn_snapshot *snapshot;
    bool again;

    if (begin_load (&again)) {
        load_beside_slurm_conf (false, again);
        end_load ();
    }
    pthread_mutex_lock (&lock);
    snapshot = present;
    if (snapshot)
        snapshot->n_users++;
    pthread_mutex_unlock (&lock);
    return snapshot;
}

const struct dn_site *dn_state_site (const struct dn_snapshot *snapshot)
{
    return snapshot->site;
}

void dn_state_give (struct dn_snapshot *snapshot)
{
    bool last;

    pthread_mutex_lock (&lock);
    last = --snapshot->n_users == 0 && snapshot != present;
    pthread_mutex_unlock (&lock);
    if (last)
        free_snapshot (snapshot);
}
