/* keyset.h - sets of the keys of metadata
 *
 * A set has a bit per row of the key table, in its order. Sets are values.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KEYSET_H
#define DN_KEYSET_H

#include <stdbool.h>
#include <stdint.h>

#define DN_KEYSET_WORDS 2
#define DN_KEYSET_MAX   (DN_KEYSET_WORDS * 64)

struct dn_keyset {
    uint64_t word[DN_KEYSET_WORDS];
};

/* Add row 'i' of the key table, 0 to DN_KEYSET_MAX - 1. */
static inline void dn_keyset_add (struct dn_keyset *set, int i)
{
    set->word[i / 64] |= UINT64_C (1) << i % 64;
}

static inline bool dn_keyset_has (const struct dn_keyset *set, int i)
{
    return (set->word[i / 64] >> i % 64 & 1) != 0;
}

/* The first row from 'i' on that is in the set; DN_KEYSET_MAX: none. */
static inline int dn_keyset_next (const struct dn_keyset *set, int i)
{
    for (; i < DN_KEYSET_MAX; i = (i / 64 + 1) * 64) {
        uint64_t rest = set->word[i / 64] >> i % 64;

        if (rest != 0)
            return i + __builtin_ctzll (rest);
    }
    return DN_KEYSET_MAX;
}

/* The rows that are in 'a', in 'b' or in both. */
static inline struct dn_keyset dn_keyset_or (struct dn_keyset a, struct dn_keyset b)
{
    for (int i = 0; i < DN_KEYSET_WORDS; i++)
        a.word[i] |= b.word[i];
    return a;
}

/* The rows that are in both. */
static inline struct dn_keyset dn_keyset_and (struct dn_keyset a, struct dn_keyset b)
{
    for (int i = 0; i < DN_KEYSET_WORDS; i++)
        a.word[i] &= b.word[i];
    return a;
}

/* The rows of 'a' that are not in 'b'. */
static inline struct dn_keyset dn_keyset_minus (struct dn_keyset a, struct dn_keyset b)
{
    for (int i = 0; i < DN_KEYSET_WORDS; i++)
        a.word[i] &= ~b.word[i];
    return a;
}

static inline int dn_keyset_count (struct dn_keyset set)
{
    int n = 0;

    for (int i = 0; i < DN_KEYSET_WORDS; i++)
        n += __builtin_popcountll (set.word[i]);
    return n;
}

static inline bool dn_keyset_is_empty (struct dn_keyset set)
{
    return dn_keyset_count (set) == 0;
}

static inline bool dn_keyset_equal (struct dn_keyset a, struct dn_keyset b)
{
    return dn_keyset_is_empty (dn_keyset_minus (a, b))
           && dn_keyset_is_empty (dn_keyset_minus (b, a));
}

#endif
