/* recorder.h - a samples file that is appended to, and may have been before
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

/* Open the file, or make it, and read what it has. A row that was cut off in the middle
 * of writing is taken away. One process at a time: -1 with 'err' where another one
 * writes to it, or where it is no samples file. Close with dn_recorder_close ().
 */
int dn_recorder_open (struct dn_recorder *recorder,
                      const char *path,
                      struct dn_err *err);

/* Append a row, at once and whole. */
int dn_recorder_put (struct dn_recorder *recorder,
                     const struct dn_sample *row,
                     struct dn_err *err);

/* Append the fact "key=value", unless it is there. Where the file states another value,
 * its rows are of another machine: -1 with 'err', for keys that say which ('identity').
 */
int dn_recorder_fact (struct dn_recorder *recorder,
                      const char *key,
                      const char *value,
                      bool identity,
                      struct dn_err *err);

/* Of an open recorder, or of one that could not be opened. */
void dn_recorder_close (struct dn_recorder *recorder);

#endif
