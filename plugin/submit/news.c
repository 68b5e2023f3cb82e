/* news.c - what the files of dnnestd say, as the plugin sees it
 *
 * Each file is a piece of its own, because dnnestd writes them at different times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/news.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/messages.h"
#include "host/view_files.h"
#include "host/watch.h"
#include "submit/host.h"
#include "submit/shared.h"

struct dn_piece {
    struct dn_shared shared;    /* first */
    struct dn_cluster *cluster; /* one of the three; owned */
    struct dn_guarded *guarded;
    struct dn_apps *apps;
};

/* A file and what it says. */
struct source {
    const char *name;
    int (*read) (struct dn_piece *piece, const char *path, struct dn_err *err);
    struct dn_holder holder;
    /* Only the thread that reads uses the others. */
    uint64_t identity; /* of the file that was read; 0: read it at the next look */
    bool broken;       /* and the log has the line */
};

static int read_cluster (struct dn_piece *piece, const char *path, struct dn_err *err)
{
    return dn_view_cluster (path, DN_VIEW_OURS, &piece->cluster, err);
}

static int read_guarded (struct dn_piece *piece, const char *path, struct dn_err *err)
{
    return dn_view_guarded (path, DN_VIEW_OURS, &piece->guarded, err);
}

static int read_apps (struct dn_piece *piece, const char *path, struct dn_err *err)
{
    return dn_view_apps (path, DN_VIEW_OURS, &piece->apps, err);
}

static struct source cluster_source = {.name = DN_CLUSTER_FILE, .read = read_cluster};
static struct source guarded_source = {.name = DN_GUARDED_FILE, .read = read_guarded};
static struct source apps_source = {.name = DN_APPS_FILE, .read = read_apps};

static void free_content (const struct dn_piece *piece)
{
    dn_cluster_free (piece->cluster);
    dn_guarded_free (piece->guarded);
    dn_apps_free (piece->apps);
}

static void free_piece (struct dn_shared *shared)
{
    struct dn_piece *piece = (struct dn_piece *) (void *) shared;

    free_content (piece);
    free (piece);
}

static void give (struct dn_piece *piece)
{
    dn_shared_give (piece ? &piece->shared : NULL);
}

static struct dn_piece *take (struct source *source)
{
    return (struct dn_piece *) (void *) dn_holder_take (&source->holder);
}

struct dn_news dn_news_take (struct dn_view *view)
{
    struct dn_news news = {.cluster = take (&cluster_source),
                           .guarded = take (&guarded_source),
                           .apps = take (&apps_source)};

    view->cluster = news.cluster ? news.cluster->cluster : NULL;
    view->guarded = news.guarded ? news.guarded->guarded : NULL;
    view->apps = news.apps ? news.apps->apps : NULL;
    view->now_s = (int64_t) time (NULL);
    return news;
}

void dn_news_give (struct dn_news *news)
{
    give (news->cluster);
    give (news->guarded);
    give (news->apps);
}

/* Put 'piece' (NULL: none) in force. */
static void install (struct source *source, struct dn_piece *piece)
{
    dn_holder_put (&source->holder, piece ? &piece->shared : NULL);
}

/* The piece that the file has, or NULL: it does not exist, or 'err' is set. */
static struct dn_piece *load (const struct source *source,
                              const char *path,
                              struct dn_err *err)
{
    struct dn_piece found = {.shared = {free_piece, 1}};
    struct dn_piece *piece;

    if (source->read (&found, path, err) < 0)
        return NULL;
    /* -Wanalyzer-malloc-leak: install () takes the piece */
    if (!found.cluster && !found.guarded && !found.apps)
        return NULL;
    piece = malloc (sizeof (*piece));
    if (piece) {
        *piece = found;
        return piece;
    }
    dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, path);
    free_content (&found);
    return NULL;
}

/* Log when a file becomes broken, and when it is whole again. */
static void say (struct source *source, const char *path, const struct dn_err *err)
{
    bool broken = err->code != DN_E_NONE;

    if (broken && !source->broken)
        slurm_error (dn_say_log_state_broken, err->text);
    if (!broken && source->broken)
        slurm_info (dn_say_log_state_whole, path);
    source->broken = broken;
}

/* The identity is taken before the file is read, so that a change meanwhile is seen at
 * the next look. What may be read without a change of the file is tried again then.
 */
static void look (struct source *source, const char *state_dir)
{
    const struct dn_view_path path = dn_view_path (state_dir, source->name);
    uint64_t identity = dn_watch_file (path.text);
    struct dn_err err = {.code = DN_E_NONE};

    if (identity == source->identity)
        return;
    install (source, load (source, path.text, &err));
    say (source, path.text, &err);
    source->identity = err.code == DN_E_IO || err.code == DN_E_NOMEM ? 0 : identity;
}

void dn_news_look (const char *state_dir)
{
    look (&cluster_source, state_dir);
    look (&guarded_source, state_dir);
    look (&apps_source, state_dir);
}

static void forget (struct source *source)
{
    install (source, NULL);
    source->identity = 0;
    source->broken = false;
}

void dn_news_forget (void)
{
    forget (&cluster_source);
    forget (&guarded_source);
    forget (&apps_source);
}
