/* source.h - where finished jobs come from: slurmdbd
 *
 * A source gives the jobs of a cluster that ended in a period, each as Slurm's
 * accounting has it: the members of struct dn_finished that accounting knows, and the
 * admin comment, from which the collector fills the others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SOURCE_H
#define DN_SOURCE_H

#include "jobs/finished.h"

/* Texts are borrowed until the call returns. 'admin_comment' may be NULL. A value other
 * than 0 ends the reading and is returned.
 */
typedef int (*dn_ended_f) (void *to,
                           const struct dn_finished *job,
                           const char *admin_comment);

/* A period of ends, seconds since 1970: since_s <= end < until_s. */
struct dn_period {
    int64_t since_s;
    int64_t until_s;
};

struct dn_source {
    const char *name; /* "slurmdbd": column 'source' */
    void *self;
    /* -1 with 'err'; DN_E_TIME: no answer, try again later; DN_E_LIMIT: the answer is
     * too long, ask for a shorter period. A source keeps a whole answer in memory. */
    int (*read) (void *self,
                 const char *cluster,
                 struct dn_period period,
                 dn_ended_f take,
                 void *to,
                 struct dn_err *err);
    void (*close) (void *self);
};

#endif
