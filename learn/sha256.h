/* sha256.h - SHA-256 by libsodium, for programs that slurmctld does not load
 *
 * Code in slurmctld uses base/digest.h, which states why.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SHA256_H
#define DN_SHA256_H

#include <sodium.h>

#include "base/digest.h"

struct dn_digest dn_sha256_of (struct dn_span data);

/* The same for data that arrives in pieces. */
struct dn_sha256 {
    crypto_hash_sha256_state state;
};

struct dn_sha256 dn_sha256_begin (void);
void dn_sha256_add (struct dn_sha256 *sha256, struct dn_span data);
struct dn_digest dn_sha256_end (struct dn_sha256 *sha256);

#endif
