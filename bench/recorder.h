/* recorder.h - a samples file that several runs append to
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECORDER_H
#define DN_RECORDER_H

#include "learn/samples.h"

struct dn_recorder {
    struct dn_samples samples; /* what is in the file */
    const char *path;          /* borrowed */
    int fd;
};

/* Open or create the file, and read its samples. An incomplete last row is removed.
 * Only one process may write to it: -1 with 'err' if another one does, or if it is not
 * a samples file. Close with dn_recorder_close ().
 */
int dn_recorder_open (struct dn_recorder *recorder,
                      const char *path,
                      struct dn_err *err);

/* Append a whole row in a single write. */
int dn_recorder_put (struct dn_recorder *recorder,
                     const struct dn_sample *row,
                     struct dn_err *err);

/* Append the fact "key=value", unless the file has it. If the file has another value of
 * a key that identifies the machine ('identity'), its rows are of another machine: -1
 * with 'err'.
 */
int dn_recorder_fact (struct dn_recorder *recorder,
                      const char *key,
                      const char *value,
                      bool identity,
                      struct dn_err *err);

/* Close an open recorder, or one that could not be opened. */
void dn_recorder_close (struct dn_recorder *recorder);

#endif
