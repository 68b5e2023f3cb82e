/* journal.h - the file that grows by a line per decision
 *
 * Opened with care, since slurmctld is root: an absolute path, no symbolic link at its
 * end, a regular file of our own with one name, mode 0640. It is opened anew when
 * somebody has moved it away, and moved away (PATH.1, PATH.2, ...) when it is large.
 * One thread at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JOURNAL_H
#define DN_JOURNAL_H

#include <sys/types.h>

#include "base/text.h"

#define DN_JOURNAL_PATH_MAX 512

/* Moved away above this size, and so many of the moved ones are kept: 320 MiB in all,
 * some 200,000 decisions.
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

/* Have the file 'path' open, and not too large: open it, or open it anew if need be.
 * Return 0, or -1 with 'err'; may be tried again at any time.
 */
int dn_journal_ready (struct dn_journal *journal, const char *path, struct dn_err *err);

/* Append 'line', whole or not at all. -1 with 'err'. */
int dn_journal_append (struct dn_journal *journal,
                       const char *line,
                       struct dn_err *err);

void dn_journal_close (struct dn_journal *journal);

#endif
