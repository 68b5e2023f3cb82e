/* state.c - what the plugin knows: the site, and what the files of dnnestd say
 *
 * Each file of dnnestd is a part of its own, because dnnestd writes them at different
 * times, and the site changes rarely and takes longer to load.
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

#include "base/messages.h"
#include "host/watch.h"
#include "submit/host.h"
#include "trace/trace.h"

#define SAME_CHANGE_S 5

/* The threads of slurmctld share it. The lock is held for a comparison and a copy of
 * some KiB. A thread that finds it held computes without the cache: no submission waits
 * for another one, and a child that was forked meanwhile does not wait forever.
 */
struct shared_cache {
    struct dn_cache_access access; /* first: the callbacks get its address */
    pthread_mutex_t lock;
    struct dn_cache cache; /* under the lock */
};

struct dn_state_part {
    int n_users;
    struct dn_view_content content; /* of a file of dnnestd */
    /* Of the site: */
    struct dn_site *site;
    struct shared_cache *cache; /* of estimates; NULL: no memory for it */
    time_t since;
    int64_t begun_s; /* the site changes jobs since then (dn_policy_may_change ()) */
    struct dn_state_part
        *bundle_owner; /* owns the bundle of the site; NULL: the site does */
};

/* The parts in force; NULL: none. The lock is of this and of all counts of users. It is
 * held for a few instructions only, never while files are read.
 */
