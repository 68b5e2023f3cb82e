/* onnx.c - fuzz target: an ONNX file, imported
 *
 * Attack surface: messages, names, dimensions, constants from which shapes are
 * computed, attributes. A file that is imported gives a sidecar that can be read again,
 * and written the same.
 *
 * Aims at: import/onnx_file.c import/onnx_layers.c import/onnx_rules.c
 * import/onnx_shape.c import/onnx_fuse.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"
#include "import/onnx_layers.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct dn_onnx_sizes sizes = {.n_symbols = 0, .seq_len = 16};
    struct dn_onnx_summary summary;
    struct dn_onnx file;
    struct dn_err err = {0};

    if (dn_onnx_read (data, size, &file, &err) < 0) {
        expect_message (&err);
        return 0;
    }
    if (dn_onnx_layers (&file, &sizes, &sidecar, &summary, &err) == 0)
        expect_read_again (&sidecar);
    else
        expect_message (&err);
    dn_sidecar_free (&sidecar);
    dn_onnx_free (&file);
    return 0;
}
