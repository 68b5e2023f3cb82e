/* view_files.h - reads the files that dnnestd writes: the snapshot, that of the
 * guard, and the histories
 *
 * They are read as other files of a site are (host/load.h), but that they do not exist
 * is no error: then there is no dnnestd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_VIEW_FILES_H
#define DN_VIEW_FILES_H

#include "policy/view.h"
#include "site.h"

/* "DIR/NAME" */
struct dn_view_path {
    char text[DN_SITE_PATH_MAX + 32];
};
struct dn_view_path dn_view_path (const char *state_dir, const char *name);

/* Whose files are trusted, apart from those of root and of the user of the process. */
enum dn_view_trust {
    DN_VIEW_OURS,  /* no other user's */
    DN_VIEW_THEIRS /* those of the owner of the directory: for a dry run of any user */
};

/* Read the file 'path' of at most 'max' bytes as text, to be freed with free ().
 * '*text' is NULL if it does not exist. Return -1 with 'err', which names the path.
 */
int dn_view_text (const char *path,
                  enum dn_view_trust trust,
                  size_t max,
                  char **text,
                  size_t *len,
                  struct dn_err *err) DN_COLD;

enum dn_view_file {
    DN_VIEW_CLUSTER,
    DN_VIEW_GUARDED,
    DN_VIEW_APPS,
    DN_N_VIEW_FILES
};

/* Their names in the directory. */
extern const char *const dn_view_names[DN_N_VIEW_FILES];

/* What the files say; a member is NULL if its file does not exist. Owned. */
struct dn_view_content {
    struct dn_cluster *cluster;
    struct dn_guarded *guarded;
    struct dn_apps *apps;
};

/* Read 'file', which is at 'path', into its member of 'content', which is NULL before.
 * One that names another cluster than 'cluster' is refused, unless that is "" or the
 * file names none. Return -1 with 'err', which names the path.
 */
int dn_view_read (enum dn_view_file file,
                  const char *path,
                  enum dn_view_trust trust,
                  const char *cluster,
                  struct dn_view_content *content,
                  struct dn_err *err) DN_COLD;

/* Add what was read to 'view', which borrows it. */
void dn_view_show (const struct dn_view_content *content, struct dn_view *view);

void dn_view_free (const struct dn_view_content *content) DN_COLD;

#endif
