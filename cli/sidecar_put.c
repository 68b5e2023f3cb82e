/* sidecar_put.c - prints or writes a sidecar
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sidecar_put.h"

#include <stdio.h>

#include "common.h"

int dn_sidecar_put (const struct dn_sidecar *sidecar,
                    const char *out,
                    struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = dn_sidecar_write (sidecar);

    if (!text)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (out)
        return dn_write_output (out, text, err);
    printf ("%s\n", text);
    return 0;
}
