/* digest.h - SHA-256: whether a file is the one that was written
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

#endif
