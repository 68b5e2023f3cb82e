/* fetch.h - fetches a bundle from a web server and checks its signature
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FETCH_H
#define DN_FETCH_H

#include "parcel.h"
#include "signature.h"

struct dn_fetch {
    const char *url;     /* of manifest.json, or of the directory it is in */
    const char *ca_file; /* certificates to trust instead of the system's; or NULL */
    double max_time_s;   /* for all transfers together */
    const struct dn_keys *keys;
};

/* Fetch the manifest and its signature into memory; then, if one of the keys made the
 * signature, the files that the manifest lists. Nothing is written to disk. Only HTTPS
 * with a valid certificate is used, and only the named server. A signal that
 * dn_interrupt_hold () notes ends the transfer. Return the key that signed, or NULL
 * with 'err' and 'parcel' empty.
 */
const struct dn_public_key *dn_fetch_parcel (const struct dn_fetch *fetch,
                                             struct dn_parcel *parcel,
                                             struct dn_err *err);

#endif
