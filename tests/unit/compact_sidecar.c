/* compact_sidecar.c - a sidecar as it is sent with a job: compact_sidecar < FILE
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>

#include "graph/sidecar.h"

int main (void)
{
    char *text = calloc (1, DN_SIDECAR_CLIENT_MAX);
    char *json = NULL;
    struct dn_err err;
    bool done;

    if (!text || fread (text, 1, DN_SIDECAR_CLIENT_MAX - 1, stdin) == 0)
        return EXIT_FAILURE;
    done = dn_sidecar_compact (dn_span_of (text), DN_SIDECAR_HANDOVER_MAX, &json, &err)
           == 0;
    if (done)
        puts (json);
    else
        fprintf (stderr, "%s\n", err.text);
    free (text);
    free (json);
    return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
