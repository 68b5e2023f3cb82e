/* gres.h - GPUs in Slurm's texts of generic resources
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_GRES_H
#define DN_GRES_H

#include "base/limits.h"
#include "base/text.h"

/* Types of GPUs in one text; those of more types are left out. */
#define DN_GRES_TYPES_MAX 8

struct dn_gres_gpus {
    char type[DN_NAME_MAX]; /* "" without a type */
    int64_t count;
};

struct dn_gres {
    struct dn_gres_gpus gpus[DN_GRES_TYPES_MAX];
    int n_gpus;
};

/* Read the GPUs of a node ("gpu:a100:4(S:0-1),shard:8"), of what is used there
 * ("gpu:a100:1(IDX:0)"), of a job's TRES ("cpu=4,gres/gpu:a100=2") or of its request
 * ("gres:gpu:2"). A slice (MIG) is a type as any other. Other resources are skipped,
 * entries of one type added. NULL, "(null)" and "N/A" have none.
 */
struct dn_gres dn_gres_read (const char *text);

/* How many of a type; 0 if it is not there. */
int64_t dn_gres_count (const struct dn_gres *gres, const char *type);

#endif
