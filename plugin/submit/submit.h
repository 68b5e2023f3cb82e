/* submit.h - one submission from start to end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SUBMIT_H
#define DN_SUBMIT_H

#include <slurm/slurm.h>

#include "base/base.h"

/* Advise on 'desc' and edit it accordingly. Lines for the user are appended to
 * '*err_msg'. A job that does not concern dnnest, or that causes an error, is not
 * changed. Callable from any thread.
 */
void dn_submit_job (job_desc_msg_t *desc, char **err_msg) DN_COLD;

#endif
