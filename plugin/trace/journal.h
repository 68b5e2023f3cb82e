/* journal.h - the file of the decision log
 *
 * slurmctld may be root, so the file is checked when it is opened: the last component
 * is no symbolic link, the file is regular, is owned by slurmctld's user, and has one
 * hard link. It is created with mode 0640. It is opened again if it was renamed or
 * removed, and renamed (PATH.1, PATH.2, ...) when it is large. One thread at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JOURNAL_H
#define DN_JOURNAL_H

#include <sys/types.h>

#include "base/text.h"

#define DN_JOURNAL_PATH_MAX 512

/* The file is renamed at this size, and so many renamed files are kept: 320 MiB in all,
 * about 200,000 decisions.
 */
#define DN_JOURNAL_SIZE_MAX (64 * 1024 * 1024)
#define DN_JOURNAL_KEEP     4

struct dn_journal {
    char path[DN_JOURNAL_PATH_MAX];
    int fd; /* -1: not open */
    off_t size_max;
    int keep;
};

/* Not open yet. */
struct dn_journal dn_journal_empty (void);

/* Open the file 'path' if it is not open, was renamed or is too large. Return 0, or -1
 * with 'err'; may be called again at any time.
 */
int dn_journal_ready (struct dn_journal *journal,
                      const char *path,
                      struct dn_err *err) DN_COLD;

/* Append 'line' completely, or not at all. Return 0, or -1 with 'err'. */
int dn_journal_append (struct dn_journal *journal,
                       const char *line,
                       struct dn_err *err) DN_COLD;

void dn_journal_close (struct dn_journal *journal) DN_COLD;

#endif
