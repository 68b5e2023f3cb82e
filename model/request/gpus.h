/* gpus.h - the GPUs of a submission, private to request/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GPUS_H
#define DN_GPUS_H

#include "request/request.h"

/* Find nodes, tasks, and the GPUs of all fields. The CPUs per task must have been read.
 * -1 with 'err'.
 */
int dn_request_read_gpus (struct dn_request *request, struct dn_err *err) DN_COLD;

#endif
