/* nodes.h - nodes and tasks of a submission, private to request/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NODES_H
#define DN_NODES_H

#include "request/request.h"

/* Find n_nodes and n_tasks, and open_why where Slurm chooses the number of nodes.
 * 'gpus_per_job' is the count of --gpus, DN_UNSET if it was not given.
 */
void dn_request_read_nodes (struct dn_request *request, int64_t gpus_per_job);

/* Set most_nodes. The GPUs must have been read. */
void dn_request_bound_nodes (struct dn_request *request);

#endif
