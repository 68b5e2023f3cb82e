/* flat.c - the binary files of a bundle: rows of numbers after a header
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/flat.h"
#include "base/messages.h"

#include <string.h>

uint16_t dn_flat_u16 (const unsigned char *at)
{
    return (uint16_t) (at[0] | at[1] << 8);
}

uint32_t dn_flat_u32 (const unsigned char *at)
{
    return (uint32_t) at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16
           | (uint32_t) at[3] << 24;
}

float dn_flat_f32 (const unsigned char *at)
{
    uint32_t bits = dn_flat_u32 (at);
    float value;

    memcpy (&value, &bits, sizeof (value));
    return value;
}

double dn_flat_f64 (const unsigned char *at)
{
    uint64_t bits = dn_flat_u32 (at) | (uint64_t) dn_flat_u32 (at + 4) << 32;
    double value;

    memcpy (&value, &bits, sizeof (value));
    return value;
}

int dn_flat_open (struct dn_span file,
                  const char *magic,
                  int n_features,
                  int max_rows,
                  struct dn_flat *flat,
                  struct dn_err *err)
{
    const unsigned char *bytes = (const unsigned char *) file.text;
    uint32_t version;

    if (file.len < DN_FLAT_HEADER || memcmp (bytes, magic, strlen (magic)) != 0)
        return dn_refuse (err, flat_kind, magic);
    version = dn_flat_u32 (bytes + 8);
    if (version != DN_FLAT_VERSION)
        return dn_refuse (err, flat_version, (unsigned) version, DN_FLAT_VERSION);
    *flat = (struct dn_flat){.n_features = dn_flat_u32 (bytes + 12),
                             .n_rows = dn_flat_u32 (bytes + 16),
                             .n_nodes = dn_flat_u32 (bytes + 20),
                             .data = bytes + DN_FLAT_HEADER,
                             .len = file.len - DN_FLAT_HEADER};
    if (flat->n_features != (uint32_t) n_features)
        return dn_refuse (err, flat_features, (unsigned) flat->n_features, n_features);
    if (flat->n_rows < 1 || flat->n_rows > (uint32_t) max_rows)
        return dn_refuse (err, flat_rows, (unsigned) flat->n_rows, max_rows);
    return 0;
}

int dn_flat_check_length (const struct dn_flat *flat,
                          size_t expected,
                          struct dn_err *err)
{
    if (flat->len == expected)
        return 0;
    return dn_refuse (
        err, flat_size, flat->len + DN_FLAT_HEADER, expected + DN_FLAT_HEADER);
}
