/* steps.h - tasks, nodes and GPUs of the job, private to request/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEPS_H
#define DN_STEPS_H

#include "request/request.h"

/* Begin to read 'job': fills tasks, nodes, GPUs and their type. Return -1 as
 * dn_request_read ().
 */
int dn_request_read_shape (const struct dn_job *job,
                           struct dn_request *request,
                           struct dn_err *err);

#endif
