/* interned.h - texts that are stored once, each with a number
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_INTERNED_H
#define DN_INTERNED_H

#include "base/text.h"

struct dn_interned_slot {
    uint32_t at; /* of the text in 'texts', plus one; 0: free */
    int32_t number;
};

/* Empty when zeroed. */
struct dn_interned {
    char *texts;
    size_t len;
    size_t size;
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
