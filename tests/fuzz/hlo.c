/* hlo.c - fuzz target: the text of an HLO module, imported
 *
 * Attack surface: names, shapes, operands, attributes, calls, windows, loops. A module
 * that is imported gives a sidecar that can be read again, and written the same.
 *
 * Aims at: import/hlo_text.c import/hlo_cost.c import/hlo_layers.c import/hlo_entry.c
 * import/hlo_kernels.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"
#include "import/hlo_layers.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_hlo_summary summary;
    struct dn_hlo module;
    struct dn_err err = {0};
    struct dn_span text = {(const char *) data, size};

    if (dn_hlo_parse (text, &module, &err) < 0) {
        expect_message (&err);
        return 0;
    }
    if (dn_hlo_layers (&module, DN_HLO_PASS_GUESS, 0, &sidecar, &summary, &err) == 0)
        expect_read_again (&sidecar);
    else
        expect_message (&err);
    dn_sidecar_free (&sidecar);
    dn_hlo_free (&module);
    return 0;
}
