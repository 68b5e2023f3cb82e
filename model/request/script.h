/* script.h - what a batch script says of its own resources, private to request/
 *
 * A step that names the GPU type or the CPU count of the job ("srun -c 80") fails once
 * the job has others; such a job keeps them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCRIPT_H
#define DN_SCRIPT_H

#include "base/text.h"

/* Does a command of the script hold 'word' as a word of its own? Comments do not count.
 * A script longer than DN_SCRIPT_MAX is taken to hold anything.
 */
bool dn_script_names (const char *script, const char *word);

/* Does a command ask for a number of CPUs per task or GPU, "-c 8", "-c8",
 * "--cpus-per-task=8", or tell srun one in SRUN_CPUS_PER_TASK?
 */
bool dn_script_counts_cpus (const char *script);

#endif
