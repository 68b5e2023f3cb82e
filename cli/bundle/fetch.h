/* fetch.h - a bundle from a web server, trusted only as far as its signature goes
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
    double max_time_s;   /* for everything together */
    const struct dn_keys *keys;
};

/* Fetch manifest and signature, then, if one of the keys made it, the files that it
 * lists, into memory; nothing is written. Only by HTTPS, with a certificate that holds,
 * never from another server than the one named. A signal that dn_interrupt_hold ()
 * notes ends it. Return the key that signed, or NULL with 'err' and 'parcel' empty.
 */
const struct dn_public_key *dn_fetch_parcel (const struct dn_fetch *fetch,
                                             struct dn_parcel *parcel,
                                             struct dn_err *err);

#endif
