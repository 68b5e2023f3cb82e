/* lists.h - GPUs and nodes in Slurm's texts, and texts that are stored once
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LISTS_H
#define DN_LISTS_H

#include "base/limits.h"
#include "host/put_file.h"

/* --- GPUs in texts of generic resources --------------------------------------------
 */

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

/* Have two lists of names, "a,b,c", one in common? */
bool dn_lists_meet (const char *a, const char *b);

/* --- the names in a list of nodes, as slurmctld writes it --------------------------
 */

/* Names of one list, at most. */
#define DN_HOSTS_MAX 200000

/* Goes through "a1,b[08-11,14]"; borrows the text. */
struct dn_hosts {
    struct dn_span rest;   /* entries after the present one */
    struct dn_span prefix; /* "b" */
    struct dn_span ranges; /* "14", those after the present one */
    struct dn_span suffix; /* after the bracket, usually empty */
    int64_t next;          /* of the present range; above 'last': at its end */
    int64_t last;
    int digits;
    int n; /* names so far */
};

struct dn_hosts dn_hosts_of (const char *list);

/* Put the next name into 'name'. False at the end, and at an entry that has no such
 * form or does not fit.
 */
bool dn_hosts_next (struct dn_hosts *hosts, char name[DN_NAME_MAX]);

/* --- texts that are stored once, each with a number --------------------------------
 */

struct dn_interned_slot {
    uint32_t at; /* of the text in 'texts', plus one; 0: free */
    int32_t number;
};

/* Empty when zeroed. */
struct dn_interned {
    struct dn_put_text texts;
    struct dn_interned_slot *slots;
    uint32_t n_slots;
    int32_t n;
};

/* The number of a text, counted from 0 in the order in which they come; -1 without
 * memory. */
int32_t dn_interned_put (struct dn_interned *interned, const char *text);

/* -1: it is not there. */
int32_t dn_interned_find (const struct dn_interned *interned, const char *text);

/* NULL-safe; empty afterwards. */
void dn_interned_free (struct dn_interned *interned);

#endif
