/* seen.c - what the files of dnnestd say, for a command
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "seen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common.h"
#include "options.h"

static const char *const seen_text[] = {
    [DN_SEEN_NONE] = "none",
    [DN_SEEN_USED] = "used",
    [DN_SEEN_OLD] = "old",
    [DN_SEEN_BROKEN] = "broken",
};

const char *dn_seen_name (enum dn_seen_state state)
{
    static const struct dn_names names = DN_NAMES (seen_text, DN_N_SEEN_STATES);

    return dn_names_get (&names, (int) state);
}

/* The state of a file after the attempt to read it. */
static void judge (struct dn_seen_file *file, int rc, bool found, bool used)
{
    if (rc < 0)
        file->state = DN_SEEN_BROKEN;
    else if (!found)
        file->state = DN_SEEN_NONE;
    else
        file->state = used ? DN_SEEN_USED : DN_SEEN_OLD;
}

/* Read a file of that kind into the content. */
static int read_file (struct dn_seen *seen,
                      enum dn_view_file kind,
                      const char *cluster,
                      struct dn_seen_file *file)
{
    return dn_view_read (
        kind, file->path.text, DN_VIEW_THEIRS, cluster, &seen->content, &file->err);
}

static void read_cluster (struct dn_seen *seen,
                          const struct dn_site *site,
                          const char *snapshot)
{
    struct dn_seen_file *file = &seen->cluster;
    struct dn_cluster *cluster;
    char absolute[PATH_MAX];
    int rc;

    file->path = dn_view_path (site->state_dir, DN_CLUSTER_FILE);
    if (snapshot)
        snprintf (file->path.text,
                  sizeof (file->path.text),
                  "%s",
                  dn_options_absolute (absolute, snapshot));
    rc = read_file (seen, DN_VIEW_CLUSTER, snapshot ? "" : site->cluster, file);
    cluster = seen->content.cluster;
    if (cluster)
        file->age_s = seen->view.now_s - cluster->time_s;
    if (cluster && snapshot)
        cluster->time_s = seen->view.now_s;
    seen->view.cluster = cluster;
    judge (file, rc, cluster, dn_site_believes (site, cluster, seen->view.now_s));
}

static void read_guarded (struct dn_seen *seen, const struct dn_site *site)
{
    struct dn_seen_file *file = &seen->guarded;
    struct dn_guarded *guarded;
    int rc;

    file->path = dn_view_path (site->state_dir, DN_GUARDED_FILE);
    rc = read_file (seen, DN_VIEW_GUARDED, site->cluster, file);
    guarded = seen->content.guarded;
    if (guarded)
        file->age_s = seen->view.now_s - guarded->time_s;
    seen->view.guarded = guarded;
    judge (file, rc, guarded, dn_guarded_is_alive (guarded, seen->view.now_s));
}

static void read_apps (struct dn_seen *seen, const struct dn_site *site)
{
    struct dn_seen_file *file = &seen->apps;
    struct dn_apps *apps;
    int rc;

    file->path = dn_view_path (site->state_dir, DN_APPS_FILE);
    rc = read_file (seen, DN_VIEW_APPS, site->cluster, file);
    apps = seen->content.apps;
    if (apps)
        file->age_s = seen->view.now_s - apps->time_s;
    seen->view.apps = apps;
    judge (file, rc, apps, true);
}

void dn_seen_read (struct dn_seen *seen,
                   const struct dn_site *site,
                   const char *snapshot)
{
    memset (seen, 0, sizeof (*seen));
    seen->view.now_s = (int64_t) time (NULL);
    read_cluster (seen, site, snapshot);
    read_guarded (seen, site);
    read_apps (seen, site);
}

/* Say why a file is not used, as the log of slurmctld does, if it is broken or old. */
static void say_unused (const struct dn_seen_file *file)
{
    if (file->state == DN_SEEN_BROKEN)
        dn_complain ("%s: decisions do not use it", file->err.text);
    else if (file->state == DN_SEEN_OLD)
        dn_complain ("%s: %" PRId64 " s old, decisions do not use it",
                     file->path.text,
                     file->age_s);
}

int dn_seen_look (struct dn_seen *seen,
                  const struct dn_site *site,
                  const char *snapshot)
{
    dn_seen_read (seen, site, snapshot);
    if (snapshot && seen->cluster.state == DN_SEEN_BROKEN)
        return dn_fail (DN_EXIT_DATA, &seen->cluster.err);
    if (snapshot && seen->cluster.state == DN_SEEN_NONE) {
        dn_complain ("%s: not found", seen->cluster.path.text);
        return DN_EXIT_DATA;
    }
    say_unused (&seen->cluster);
    say_unused (&seen->guarded);
    say_unused (&seen->apps);
    return DN_EXIT_DONE;
}

const struct dn_cluster *dn_seen_cluster (const struct dn_seen *seen)
{
    return seen->cluster.state == DN_SEEN_USED ? seen->content.cluster : NULL;
}

void dn_seen_free (struct dn_seen *seen)
{
    dn_view_free (&seen->content);
}
