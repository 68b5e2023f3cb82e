/* groups.c - sums of jobs by a name, in bounded memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/worth/sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/messages.h"
#include "base/text.h"

/* A power of two, more than twice the groups. */
#define SLOTS 65536

_Static_assert(SLOTS > 2 * DN_SUMS_GROUPS_MAX, "a search ends at an empty slot");

/* The first group is that of the others. */
static int begin (struct dn_groups *groups, struct dn_err *err)
{
    groups->slots = calloc (SLOTS, sizeof (*groups->slots));
    groups->groups = calloc (DN_SUMS_GROUPS_MAX + 1, sizeof (*groups->groups));
    if (!groups->slots || !groups->groups)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    groups->n_slots = SLOTS;
    dn_buf_add (&(struct dn_buf){groups->groups[0].name, DN_NAME_MAX, 0, false},
                "%s",
                DN_SUMS_OTHERS);
    groups->n = 1;
    return 0;
}

struct dn_sums_part *dn_groups_get (struct dn_groups *groups,
                                    const char *name,
                                    struct dn_err *err)
{
    char text[DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    uint64_t at;

    if (!groups->groups && begin (groups, err) < 0)
        return NULL;
    dn_buf_add (&buf, "%.*s", DN_NAME_MAX - 1, name[0] != '\0' ? name : "(none)");
    for (at = dn_hash_text (DN_HASH_SEED, text) % SLOTS; groups->slots[at] != 0;
         at = (at + 1) % SLOTS)
        if (strcmp (groups->groups[groups->slots[at]].name, text) == 0)
            return &groups->groups[groups->slots[at]].part;
    if (groups->n > DN_SUMS_GROUPS_MAX)
        return &groups->groups[0].part;
    groups->slots[at] = (int32_t) groups->n;
    groups->groups[groups->n].number = groups->n;
    memcpy (groups->groups[groups->n].name, text, sizeof (text));
    return &groups->groups[groups->n++].part;
}

double dn_sums_part_gpu_hours (const struct dn_sums_part *part, int which)
{
    (void) which;
    /* Jobs without GPUs come after all others, by their hours. */
    return part->amounts[DN_MEASURE_GPU_HOURS].requested
           + 1e-9 * part->amounts[DN_MEASURE_HOURS].requested;
}

double dn_sums_part_wasted (const struct dn_sums_part *part, int which)
{
    return part->wasted[which];
}

struct order {
    dn_sums_part_size_f size;
    int which;
};

static int compare (const void *a, const void *b, void *to)
{
    const struct order *order = to;
    const struct dn_sums_group *x = a;
    const struct dn_sums_group *y = b;
    double x_size = order->size (&x->part, order->which);
    double y_size = order->size (&y->part, order->which);

    if (x_size != y_size)
        return x_size > y_size ? -1 : 1;
    return strcmp (x->name, y->name);
}

/* The hash table is void after it, so that no job may be added. */
void dn_groups_sort (struct dn_groups *groups, dn_sums_part_size_f size, int which)
{
    struct order order = {size, which};

    if (groups->n > 1)
        qsort_r (groups->groups + 1,
                 (size_t) groups->n - 1,
                 sizeof (*groups->groups),
                 compare,
                 &order);
}
