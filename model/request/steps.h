/* steps.h - what the steps of the job keep, private to request/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STEPS_H
#define DN_STEPS_H

#include "request/request.h"

/* Words of the script that count CPUs, time, trainings or companions keep these: fills
 * script, keep_*, several_why and need. Tasks, nodes and the GPU type must have
 * been read. Return -1 as dn_script_read ().
 */
int dn_request_read_steps (struct dn_request *request,
                           const struct dn_deadline *deadline,
                           struct dn_err *err);

#endif
