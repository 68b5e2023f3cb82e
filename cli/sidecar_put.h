/* sidecar_put.h - prints or writes a sidecar
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIDECAR_PUT_H
#define DN_SIDECAR_PUT_H

#include "graph/sidecar.h"

/* Write it to the file 'out', or to stdout if that is NULL. */
int dn_sidecar_put (const struct dn_sidecar *sidecar,
                    const char *out,
                    struct dn_err *err);

#endif
