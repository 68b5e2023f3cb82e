/* interned.c - texts that are stored once, each with a number
 *
 * Expected are some 5,000 names of nodes, and at most 100,000; they are never removed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "watch/interned.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define SLOTS_MIN 256U
#define TEXTS_MAX (UINT32_C (1) << 28)

/* The slot of the text, or the free one where it belongs. */
static struct dn_interned_slot *slot_of (const struct dn_interned *interned,
                                         const char *text)
{
    uint32_t mask = interned->n_slots - 1;

    for (uint64_t i = dn_hash_text (DN_HASH_SEED, text) & mask;; i = (i + 1) & mask) {
        struct dn_interned_slot *slot = &interned->slots[i];

        if (slot->at == 0 || strcmp (interned->texts + slot->at - 1, text) == 0)
            return slot;
    }
}

/* At most half of the slots are in use. */
static bool grow_slots (struct dn_interned *interned)
{
    struct dn_interned new = *interned;

    if (interned->n_slots > 2 * (uint32_t) interned->n + 1)
        return true;
    new.n_slots = interned->n_slots ? interned->n_slots * 2 : SLOTS_MIN;
    new.slots = calloc (new.n_slots, sizeof (new.slots[0]));
    if (!new.slots)
        return false;
    for (uint32_t i = 0; i < interned->n_slots; i++)
        if (interned->slots[i].at)
            *slot_of (&new, interned->texts + interned->slots[i].at - 1) =
                interned->slots[i];
    free (interned->slots);
    *interned = new;
    return true;
}

static bool add_text (struct dn_interned *interned, const char *text)
{
    size_t len = strlen (text) + 1;

    if (len > TEXTS_MAX - interned->len)
        return false;
    if (interned->len + len > interned->size) {
        size_t size = 2 * (interned->size + len) + 4096;
        char *texts = realloc (interned->texts, size);

        if (!texts)
            return false;
        interned->texts = texts;
        interned->size = size;
    }
    memcpy (interned->texts + interned->len, text, len);
    interned->len += len;
    return true;
}

int32_t dn_interned_put (struct dn_interned *interned, const char *text)
{
    struct dn_interned_slot *slot;
    size_t at = interned->len;

    if (!grow_slots (interned))
        return -1;
    slot = slot_of (interned, text);
    if (slot->at)
        return slot->number;
    if (!add_text (interned, text))
        return -1;
    *slot = (struct dn_interned_slot){(uint32_t) at + 1, interned->n};
    return interned->n++;
}

int32_t dn_interned_find (const struct dn_interned *interned, const char *text)
{
    const struct dn_interned_slot *slot;

    if (interned->n_slots == 0)
        return -1;
    slot = slot_of (interned, text);
    return slot->at ? slot->number : -1;
}

void dn_interned_free (struct dn_interned *interned)
{
    if (!interned)
        return;
    free (interned->texts);
    free (interned->slots);
    *interned = (struct dn_interned){.texts = NULL};
}
