/* host.h - what slurmctld exports to its plugins without publishing it in a header
 *
 * These symbols are resolved from the daemon when the plugin is loaded; we never link
 * libslurm. They are the same in all versions that versions.h names (slurm_conf: the
 * same name, a layout per release, which the exact-version rule guards).
 *
 * Strings of a job description belong to Slurm's allocator: they are made and freed
 * here, nowhere else.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HOST_H
#define DN_HOST_H

#include <stdbool.h>
#include <slurm/slurm.h>
/* For slurm_info () and slurm_error (). */
#include <slurm/spank.h>

extern slurm_conf_t slurm_conf;
/* The partition of jobs that name none; to be read with the lock that job_submit () is
 * called with. Not in the list above: where there is none, its address is NULL.
 */
extern char *default_part_name __attribute__ ((weak));
extern void *slurm_xcalloc (size_t count,
                            size_t size,
                            bool clear,
                            bool try_only,
                            const char *file,
                            int line,
                            const char *function);
extern void slurm_xfree (void **ptr);
extern char *slurm_get_extra_conf_path (char *name);

#define DN_LOG_PREFIX "job_submit/dnnest: "

/* A copy of 'text' in Slurm's memory; NULL without memory, never an abort. */
char *dn_host_dup (const char *text);

/* Append 'line' to '*text' as a line of its own; '*text' may be NULL, and 'text', which
 * then has no reader. Without memory it stays as it is.
 */
void dn_host_append_line (char **text, const char *line);

/* Room for so many texts and a NULL behind them, all NULL; NULL without memory. Freed
 * as Slurm frees its own.
 */
char **dn_host_texts (uint32_t n);

/* Free such an array, not what is in it, and set it to NULL. */
void dn_host_free_texts (char ***texts);

/* Free '*text' and set it to NULL. */
void dn_host_free (char **text);

#endif
