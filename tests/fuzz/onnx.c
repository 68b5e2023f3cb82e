/* onnx.c - fuzz target: an ONNX file, imported
 *
 * Attack surface: messages, names, dimensions, constants from which shapes are
 * computed, attributes. What is imported must be a sidecar that can be read again, and
 * written the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx_layers.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void expect (bool right, const char *what, const struct dn_err *err)
{
    if (right)
        return;
    fprintf (stderr, "%s: %s\n", what, err->text);
    abort ();
}

static void read_again (const struct dn_sidecar *sidecar)
{
    struct dn_sidecar again = {.spec = dn_spec_empty ()};
    struct dn_graph graph;
    struct dn_err err = {0};
    char *text = dn_sidecar_write (sidecar);
    char *same;

    expect (text != NULL, "not written", &err);
    expect (
        dn_sidecar_read (dn_span_of (text), &again, &err) == 0, "not read again", &err);
    again.spec.model[0] = '\0'; /* else named after the graph */
    same = dn_sidecar_write (&again);
    expect (same && strcmp (text, same) == 0, "not the same", &err);
    if (dn_layers_graph (&again.layers, &graph, &err) == 0)
        dn_graph_free (&graph);
    free (text);
    free (same);
    dn_sidecar_free (&again);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_onnx_sizes sizes = {.n_symbols = 0, .seq_len = 16};
    struct dn_onnx_summary summary;
    struct dn_onnx file;
    struct dn_err err = {0};

    if (dn_onnx_read (data, size, &file, &err) < 0) {
        expect (err.text[0] != '\0', "no message", &err);
        return 0;
    }
    if (dn_onnx_layers (&file, &sizes, &sidecar, &summary, &err) == 0)
        read_again (&sidecar);
    else
        expect (err.text[0] != '\0', "no message", &err);
    dn_sidecar_free (&sidecar);
    dn_onnx_free (&file);
    return 0;
}
