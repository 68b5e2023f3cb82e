/* digest.h - SHA-256, to check that a file is unchanged
 *
 * slurmctld uses it to compare a bundle's files with its manifest, and to draw control
 * groups. The plugins in slurmctld and sbatch must load only libc, libm and json-c, so
 * SHA-256 is implemented here; the other programs use it, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DIGEST_H
#define DN_DIGEST_H

#include "base/text.h"

/* 256 bits in lower-case hexadecimal, terminated. */
#define DN_DIGEST_LEN 64
struct dn_digest {
    char hex[DN_DIGEST_LEN + 1];
};

struct dn_digest dn_digest_of (struct dn_span data);

/* The same for data that comes in pieces. */
struct dn_digester {
    uint32_t state[8];
    unsigned char block[64]; /* bytes that do not fill a block yet */
    uint64_t len;            /* bytes so far */
};

struct dn_digester dn_digest_begin (void);
void dn_digest_add (struct dn_digester *digester, struct dn_span data);
struct dn_digest dn_digest_end (struct dn_digester *digester);

#endif
