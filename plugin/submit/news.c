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
#include "host/watch.h"
#include "submit/host.h"
#include "submit/shared.h"

struct dn_piece {
    struct dn_shared shared;        /* first */
    struct dn_view_content content; /* of its one file */
};

/* What is known of a file. */
static struct source {
    struct dn_holder holder;
    /* Only the thread that reads uses the others. */
    uint64_t identity; /* of the file that was read; 0: read it at the next look */
    bool broken;       /* and the log has the line */
} sources[DN_N_VIEW_FILES];

static void free_piece (struct dn_shared *shared)
{
    struct dn_piece *piece = (struct dn_piece *) (void *) shared;

    dn_view_free (&piece->content);
    free (piece);
}

static const struct dn_view_content *content_of (const struct dn_piece *piece)
{
    static const struct dn_view_content nothing;

    return piece ? &piece->content : &nothing;
}

struct dn_news dn_news_take (struct dn_view *view)
{
    struct dn_news news;

    for (int i = 0; i < DN_N_VIEW_FILES; i++)
        news.pieces[i] =
            (struct dn_piece *) (void *) dn_holder_take (&sources[i].holder);
    view->cluster = content_of (news.pieces[DN_VIEW_CLUSTER])->cluster;
    view->guarded = content_of (news.pieces[DN_VIEW_GUARDED])->guarded;
    view->apps = content_of (news.pieces[DN_VIEW_APPS])->apps;
    view->now_s = (int64_t) time (NULL);
    return news;
}

void dn_news_give (struct dn_news *news)
{
    for (int i = 0; i < DN_N_VIEW_FILES; i++)
        dn_shared_give (news->pieces[i] ? &news->pieces[i]->shared : NULL);
}

/* Put 'piece' (NULL: none) in force. */
static void install (struct source *source, struct dn_piece *piece)
{
    dn_holder_put (&source->holder, piece ? &piece->shared : NULL);
}

/* The piece that the file has, or NULL: it does not exist, or 'err' is set. */
static struct dn_piece *load (enum dn_view_file file,
                              const char *path,
                              struct dn_err *err)
{
    struct dn_view_content content = {.cluster = NULL};
    struct dn_piece *piece;

    if (dn_view_read (file, path, DN_VIEW_OURS, &content, err) < 0)
        return NULL;
    /* -Wanalyzer-malloc-leak: install () takes the piece */
    if (!content.cluster && !content.guarded && !content.apps)
        return NULL;
    piece = malloc (sizeof (*piece));
    if (piece) {
        *piece = (struct dn_piece){{free_piece, 1}, content};
        return piece;
    }
    dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, path);
    dn_view_free (&content);
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
static void look (enum dn_view_file file, const char *state_dir)
{
    struct source *source = &sources[file];
    const struct dn_view_path path = dn_view_path (state_dir, dn_view_names[file]);
    uint64_t identity = dn_watch_file (path.text);
    struct dn_err err = {.code = DN_E_NONE};

    if (identity == source->identity)
        return;
    install (source, load (file, path.text, &err));
    say (source, path.text, &err);
    source->identity = err.code == DN_E_IO || err.code == DN_E_NOMEM ? 0 : identity;
}

void dn_news_look (const char *state_dir)
{
    for (int i = 0; i < DN_N_VIEW_FILES; i++)
        look ((enum dn_view_file) i, state_dir);
}

void dn_news_forget (void)
{
    for (int i = 0; i < DN_N_VIEW_FILES; i++) {
        install (&sources[i], NULL);
        sources[i].identity = 0;
        sources[i].broken = false;
    }
}
