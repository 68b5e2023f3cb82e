/* hf_config.c - fuzz target: a config.json of Hugging Face
 *
 * Attack surface: types, fields under several names, heads, structures. A file that is
 * read gives keys within their ranges and a sidecar that can be read again, and its
 * network is built or refused with a message.
 *
 * Aims at: import/hf_config.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"
#include "import/hf_config.h"
#include "tests/unit/networks.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_span text = {(const char *) data, size};
    struct dn_graph graph;
    struct dn_err err = {0};

    if (dn_hf_config_read (text, &sidecar.spec, &err) < 0) {
        expect_message (&err);
        return 0;
    }
    expect (sidecar.spec.model[0] != '\0' && sidecar.spec.seq_len > 0, "no keys");
    expect_read_again (&sidecar);
    if (dn_graph_build (shipped_networks (), &sidecar.spec, &graph, &err) < 0)
        expect_message (&err);
    else
        expect (graph.params > 0, "no parameters");
    dn_graph_free (&graph);
    return 0;
}
