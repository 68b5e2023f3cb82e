/* describe.c - fuzz target: the metadata of a job, in all four carriers
 *
 * Attack surface: the comment, #DNNEST lines, the option, the sidecar. The input is
 * split at its form feeds: sidecar, script, comment, option. Metadata that are read can
 * be resolved, and a sidecar written and read again; its graph has valid totals.
 *
 * Aims at: model/request/marks.c model/spec/spec.c model/spec/collect.c
 * model/spec/ignored.c model/graph/sidecar.c model/graph/layer.c model/graph/describe.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "graph/describe.h"
#include "request/script.h"
#include "tests/unit/all_words.h"
#include "tests/unit/networks.h"

#define N_CARRIERS 4

static void use (struct dn_sidecar *sidecar)
{
    static const struct dn_datasets no_datasets;
    struct dn_graph graph = {0};
    struct dn_err err = {0};

    expect_read_again (sidecar);
    if (dn_spec_resolve (&sidecar->spec, &no_datasets, DN_UNSET, &err) < 0
        || dn_sidecar_graph (
               shipped_networks (), &sidecar->layers, &sidecar->spec, &graph, &err)
               < 0)
        expect_message (&err);
    else
        expect (graph.params >= 0 && graph.frozen_params >= 0 && graph.spared >= 0
                    && graph.spared <= 1,
                "a graph has numbers of parameters, and spares a share of the work");
    dn_graph_free (&graph);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    INPUT_TEXT (text);
    char *parts[N_CARRIERS];
    struct dn_carriers carriers;
    struct dn_job job = dn_job_empty ();
    struct dn_reading reading;
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    enum dn_metadata state;
    struct dn_err err = {0};
    char ignored[DN_REASON_MAX];

    cut_parts (text, parts, N_CARRIERS);
    job.script = parts[1];
    expect (dn_reading_of (all_words (), &job, false, NULL, NULL, &reading, NULL) == 0,
            "read");
    carriers = (struct dn_carriers){.sidecar = parts[0] && *parts[0] ? parts[0] : NULL,
                                    .marks = &reading.marks,
                                    .comment = parts[2],
                                    .option = parts[3]};
    if (dn_describe (&carriers, &sidecar, &state, &err) < 0)
        expect_message (&err);
    else if (state == DN_METADATA_GIVEN)
        use (&sidecar);
    dn_spec_ignored (&carriers, ignored);
    expect (is_printable (ignored), "what is ignored is told in one line");
    dn_sidecar_free (&sidecar);
    return 0;
}
