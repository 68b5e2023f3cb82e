/* seen.h - what the files of dnnestd say, for a command
 *
 * A dry run decides as the plugin does now, so it reads the files that the plugin has
 * read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SEEN_H
#define DN_SEEN_H

#include "host/view_files.h"

enum dn_seen_state {
    DN_SEEN_NONE, /* there is no such file */
    DN_SEEN_USED,
    DN_SEEN_OLD,    /* or from the future */
    DN_SEEN_BROKEN, /* or not trusted */
    DN_N_SEEN_STATES
};

/* "used" */
const char *dn_seen_name (enum dn_seen_state state);

struct dn_seen_file {
    struct dn_view_path path;
    enum dn_seen_state state;
    int64_t age_s;     /* of a file that is used or old */
    struct dn_err err; /* of one that is broken */
};

struct dn_seen {
    struct dn_seen_file cluster;
    struct dn_seen_file guarded;
    struct dn_seen_file apps;
    struct dn_view view; /* with all that was read, even if it is old */
    struct dn_view_content content;
};

/* Read the files of the site; of the snapshot 'snapshot' (NULL: that of the site),
 * which counts as written now. Freed with dn_seen_free ().
 */
void dn_seen_read (struct dn_seen *seen,
                   const struct dn_site *site,
                   const char *snapshot);
/* The same, and say which of the files are not used. Return an enum dn_exit: a snapshot
 * that an option names must be one.
 */
int dn_seen_look (struct dn_seen *seen,
                  const struct dn_site *site,
                  const char *snapshot);

/* The snapshot, if decisions use it; else NULL. */
const struct dn_cluster *dn_seen_cluster (const struct dn_seen *seen);

void dn_seen_free (struct dn_seen *seen);

#endif
