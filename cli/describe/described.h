/* described.h - what a program has described of itself
 *
 * The hook in its first Python process writes DIR/JOB.capture (host/capture_file.h): in
 * a job into ProgressDir, of a program that a command runs into a new directory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DESCRIBED_H
#define DN_DESCRIBED_H

#include <limits.h>
#include <sys/types.h>

#include "graph/sidecar.h"
#include "host/capture_file.h"

struct dn_described {
    struct dn_capture capture; /* time_s 0: there is none */
    struct dn_sidecar sidecar; /* the description, with the work of the run */
};

/* Read the text of a capture; 'name' is for 'err'. -1 with 'err'. Freed with
 * dn_described_free ().
 */
int dn_described_take (struct dn_span text,
                       const char *name,
                       struct dn_described *described,
                       struct dn_err *err);

/* The same of DIR/JOB.capture of that owner. Without that file nothing is described. */
int dn_described_read (const char *dir,
                       const char *job,
                       uid_t owner,
                       struct dn_described *described,
                       struct dn_err *err);
void dn_described_free (struct dn_described *described);

/* A new directory for a program, as what job it runs there, and its file. */
struct dn_described_place {
    char dir[PATH_MAX / 2]; /* "": none */
    char job[DN_NAME_MAX];
    char file[PATH_MAX];
};
int dn_described_make (struct dn_described_place *place, struct dn_err *err);

/* Remove it, with what the program has reported there. */
void dn_described_remove (struct dn_described_place *place);

#endif
