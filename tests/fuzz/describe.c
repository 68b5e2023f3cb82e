/* describe.c - fuzz target: what a job says of itself, in all four carriers
 *
 * Attack surface: the comment, #DNNEST lines, the option, the sidecar. The input is cut
 * at its form feeds: sidecar, script, comment, option. What is understood can be
 * resolved, and a sidecar written and read again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/describe.h"

#define N_CARRIERS 4

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void expect (bool right, const char *what, const struct dn_err *err)
{
    if (right)
        return;
    fprintf (stderr, "%s: %s\n", what, err->text);
    abort ();
}

static void use (struct dn_sidecar *sidecar)
{
    static const struct dn_datasets no_datasets;
    struct dn_sidecar again = {.spec = dn_spec_empty ()};
    struct dn_graph graph;
    struct dn_err err = {0};
    char *text = dn_sidecar_write (sidecar);

    expect (text != NULL, "not written", &err);
    expect (
        dn_sidecar_read (dn_span_of (text), &again, &err) == 0, "not read again", &err);
    if (dn_spec_resolve (&sidecar->spec, &no_datasets, DN_UNSET, &err) == 0
        && dn_sidecar_graph (&sidecar->layers, &sidecar->spec, &graph, &err) == 0)
        dn_graph_free (&graph);
    free (text);
    dn_sidecar_free (&again);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = malloc (size + 1);
    char *parts[N_CARRIERS] = {NULL};
    struct dn_carriers carriers;
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    enum dn_metadata state;
    struct dn_err err = {0};
    char *rest = text;

    if (!text)
        return 0;
    memcpy (text, data, size);
    text[size] = '\0';
    for (int i = 0; i < N_CARRIERS && rest; i++)
        parts[i] = strsep (&rest, "\f");
    carriers = (struct dn_carriers){.sidecar = parts[0] && *parts[0] ? parts[0] : NULL,
                                    .script = parts[1],
                                    .comment = parts[2],
                                    .option = parts[3]};
    if (dn_describe (&carriers, &sidecar, &state, &err) < 0)
        expect (err.text[0] != '\0', "no message", &err);
    else if (state == DN_METADATA_GIVEN)
        use (&sidecar);
    dn_sidecar_free (&sidecar);
    free (text);
    return 0;
}
