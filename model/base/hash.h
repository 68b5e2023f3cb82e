/* hash.h - FNV-1a of 64 bits
 *
 * In: a hash so far, DN_HASH_SEED at first, and what comes next. It spreads well, but
 * anyone can construct two texts of one hash: where that would matter, compare the
 * texts too, or take a digest (digest.h). Stored numbers of users and jobs follow from
 * it.
 *
 * https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HASH_H
#define DN_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DN_HASH_SEED  UINT64_C (0xcbf29ce484222325)
#define DN_HASH_PRIME UINT64_C (0x100000001b3)

static inline uint64_t dn_hash_bytes (uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        /* Of a number the analyzer takes all bytes but the first for unset.
         * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        hash = (hash ^ ((const unsigned char *) bytes)[i]) * DN_HASH_PRIME;
    return hash;
}

static inline uint64_t dn_hash_text (uint64_t hash, const char *text)
{
    return dn_hash_bytes (hash, text, strlen (text));
}

#endif
