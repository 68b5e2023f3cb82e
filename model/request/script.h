/* script.h - resources that a batch script names, private to request/
 *
 * A step that names the GPU type or the CPU count of the job ("srun -c 80") fails if
 * the job gets different ones; such a job keeps them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCRIPT_H
#define DN_SCRIPT_H

#include "base/text.h"

/* Does a command of the script contain 'word' as a separate word? Comments do not
 * count. For a script longer than DN_SCRIPT_MAX the answer is yes.
 */
bool dn_script_names (const char *script, const char *word);

/* Does a command set a number of CPUs per task or GPU ("-c 8", "-c8",
 * "--cpus-per-task=8", SRUN_CPUS_PER_TASK), or a number of tasks of srun?
 */
bool dn_script_counts_cpus (const char *script);

#endif
