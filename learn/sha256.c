/* sha256.c - SHA-256 by libsodium, for programs that slurmctld does not load
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/sha256.h"

struct dn_sha256 dn_sha256_begin (void)
{
    struct dn_sha256 sha256;

    crypto_hash_sha256_init (&sha256.state);
    return sha256;
}

void dn_sha256_add (struct dn_sha256 *sha256, struct dn_span data)
{
    crypto_hash_sha256_update (
        &sha256->state, (const unsigned char *) data.text, data.len);
}

struct dn_digest dn_sha256_end (struct dn_sha256 *sha256)
{
    unsigned char bytes[crypto_hash_sha256_BYTES];
    struct dn_digest digest;

    crypto_hash_sha256_final (&sha256->state, bytes);
    sodium_bin2hex (digest.hex, sizeof (digest.hex), bytes, sizeof (bytes));
    return digest;
}

struct dn_digest dn_sha256_of (struct dn_span data)
{
    struct dn_sha256 sha256 = dn_sha256_begin ();

    dn_sha256_add (&sha256, data);
    return dn_sha256_end (&sha256);
}
