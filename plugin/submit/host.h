/* host.h - symbols of slurmctld that no public header declares
 *
 * These symbols are resolved from the daemon when the plugin is loaded; we never link
 * libslurm. They are the same in all versions that versions.h names. slurm_conf has
 * another layout in each release; the plugin loads only into the exact release that it
 * was built for.
 *
 * Strings of a job description belong to Slurm's allocator: they are allocated and
 * freed only here.
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
/* The partition of jobs that name none; read it only with the lock that job_submit ()
 * is called with. Weak: its address is NULL where slurmctld does not export it.
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

/* A copy of 'text' in Slurm's memory; NULL without memory; never aborts. */
char *dn_host_dup (const char *text);

/* Append 'line' to '*text' as a separate line. '*text' may be NULL. If 'text' is NULL
 * the caller wants no text, and nothing is done. Without memory '*text' is unchanged.
 */
void dn_host_append_line (char **text, const char *line);

/* An array of 'n' texts and a terminating NULL, all NULL; NULL without memory. In
 * Slurm's memory, so that Slurm can free it.
 */
char **dn_host_texts (uint32_t n);

/* Free what the pointer at 'ptr_to_ptr' has, a text or an array without its texts, and
 * set it to NULL.
 */
void dn_host_free (void *ptr_to_ptr);

#endif
