/* nodes.h - GPUs, nodes and tasks of a submission, private to request/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NODES_H
#define DN_NODES_H

#include "request/request.h"

/* A product of counts from a client that may be hostile; DN_UNSET if one is negative or
 * the product is above DN_COUNT_MAX.
 */
int64_t dn_request_product (int64_t a, int64_t b);

/* Find n_nodes and n_tasks, and open_why where Slurm chooses the number of nodes.
 * 'gpus_per_job' is the count of --gpus, DN_UNSET if it was not given. The CPUs per
 * task must have been read.
 */
void dn_request_read_nodes (struct dn_request *request, int64_t gpus_per_job) DN_COLD;

/* The names in a list of nodes ("a1,b[2-4,7]"), each counted as often as it is there;
 * DN_UNSET for a list of any other form, or one above DN_NODES_TEXT_MAX.
 */
int64_t dn_request_count_nodes (const char *text);

/* Find nodes, tasks, and the GPUs of all fields (gpus.c). The CPUs per task must have
 * been read. -1 with 'err'.
 */
int dn_request_read_gpus (struct dn_request *request, struct dn_err *err) DN_COLD;

/* Set most_nodes. The GPUs must have been read. */
void dn_request_bound_nodes (struct dn_request *request);

#endif