static struct dn_state_part *present[DN_N_STATE_PARTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Changes of jobs in the present hour. It outlives the parts. */
static uint64_t changes;

/* --- the cache ------------------------------------------------------------------- */

static bool find (struct dn_cache_access *self,
                  const struct dn_cache_key *key,
                  void *value,
                  size_t size)
{
    struct shared_cache *shared = (struct shared_cache *) (void *) self;
    bool found;

    if (pthread_mutex_trylock (&shared->lock) != 0)
        return false;
    found = dn_cache_find (&shared->cache, key, value, size);
    pthread_mutex_unlock (&shared->lock);
    return found;
}

static void put (struct dn_cache_access *self,
                 const struct dn_cache_key *key,
                 const void *value,
                 size_t size)
{
    struct shared_cache *shared = (struct shared_cache *) (void *) self;

    if (pthread_mutex_trylock (&shared->lock) != 0)
        return;
    dn_cache_put (&shared->cache, key, value, size);
    pthread_mutex_unlock (&shared->lock);
}

static struct shared_cache *new_cache (void)
{
    struct shared_cache *shared = calloc (1, sizeof (*shared));

    if (shared) {
        shared->lock = (pthread_mutex_t) PTHREAD_MUTEX_INITIALIZER;
        shared->access = (struct dn_cache_access){find, put};
    }
    return shared;
}

/* --- parts and their users ------------------------------------------------------- */

static void free_part (struct dn_state_part *part)
{
    if (part->bundle_owner && part->site)
        part->site->bundle = NULL;
    free (part->cache);
    dn_load_free (part->site);
    dn_view_free (&part->content);
    free (part);
}

/* NULL-safe. */
static void give (struct dn_state_part *part)
{
    while (part) {
        struct dn_state_part *owner;
        bool last;

        pthread_mutex_lock (&lock);
        last = --part->n_users == 0;
        pthread_mutex_unlock (&lock);
        owner = last ? part->bundle_owner : NULL;
        if (last)
            free_part (part);
        part = owner;
    }
}

/* Put 'part' (NULL: none) in force, in place of its maker. */
static void install (int i, struct dn_state_part *part)
{
    struct dn_state_part *old;

    pthread_mutex_lock (&lock);
    old = present[i];
    present[i] = part;
    pthread_mutex_unlock (&lock);
    give (old);
}

void dn_state_take (struct dn_state *state)
{
    const struct dn_state_part *site;

    *state = (struct dn_state){.view.now_s = (int64_t) time (NULL)};
    pthread_mutex_lock (&lock);
    for (int i = 0; i < DN_N_STATE_PARTS; i++) {
        state->parts[i] = present[i];
        if (present[i])
            present[i]->n_users++;
    }
    pthread_mutex_unlock (&lock);
    site = state->parts[DN_STATE_SITE];
    if (site) {
        state->site = site->site;
        state->cache = site->cache ? &site->cache->access : NULL;
        state->since_s = site->since;
        state->view.begun_s = site->begun_s;
        state->view.changes = &changes;
    }
    for (int i = DN_STATE_NEWS; i < DN_N_STATE_PARTS; i++)
        if (state->parts[i])
            dn_view_show (&state->parts[i]->content, &state->view);
}

void dn_state_give (struct dn_state *state)
{
    for (int i = 0; i < DN_N_STATE_PARTS; i++)
        give (state->parts[i]);
}

/* --- the site -------------------------------------------------------------------- */

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

void dn_state_log (bool error, const char *text)
{
    if (error)
        slurm_error (dn_say_log_line, text);
    else
        slurm_info (dn_say_log_line, text);
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
    dn_state_log (error, text);
}

/* If the new bundle cannot be read, keep the bundle in use, so that predictions do not
 * get worse. All other parts of the site are new.
 */
static void borrow_bundle (struct dn_state_part *part, struct dn_state_part *old)
{
    struct dn_site *site = part->site;

    if (site->bundle || site->bundle_err.code == DN_E_NONE || !old
        || !old->site->bundle)
        return;
    site->bundle = old->site->bundle;
    site->constants = old->site->constants;
    dn_site_set_loaders (site);
    part->bundle_owner = old->bundle_owner ? old->bundle_owner : old;
    pthread_mutex_lock (&lock);
    part->bundle_owner->n_users++;
    pthread_mutex_unlock (&lock);
}

static bool is_same_model (const struct dn_bundle *a, const struct dn_bundle *b)
{
    if (!a || !b || a->n_files != b->n_files)
        return a == b;
    for (int i = 0; i < a->n_files; i++)
        if (strcmp (a->files[i].digest.hex, b->files[i].digest.hex) != 0)
            return false;
    return true;
}

/* Since when the new site changes jobs: now, if none did before, or if the model is
 * another one.
 */
static int64_t begin_of (const struct dn_state_part *part,
                         const struct dn_state_part *old)
{
    return old && (old->site->enforces || !part->site->enforces)
                   && is_same_model (old->site->bundle, part->site->bundle)
               ? old->begun_s
               : part->since;
}

static struct dn_state_part *load_part (const char *conf,
                                        const struct dn_load_context *context,
                                        struct dn_err *err)
{
    struct dn_load_paths paths = dn_load_default_paths ();
    struct dn_state_part *part = calloc (1, sizeof (*part));

    if (!part)
        return DN_NULL (dn_refuse (err, no_memory_for, conf));
    paths.conf = conf;
    *part = (struct dn_state_part){.n_users = 1, .since = time (NULL)};
    part->site = dn_load_site (&paths, context, err);
    if (!part->site) {
        give (part);
        return NULL;
    }
    part->cache = new_cache ();
    return part;
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
    for (unsigned left = site->dropped; left != 0; left &= left - 1)
        dn_buf_add (&buf,
                    dn_say_log_remark,
                    dn_rules_dropped_write (__builtin_ctz (left), unknown));
    if (site->n_networks_err > 0)
        dn_buf_add (&buf, dn_say_log_remark, site->networks_err.text);
    if (site->n_networks_err > 1)
        dn_buf_add (&buf, dn_say_log_more, site->n_networks_err - 1);
    dn_count (&dn_counters.loads[broken ? DN_RESULT_FAILURE : DN_RESULT_SUCCESS]);
    say (broken || site->time_min_refused || site->policies.n_unknown > 0
             || site->n_networks_err > 0 || site->dropped != 0,
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
    install (DN_STATE_SITE, NULL);
    return true;
}

static void say_broken (const struct dn_err *err, bool kept, bool again)
{
    char text[sizeof (said.text)];

    snprintf (text,
              sizeof (text),
              kept ? dn_say_log_conf_kept : dn_say_log_conf_broken,
              err->text);
    dn_count (&dn_counters.loads[DN_RESULT_FAILURE]);
    say (true, again, text);
}

/* Does the name service know the same names as it did before? Where there are more than
 * are listed, that is open.
 */
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

/* The part in force is that of this thread: only it replaces parts. */
bool dn_state_load (const char *conf,
                    const struct dn_load_context *context,
                    enum dn_load_cause cause)
{
    struct dn_state_part *old = present[DN_STATE_SITE];
    struct dn_err err = {.code = DN_E_NONE};
    struct dn_state_part *part;
    bool again = cause != DN_LOAD_ORDERED;
    bool doubtful;

    if (is_switched_off (conf, again))
        return false;
    part = load_part (conf, context, &err);
    if (!part) {
        say_broken (&err, old, again);
        return err.code == DN_E_IO;
    }
    doubtful = part->site->policies.n_unknown > 0;
    if (cause == DN_LOAD_RETRIED && doubtful && old
        && has_same_unknown (&old->site->policies, &part->site->policies)) {
        give (part);
        return true;
    }
    borrow_bundle (part, old);
    part->begun_s = begin_of (part, old);
    say_loaded (conf, part->site, again);
    install (DN_STATE_SITE, part);
    return doubtful;
}

/* --- the files of dnnestd -------------------------------------------------------- */

/* What is known of a file. Only the thread that reads uses it. */
static struct source {
    uint64_t identity; /* of the file that was read; 0: read it at the next look */
    bool broken;       /* and the log has the line */
} sources[DN_N_VIEW_FILES];

/* The part that the file makes, or NULL: it does not exist, or 'err' is set. */
static struct dn_state_part *read_part (enum dn_view_file file,
                                        const char *path,
                                        const char *cluster,
                                        struct dn_err *err)
{
    struct dn_view_content content = {.cluster = NULL};
    struct dn_state_part *part;

    if (dn_view_read (file, path, DN_VIEW_OURS, cluster, &content, err) < 0)
        return NULL;
    /* -Wanalyzer-malloc-leak: install () takes the part */
    if (!content.cluster && !content.guarded && !content.apps)
        return NULL;
    part = calloc (1, sizeof (*part));
    if (part) {
        *part = (struct dn_state_part){.n_users = 1, .content = content};
        return part;
    }
    dn_refuse (err, no_memory_for, path);
    dn_view_free (&content);
    return NULL;
}

/* The identity is taken before the file is read, so that a change meanwhile is seen at
 * the next look. What may be read without a change of the file is tried again then. The
 * log has a line when a file becomes broken, and when it is whole again.
 */
static void look (enum dn_view_file file, const struct dn_site *site)
{
    struct source *source = &sources[file];
    const struct dn_view_path path =
        dn_view_path (site->state_dir, dn_view_names[file]);
    uint64_t identity = dn_watch_file (path.text);
    struct dn_err err = {.code = DN_E_NONE};
    bool broken;

    if (identity == source->identity)
        return;
    install (DN_STATE_NEWS + (int) file,
             read_part (file, path.text, site->cluster, &err));
    broken = err.code != DN_E_NONE;
    if (broken && !source->broken)
        slurm_error (dn_say_log_state_broken, err.text);
    if (!broken && source->broken)
        slurm_info (dn_say_log_state_whole, path.text);
    source->broken = broken;
    source->identity = err.code == DN_E_IO || err.code == DN_E_NOMEM ? 0 : identity;
}

static void forget_news (void)
{
    for (int i = DN_STATE_NEWS; i < DN_N_STATE_PARTS; i++)
        install (i, NULL);
    memset (sources, 0, sizeof (sources));
}

void dn_state_look (void)
{
    const struct dn_state_part *site = present[DN_STATE_SITE];

    if (!site)
        forget_news ();
    for (int i = 0; site && i < DN_N_VIEW_FILES; i++)
        look ((enum dn_view_file) i, site->site);
}

void dn_state_forget (void)
{
    install (DN_STATE_SITE, NULL);
    forget_news ();
    said.text[0] = '\0';
}
