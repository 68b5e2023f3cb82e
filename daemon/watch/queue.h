/* queue.h - what the estimate of waits keeps of jobs and of nodes, private to watch/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_QUEUE_H
#define DN_QUEUE_H

#include "watch/interned.h"
#include "watch/waits.h"

/* Lists of partitions that are told apart; a job with a further one may be anywhere. */
#define DN_QUEUE_PARTITIONS_MAX 256

/* Names of GPU types. */
struct dn_type_list {
    char names[DN_WAIT_TYPES_MAX][DN_NAME_MAX];
    int n;
};

/* The number of a type, added where it is new; -1: the list is full. */
int dn_type_put (struct dn_type_list *types, const char *name);
int dn_type_find (const struct dn_type_list *types, const char *name);

#define DN_QUEUE_ANY (-1) /* type or partition of a job that names none */

struct dn_queue_job {
    int32_t type;      /* in 'types' */
    int32_t partition; /* in 'partitions' */
    uint32_t nodes;    /* its list of nodes, in 'texts'; 0 none */
    int32_t gpus;
    int32_t n_nodes;
    int32_t wait_s; /* of one that started lately; -1 of others */
    bool queued;
    bool runs;
    int64_t start; /* of a queued job the expected one; 0 unknown */
    int64_t end;
};

struct dn_queue {
    struct dn_queue_job *jobs;
    size_t n_jobs;
    size_t size;
    char *texts; /* of lists; the first byte is not used */
    size_t n_texts;
    size_t texts_size;
    struct dn_type_list types;
    uint32_t partitions[DN_QUEUE_PARTITIONS_MAX]; /* in 'texts' */
    int n_partitions;
};

/* The GPUs of one type in a node. */
struct dn_gpu_slot {
    int32_t type;
    int32_t gpus;
    int32_t idle;
    bool up;
    int64_t free_at; /* when the last of its jobs ends */
};

struct dn_gpu_nodes {
    struct dn_interned names;
    struct dn_gpu_slot *slots;
    int32_t n_slots;
    size_t slots_size;
    int32_t *first; /* slot of each node; the end of the last one behind them */
    size_t first_size;
    struct dn_type_list types;
};

#endif
