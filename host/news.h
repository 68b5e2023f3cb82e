/* news.h - reads the files that dnnestd writes: the snapshot and that of the guard
 *
 * They are read as other files of a site are (host/load.h), but that they do not exist
 * is no error: then there is no dnnestd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NEWS_H
#define DN_NEWS_H

#include "policy/view.h"
#include "site.h"

/* Names in StateDir. */
#define DN_NEWS_CLUSTER "cluster.snapshot"
#define DN_NEWS_GUARDED "guard"

/* "DIR/NAME" */
struct dn_news_path {
    char text[DN_SITE_PATH_MAX + 32];
};
struct dn_news_path dn_news_path (const char *state_dir, const char *name);

/* Whose files are trusted, apart from those of root and of the user of the process. */
enum dn_news_trust {
    DN_NEWS_OURS,  /* nobody's */
    DN_NEWS_THEIRS /* those of the owner of the directory: for a dry run of any user */
};

/* Read a file. '*out' is NULL if it does not exist. Return -1 with 'err', which names
 * the path. Freed with dn_cluster_free () or dn_guarded_free ().
 */
int dn_news_cluster (const char *path,
                     enum dn_news_trust trust,
                     struct dn_cluster **out,
                     struct dn_err *err);
int dn_news_guarded (const char *path,
                     enum dn_news_trust trust,
                     struct dn_guarded **out,
                     struct dn_err *err);

#endif
