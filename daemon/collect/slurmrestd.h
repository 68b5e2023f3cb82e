/* slurmrestd.h - the jobs that have ended, from slurmrestd
 *
 * For a daemon on a host without munge, or beside another version of Slurm. GPUs,
 * steps and the admin comment are those of slurmdbd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SLURMRESTD_H
#define DN_SLURMRESTD_H

#include "collect/source.h"

/* Versions v0.0.N of its interface that are understood. */
#define DN_RESTD_FIRST 36
#define DN_RESTD_LAST  45

/* Make 'source' that of the slurmrestd at 'url'; 'token_file' has a JWT, or is "".
 * Nothing is asked yet. -1 with 'err'.
 */
int dn_slurmrestd_open (const char *url,
                        const char *token_file,
                        struct dn_source *source,
                        struct dn_err *err);

/* The newest version N of /slurmdb/v0.0.N/jobs that 'openapi' lists and that is
 * understood; 0: none. The text is changed.
 */
int dn_slurmrestd_version (char *openapi);

/* The query for the jobs that ended in a period. False if it does not fit. */
bool dn_slurmrestd_query (int version, struct dn_period period, struct dn_buf *buf);

/* Hand on the jobs of an answer of /slurmdb/v0.0.N/jobs that ended in the period; the
 * text is hostile. -1 with 'err', or what 'take' returned.
 */
int dn_slurmrestd_read (struct dn_span text,
                        const char *cluster,
                        struct dn_period period,
                        dn_ended_f take,
                        void *to,
                        struct dn_err *err);

#endif
