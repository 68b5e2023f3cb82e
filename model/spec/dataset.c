/* dataset.c - the table of data sets
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <string.h>

#include "base/keyline.h"
#include "base/messages.h"

static int read_pair (const struct dn_pair *pair,
                      struct dn_dataset *row,
                      struct dn_err *err)
{
    struct dn_span value = pair->value;
    int decode = 0;

    if (dn_span_is (pair->key, "Dataset"))
        return dn_name_copy (value, row->name, sizeof (row->name), "Dataset", err);
    if (dn_span_is (pair->key, "Samples"))
        return dn_int_read (
            value, "Samples", 1, INT64_C (10000000000000), &row->samples, err);
    if (dn_span_is (pair->key, "Tokens"))
        return dn_real_read (value, "Tokens", 1, 1e15, &row->tokens, err);
    if (dn_span_is (pair->key, "SampleBytes"))
        return dn_int_read (
            value, "SampleBytes", 1, INT64_C (1000000000000), &row->sample_bytes, err);
    if (!dn_span_is (pair->key, "Decode"))
        return dn_refuse (err, dataset_key, DN_QUOTED_SPAN (pair->key));
    if (dn_enum_read (value, "Decode", &dn_decode_names, &decode, err) < 0)
        return -1;
    row->decode = (enum dn_decode) decode;
    return 0;
}

static int read_row (const struct dn_keyline *keyline,
                     struct dn_dataset *row,
                     struct dn_err *err)
{
    *row = (struct dn_dataset){
        .samples = DN_UNSET, .tokens = -1, .sample_bytes = DN_UNSET};
    for (int i = 0; i < keyline->n_pairs; i++)
        if (read_pair (&keyline->pairs[i], row, err) < 0)
            return -1;
    if (row->name[0] == '\0' || (row->samples == DN_UNSET && row->tokens < 0))
        return dn_refuse (err, dataset_row);
    return 0;
}

int dn_datasets_read (struct dn_span text,
                      const char *file,
                      struct dn_datasets *datasets,
                      struct dn_err *err)
{
    struct dn_keyline keyline = {0};
    int more;

    datasets->n_rows = 0;
    while ((more = dn_keyline_next (&text, &keyline, err)) > 0) {
        if (datasets->n_rows == DN_DATASETS_MAX) {
            dn_refuse (err, datasets, DN_DATASETS_MAX);
            return dn_keyline_wrap (&keyline, file, err);
        }
        if (read_row (&keyline, &datasets->rows[datasets->n_rows++], err) < 0)
            return dn_keyline_wrap (&keyline, file, err);
    }
    return more < 0 ? dn_err_wrap (err, "%s", file) : 0;
}
