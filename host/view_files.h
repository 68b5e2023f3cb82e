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
                  struct dn_err *err);

/* Read a file. '*out' is NULL if it does not exist. Return -1 with 'err', which names
 * the path. Freed with dn_cluster_free (), dn_guarded_free () or dn_apps_free ().
 */
int dn_view_cluster (const char *path,
                     enum dn_view_trust trust,
                     struct dn_cluster **out,
                     struct dn_err *err);
int dn_view_guarded (const char *path,
                     enum dn_view_trust trust,
                     struct dn_guarded **out,
                     struct dn_err *err);
int dn_view_apps (const char *path,
                  enum dn_view_trust trust,
                  struct dn_apps **out,
                  struct dn_err *err);

#endif
